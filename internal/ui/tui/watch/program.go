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

// Backend performs the user's actions.
type Backend interface {
	// Focus sets what is read in addition to the fleet. It does not block.
	Focus(Focus)
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

// Program shows a [Model] on a terminal.
type Program struct {
	tea     *tea.Program
	pending map[*pendingAction]bool
}

// NewProgram returns a program for a model. The backend performs the actions of the
// user.
func NewProgram(ctx context.Context, m Model, t Terminal, b Backend) *Program {
	profile := colorprofile.Ascii
	if t.Color {
		profile = colorprofile.ANSI
	}
	m.Color = t.Color
	app := app{ctx: ctx, model: m, backend: b, now: t.Now, pending: map[*pendingAction]bool{}}
	return &Program{tea.NewProgram(app, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out),
		tea.WithoutSignalHandler(), tea.WithColorProfile(profile)), app.pending}
}

// Send sends data to the model. It may be called from any goroutine.
func (p *Program) Send(data any) { p.tea.Send(data) }

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
	for one := range p.pending {
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

// pendingAction is an action of the user that has not ended. Bubble Tea drops it when
// the user leaves, possibly before it has started.
type pendingAction struct {
	name string
	do   func() (Result, error) // runs once, however often it is called
}

// actionEnded is the message that an action has ended.
type actionEnded struct {
	action *pendingAction
	result Result
}

// app adapts the model to Bubble Tea.
type app struct {
	ctx     context.Context //nolint:containedctx // actions end with the program
	model   Model
	backend Backend
	now     func() time.Time
	pending map[*pendingAction]bool
}

// tick is the message of the clock, once per second.
type tick struct{}

func nextTick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} }) }

// Init starts the clock.
func (a app) Init() tea.Cmd {
	return tea.Batch(nextTick(), func() tea.Msg { return a.now() })
}

// Update implements [tea.Model].
func (a app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmds []tea.Cmd
	event := any(msg)
	switch msg := msg.(type) {
	case tick:
		event = a.now()
		cmds = append(cmds, nextTick())
	case tea.WindowSizeMsg:
		event = Size{msg.Width, msg.Height}
	case tea.KeyPressMsg:
		event = Key{msg.String(), msg.Text}
	case tea.PasteMsg:
		event = Key{"paste", msg.Content}
	case actionEnded:
		event = msg.result
		delete(a.pending, msg.action)
	}
	var actions []any
	a.model, actions = a.model.Update(event)
	for _, action := range actions {
		cmds = append(cmds, a.perform(action))
	}
	return a, tea.Batch(cmds...)
}

// View implements [tea.Model].
func (a app) View() tea.View {
	v := tea.NewView(strings.Join(a.model.Rows(), "\n"))
	v.AltScreen = true
	return v
}

// perform starts an action, and returns a command that reports its result.
func (a app) perform(action any) tea.Cmd {
	switch action := action.(type) {
	case Focus:
		a.backend.Focus(action)
		return nil
	case Quit:
		return tea.Quit
	case Answer:
		return a.start("answer "+action.Name, func() (Result, error) {
			err := a.backend.Answer(a.ctx, action.Question, action.Text, action.Deny)
			done := "answered " + action.Name + ": " + action.Text
			if action.Deny {
				done = "denied what " + action.Name + " asked for"
			}
			result := resultOf(done, err)
			result.Question = action.Question
			return result, err
		})
	case Cancel:
		return a.start("cancel "+action.Name, func() (Result, error) {
			err := a.backend.Cancel(a.ctx, action.Run, action.Task)
			return resultOf("cancelled "+action.Name, err), err
		})
	case Retry:
		return a.start("retry "+action.Task, func() (Result, error) {
			err := a.backend.Retry(a.ctx, action.Run, action.Task)
			return resultOf(display.Printable(action.Task)+" is queued again", err), err
		})
	}
	return nil
}

func (a app) start(name string, do func() (Result, error)) tea.Cmd {
	action := &pendingAction{display.Printable(name), sync.OnceValues(do)}
	a.pending[action] = true
	return func() tea.Msg {
		result, _ := action.do() // result contains the error
		return actionEnded{action, result}
	}
}

// resultOf returns the error, or the text if there is none.
func resultOf(text string, err error) Result {
	if err != nil {
		return Result{Text: err.Error(), Failed: true}
	}
	return Result{Text: text}
}
