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

// World performs the user's actions.
type World interface {
	// Look sets what is read in addition to the fleet. It does not block.
	Look(Look)
	Answer(ctx context.Context, question, text string, deny bool) error
	Cancel(ctx context.Context, run, task string) error
	Retry(ctx context.Context, run, task string) error
}

// Terminal describes the input and output of the screen.
type Terminal struct {
	In    io.Reader
	Out   io.Writer
	Color bool
	Now   func() time.Time
}

// Program is a screen that [Program.Show] shows.
type Program struct {
	tea  *tea.Program
	acts map[*act]bool
}

// NewProgram returns a program for a model. World performs the actions of the user.
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

// Tell sends data to the model. It may be called from any goroutine.
func (p *Program) Tell(what any) { p.tea.Send(what) }

// Show shows the screen until the user leaves or ctx ends. It always restores the
// terminal.
func (p *Program) Show() error {
	_, err := p.tea.Run()
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return err
}

// Finish waits for unfinished actions of the user after the screen has closed. It
// returns the errors of those that failed or that did not end in time.
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

// act is an action of the user. Bubble Tea drops it when the user leaves, possibly
// before it has started.
type act struct {
	name string
	do   func() (Said, error) // runs once, however often it is called
}

// acted is the result of an act.
type acted struct {
	act  *act
	said Said
}

// app adapts the model to Bubble Tea.
type app struct {
	ctx   context.Context //nolint:containedctx // what is done ends with the screen
	model Model
	world World
	now   func() time.Time
	acts  map[*act]bool // those that have not ended
}

type beat struct{}

// Init starts the ticker of one second.
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

// do starts an action, and returns a command that reports its result.
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
		said, _ := one.do() // said contains the error
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
