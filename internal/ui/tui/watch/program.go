package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"gaffer/internal/text/display"
)

// World does what the person wants done.
type World interface {
	// Look says what is read beside the fleet from now on. It does not wait.
	Look(Look)
	Answer(ctx context.Context, question, text string, deny bool) error
	Cancel(ctx context.Context, run, task string) error
	Retry(ctx context.Context, run, task string) error
}

// Terminal is what the screen is shown on.
type Terminal struct {
	In    io.Reader
	Out   io.Writer
	Color bool
	Now   func() time.Time
}

// Program is a screen that was not shown yet.
type Program struct {
	tea  *tea.Program
	acts map[*act]bool
}

// NewProgram puts a model and the world together.
func NewProgram(ctx context.Context, m Model, t Terminal, w World) *Program {
	profile := colorprofile.Ascii
	if t.Color {
		profile = colorprofile.ANSI
	}
	m.Color = t.Color
	app := app{ctx: ctx, model: m, world: w, now: t.Now, acts: map[*act]bool{}}
	return &Program{tea.NewProgram(app, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out),
		tea.WithoutSignalHandler(), tea.WithColorProfile(profile)), app.acts}
}

// Tell tells the model what was seen. It may be called from anywhere.
func (p *Program) Tell(what any) { p.tea.Send(what) }

// Show shows the screen until the person leaves or ctx ends. The terminal is given
// back whatever happens.
func (p *Program) Show() error {
	_, err := p.tea.Run()
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return err
}

// Finish waits, once the screen was shown, for what the person wanted done and has
// not seen the end of, and returns what did not come of it.
func (p *Program) Finish(ctx context.Context) error {
	var errs []error
	for one := range p.acts {
		ended := make(chan error, 1)
		go func() {
			_, err := one.do()
			ended <- err
		}()
		select {
		case err := <-ended:
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", one.name, err))
			}
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("%s: there was no answer yet, 'gaffer ps' shows whether it was done", one.name))
		}
	}
	return errors.Join(errs...)
}

// act is something that the person wants done. Bubble Tea forgets it when the
// person leaves, and may not even have begun with it.
type act struct {
	name string
	do   func() (Said, error) // once, however often it is called
}

// acted says what became of an act.
type acted struct {
	act  *act
	said Said
}

// app is the model as Bubble Tea sees it.
type app struct {
	ctx   context.Context //nolint:containedctx // what is done ends with the screen
	model Model
	world World
	now   func() time.Time
	acts  map[*act]bool // those whose end was not seen
}

type beat struct{}

// Init begins to count the seconds.
func (a app) Init() tea.Cmd {
	return tea.Batch(next(), func() tea.Msg { return a.now() })
}

func next() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return beat{} }) }

// Update implements [tea.Model].
func (a app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	what := any(msg)
	switch msg := msg.(type) {
	case beat:
		what = a.now()
		cmds = append(cmds, next())
	case tea.WindowSizeMsg:
		what = Size{msg.Width, msg.Height}
	case tea.KeyPressMsg:
		what = Key{msg.String(), msg.Text}
	case tea.PasteMsg:
		what = Key{"paste", msg.Content}
	case acted:
		what = msg.said
		delete(a.acts, msg.act)
	}
	var do []any
	a.model, do = a.model.Take(what)
	for _, one := range do {
		cmds = append(cmds, a.do(one))
	}
	return a, tea.Batch(cmds...)
}

// View implements [tea.Model].
func (a app) View() tea.View {
	v := tea.NewView(strings.Join(a.model.Rows(), "\n"))
	v.AltScreen = true
	return v
}

// do is what has to be done, as a command that tells what became of it.
func (a app) do(one any) tea.Cmd {
	switch one := one.(type) {
	case Look:
		a.world.Look(one)
		return nil
	case Quit:
		return tea.Quit
	case Answer:
		return a.begin("answer "+one.Name, func() (Said, error) {
			err := a.world.Answer(a.ctx, one.Question, one.Text, one.Deny)
			return one.told(err), err
		})
	case Cancel:
		return a.begin("cancel "+one.Name, func() (Said, error) {
			err := a.world.Cancel(a.ctx, one.Run, one.Task)
			return told("cancelled "+one.Name, err), err
		})
	case Retry:
		return a.begin("retry "+one.Task, func() (Said, error) {
			err := a.world.Retry(a.ctx, one.Run, one.Task)
			return told(display.Printable(one.Task)+" is queued again", err), err
		})
	}
	return nil
}

func (a app) begin(name string, do func() (Said, error)) tea.Cmd {
	one := &act{display.Printable(name), sync.OnceValues(do)}
	a.acts[one] = true
	return func() tea.Msg {
		said, _ := one.do() // what is said has the error
		return acted{one, said}
	}
}

func told(text string, err error) Said {
	if err != nil {
		return Said{Text: err.Error(), Failed: true}
	}
	return Said{Text: text}
}

func (a Answer) told(err error) Said {
	text := "answered " + a.Name + ": " + a.Text
	if a.Deny {
		text = "denied what " + a.Name + " asked for"
	}
	s := told(text, err)
	s.Question = a.Question
	return s
}
