// Package live shows one run in a terminal, and lets the user answer the questions of its agents,
// leave the view or cancel the run.
//
// [View] computes the rows of the screen from the run, the time and the user's input. [Keyboard] is
// a state machine that turns keys and open questions into actions. Both are pure. [Show] is the
// loop that uses them.
package live

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"gaffer/fleet"
	"gaffer/internal/ui/tui/stages"
	"gaffer/internal/ui/tui/terminal"
)

// Options configures a live view.
type Options struct {
	Now      func() time.Time
	Color    bool
	Observer bool // another process works on the run, so this view cannot stop it
	Remote   bool // the run is on a server, whose workers work on it

	// Runs is a channel on which the caller sends the run whenever the run has changed. The caller
	// closes it when the run has ended.
	Runs <-chan fleet.Run
	// Notes is a channel on which the caller sends messages for the user.
	Notes <-chan string
	// End is a channel on which the caller sends a value for each request to end the run that does
	// not come from the keyboard, such as a signal.
	End <-chan struct{}
	// Act performs an action of the user and returns a message for the user, or "". Calls of Act
	// never overlap. When the view ends, the context is cancelled and actions that have not begun
	// are dropped, but not if the user has detached: then all are performed before Show returns.
	// The actions Detach and Leave end the view and are not passed to Act.
	Act func(context.Context, Action) string
}

const (
	frameTime = 200 * time.Millisecond // interval at which the spinner is turned and changes of the run are drawn
	minFrame  = 50 * time.Millisecond  // minimum time between two redraws of the screen while the user types
	noteTime  = 15 * time.Second       // how long a message for the user is shown
	readTime  = time.Second            // minimum time for which a message is shown, even if keys are pressed

	// seenTime is how long a question stays hidden after the user has answered it. If the question
	// is still open after this time, it is shown again.
	seenTime = 2 * time.Second
)

// Show shows a run until the run has ended or the user leaves. It returns NoAction if the run has
// ended, and Detach or Leave if the user left. It always restores the terminal, even after a panic
// in the view.
func Show(ctx context.Context, t *terminal.Terminal, o Options) (ActionKind, error) {
	if err := t.Acquire(); err != nil {
		t.Restore()
		return NoAction, err
	}
	defer t.Restore()
	l := &loop{
		Options: o, term: t, screen: t.Screen(),
		keys: make(chan terminal.Key), results: make(chan string, 1), panics: make(chan string, 2), done: make(chan struct{}),
		actions: make(chan Action), reopened: make(chan string),
	}
	l.view.Keyboard.Observer, l.view.Keyboard.Remote = o.Observer, o.Remote
	acting, leave := context.WithCancel(ctx)
	defer leave()
	l.start(func() { t.Keys(l.done, func(k terminal.Key) { send(l.keys, k, l.done) }) })
	l.start(func() { l.act(acting) })
	ended := sync.OnceFunc(func() {
		close(l.done)
		l.all.Wait()
	})
	defer ended()
	do, err := l.run(ctx)
	if do != Detach {
		leave()
	}
	ended()
	if do == Detach {
		for _, a := range l.queue {
			l.Act(acting, a)
		}
	}
	return do, err
}

// loop is the state of the loop in [Show].
type loop struct {
	Options
	term    *terminal.Terminal
	screen  *terminal.Screen
	view    View
	noted   time.Time // when the message view.Note was first drawn; zero if it was not drawn yet
	changed bool      // the view has changed since it was last drawn
	drawn   time.Time
	keys    chan terminal.Key
	results chan string   // receives the messages that Act returns
	panics  chan string   // receives the panics of the loop's goroutines
	queue   []Action      // the user's actions that Act has not begun yet, the oldest first
	actions chan Action   // passes the oldest action of queue to the goroutine that calls Act
	done    chan struct{} // closed when the goroutines must end
	all     sync.WaitGroup

	// reopened receives the id of each answered question when the time seenTime has passed since
	// the answer. A question that is still open is then shown again.
	reopened chan string
}

// start calls the function f in a goroutine. If f panics, start passes the panic to the loop, which
// restores the terminal before the process ends.
func (l *loop) start(f func()) {
	l.all.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				l.panics <- fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		f()
	})
}

