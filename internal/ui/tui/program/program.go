// Package program shows a [Model], which is the state of a screen, on the whole terminal. It passes
// keys, the size of the terminal and the time to the model, draws the rows that the model returns,
// and performs the actions that the model asks for. The model itself has no side effects.
package program

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
	"gaffer/internal/ui/tui/parts"
)

// Model is the state of a screen. It is a value: Update does not change it, but returns a new
// Model.
type Model[M any] interface {
	// Update applies an event: a [Size], a [Key], a [time.Time], data from [Program.Send], or the
	// result of a [Task]. It returns the new model and the actions to perform.
	Update(event any) (M, []any)
	// Rows returns the rows of the terminal, from the top.
	Rows() []string
}

// Events that every model receives. In addition, every model receives the time once per second.
type (
	// Size is the size of the terminal in columns and rows.
	Size struct{ Width, Height int }

	// Key is a key that was pressed: its name and, if it types text, that text. For pasted text,
	// the name is "paste".
	Key struct{ Name, Text string }
)

// Quit is the action that ends the program.
type Quit struct{}

// Edit applies the key k to a line that the user is typing, and returns the new line.
func Edit(line parts.Input, k Key) parts.Input {
	switch k.Name {
	case "backspace", "ctrl+h":
		return line.Backspace()
	case "ctrl+u":
		return ""
	case "ctrl+w":
		return line.DeleteWord()
	case "space":
		return line.Insert(" ")
	}
	return line.Insert(k.Text)
}

// Terminal describes where keys are read from and where the screen is drawn.
type Terminal struct {
	In    io.Reader
	Out   io.Writer
	Color bool
	Now   func() time.Time
}

// Task is the slow part of an action; it is no task of a run. It runs in the background, so that it
// does not block the screen. The zero Task means that the action has no slow part and is already
// done.
type Task struct {
	Name string // name of this Task in error messages
	// Do does the slow work. It returns an event with the result, which is passed to the model.
	Do func() (event any, err error)
}

// Performer performs an action. It must not block: it returns slow work as a Task.
type Performer func(action any) Task

// Program shows a model on a terminal and performs its actions.
type Program struct {
	tea     *tea.Program
	pending *pending
}

// New returns a program for a model.
func New[M Model[M]](ctx context.Context, m M, t Terminal, perform Performer) *Program {
	profile := colorprofile.Ascii
	if t.Color {
		profile = colorprofile.ANSI
	}
	a := adapter[M]{model: m, perform: perform, now: t.Now, pending: &pending{tasks: map[*started]bool{}}}
	return &Program{tea.NewProgram(a, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out),
		tea.WithoutSignalHandler(), tea.WithColorProfile(profile)), a.pending}
}

// Send passes data to the model as an event. It may be called from any goroutine.
func (p *Program) Send(data any) { p.tea.Send(data) }

// Show shows the screen until the user leaves or the context that was passed to [New] ends. It
// always restores the terminal.
func (p *Program) Show() error {
	_, err := p.tea.Run()
	if errors.Is(err, tea.ErrProgramKilled) && errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return err
}

// Finish completes the actions that are unfinished when the screen has closed. It waits for each
// [Task] that is still running, and runs each one that has not started. It returns the errors of
// those that failed, or that did not end before ctx ended.
func (p *Program) Finish(ctx context.Context) error {
	var errs []error
	for _, one := range p.pending.list() {
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

// started is a [Task] that was passed to Bubble Tea, the library that draws the screen. Bubble Tea
// calls the function do in the background. When the user leaves, Bubble Tea may not have made this
// call yet, and it does not wait for a call that is running. So [Program.Finish] calls do, too.
type started struct {
	name string
	do   func() (any, error) // does the work once; later calls return the same result
}

// pending holds each [Task] whose result the model has not received yet.
type pending struct {
	mu    sync.Mutex
	tasks map[*started]bool
}

func (p *pending) add(s *started) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks[s] = true
}

func (p *pending) remove(s *started) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tasks, s)
}

func (p *pending) list() (list []*started) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.tasks {
		list = append(list, s)
	}
	return list
}

// ended is the Bubble Tea message that a [Task] has ended.
type ended struct {
	task  *started
	event any
}

// tick is the Bubble Tea message of the clock, sent once per second.
type tick struct{}

func nextTick() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return tick{} }) }

// adapter implements [tea.Model] for a [Model].
type adapter[M Model[M]] struct {
	model   M
	perform Performer
	now     func() time.Time
	pending *pending
}

// Init implements [tea.Model]. It starts the clock, which sends the time to the model once per
// second.
func (a adapter[M]) Init() tea.Cmd {
	return tea.Batch(nextTick(), func() tea.Msg { return a.now() })
}

// Update implements [tea.Model].
func (a adapter[M]) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
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
	case ended:
		event = msg.event
		a.pending.remove(msg.task)
	}
	var actions []any
	a.model, actions = a.model.Update(event)
	for _, action := range actions {
		if _, quit := action.(Quit); quit {
			cmds = append(cmds, tea.Quit)
			continue
		}
		task := a.perform(action)
		if task.Do == nil {
			continue
		}
		one := &started{display.Printable(task.Name), sync.OnceValues(task.Do)}
		a.pending.add(one)
		cmds = append(cmds, func() tea.Msg {
			event, _ := one.do() // ignore the error: the event tells the model about it
			return ended{one, event}
		})
	}
	return a, tea.Batch(cmds...)
}

// View implements [tea.Model].
func (a adapter[M]) View() tea.View {
	v := tea.NewView(strings.Join(a.model.Rows(), "\n"))
	v.AltScreen = true
	return v
}