// send sends a value to the channel ch. If done is closed first, it returns without sending.
func send[T any](ch chan<- T, value T, done <-chan struct{}) {
	select {
	case ch <- value:
	case <-done:
	}
}

// act performs the user's actions, one after the other. If a question is still open when the time
// seenTime has passed since its answer, the user can answer it again, because the answer may have
// been refused or lost.
func (l *loop) act(ctx context.Context) {
	for {
		var a Action
		select {
		case <-l.done:
			return
		case a = <-l.actions:
		}
		if text := l.Act(ctx, a); text != "" {
			send(l.results, text, l.done)
		}
		if a.Kind == Answer {
			l.start(func() {
				select {
				case <-time.After(seenTime):
					send(l.reopened, a.Question, l.done)
				case <-l.done:
				}
			})
		}
	}
}

func (l *loop) run(ctx context.Context) (ActionKind, error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
	defer signal.Stop(signals)
	tick := time.NewTicker(frameTime)
	defer tick.Stop()
	for {
		var act Action
		var first Action
		var next chan<- Action // stays nil, so that nothing is sent, if the queue is empty
		if len(l.queue) > 0 {
			first, next = l.queue[0], l.actions
		}
		select {
		case <-ctx.Done():
			return NoAction, context.Cause(ctx)
		case next <- first:
			l.queue = l.queue[1:]
			continue
		case text := <-l.panics:
			l.term.Restore()
			panic(text)
		case r, ok := <-l.Runs:
			if !ok {
				return NoAction, nil
			}
			if len(l.view.stages) != len(r.Tasks) || l.view.Run.ID != r.ID {
				l.view.stages = stages.Of(r.Tasks)
			}
			l.view.Run = r
			l.view.Keyboard = l.view.Keyboard.WithQuestions(Questions(r))
			l.changed = true
			continue // the next tick of the timer draws the change
		case text := <-l.Notes:
			l.note(text)
		case text := <-l.results:
			l.note(text)
		case id := <-l.reopened:
			l.view.Keyboard = l.view.Keyboard.Reopen(id)
		case <-l.End:
			l.view.Keyboard, act = l.view.Keyboard.End()
		case key := <-l.keys:
			l.forgetNote(readTime)
			l.view.Keyboard, act = l.view.Keyboard.Press(key, Questions(l.view.Run))
		case sig := <-signals:
			// If the process was stopped and continues, switch the terminal to raw mode again.
			if sig == syscall.SIGCONT {
				if err := l.term.Acquire(); err != nil {
					return NoAction, err
				}
			}
			// Clear the screen: its size has changed, or another program may have used the
			// terminal while the process was stopped.
			if err := l.screen.Clear(); err != nil {
				return NoAction, err
			}
		case <-tick.C:
			l.forgetNote(noteTime)
			switch {
			case l.view.Run.Counts.Running > 0:
				l.view.Frame++
			case !l.changed && time.Since(l.drawn) < time.Second:
				// Draw nothing: the view has not changed, and the times on the screen change only
				// once per second.
				continue
			}
		}
		switch act.Kind {
		case Leave, Detach:
			return act.Kind, nil
		case NoAction:
		case ShowNote:
			l.note(act.Text)
		default:
			l.queue = append(l.queue, act)
		}
		if l.changed = true; time.Since(l.drawn) < minFrame {
			continue // too soon after the last drawing: the next tick of the timer draws the change
		}
		if err := l.draw(); err != nil {
			return NoAction, err
		}
	}
}

func (l *loop) note(text string) {
	l.view.Note, l.noted = text, time.Time{}
}

// forgetNote removes the message for the user if it has been shown for longer than age.
func (l *loop) forgetNote(age time.Duration) {
	if l.view.Note != "" && !l.noted.IsZero() && time.Since(l.noted) > age {
		l.view.Note, l.changed = "", true
	}
}

func (l *loop) draw() error {
	width, height := l.term.Size()
	l.view.Now = l.Now()
	l.changed, l.drawn = false, time.Now()
	if l.noted.IsZero() {
		l.noted = l.drawn
	}
	return l.screen.Draw(l.view.Lines(width, height, l.Color))
}
