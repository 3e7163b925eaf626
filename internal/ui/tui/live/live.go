// Package live shows one run in a terminal, and lets the user answer its questions, leave
// it or cancel it.
//
// [View] is a pure function from a run, the time, the size of the terminal and the user's
// input to rows. [Keyboard] is a pure state machine from keys and open questions to
// actions. [Show] is the loop around them.
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
	Observer bool // another process owns the run
	Remote   bool // the run belongs to a server, whose workers execute it

	// Runs delivers the run whenever it has changed. It is closed when the run has
	// ended.
	Runs <-chan fleet.Run
	// Notes delivers messages for the user.
	Notes <-chan string
	// End delivers requests from outside to end the run, such as signals.
	End <-chan struct{}
	// Act performs the user's actions, one after the other, and returns a message for
	// the user. Its context ends when the user leaves at once. Detach and Leave end
	// the view and are not passed to Act.
	Act func(context.Context, Action) string
}

const (
	frameTime = 200 * time.Millisecond // interval of the spinner and of redrawing changes
	minFrame  = 50 * time.Millisecond  // minimum time between two frames while the user types
	noteTime  = 15 * time.Second       // how long a note stays
	readTime  = time.Second            // how long a note stays even if keys are pressed
	seenTime  = 2 * time.Second        // how long an answer may take to close its question
)

// Show shows a run until it has ended or the user leaves. It returns NoAction if the
// run has ended, else Detach or Leave. It always restores the terminal, also after a
// panic in the view.
func Show(ctx context.Context, t *terminal.Terminal, o Options) (ActionKind, error) {
	if err := t.Acquire(); err != nil {
		t.Restore()
		return NoAction, err
	}
	defer t.Restore()
	l := &loop{
		Options: o, term: t, screen: t.Screen(),
		keys: make(chan terminal.Key), results: make(chan string, 1), panics: make(chan string, 2), done: make(chan struct{}),
		actions: make(chan Action, 16), reopened: make(chan string),
	}
	l.view.Keyboard.Observer, l.view.Keyboard.Remote = o.Observer, o.Remote
	acting, leave := context.WithCancel(ctx)
	defer leave()
	l.start(func() { t.Keys(l.done, func(k terminal.Key) { send(l.keys, k, l.done) }) })
	l.start(func() { l.act(acting) })
	defer func() {
		close(l.done)
		l.all.Wait()
	}()
	do, err := l.run(ctx)
	if do != Detach {
		leave() // an answer may still be sent after a detach
	}
	return do, err
}

// loop is the state of the loop.
type loop struct {
	Options
	term    *terminal.Terminal
	screen  *terminal.Screen
	view    View
	noted   time.Time // when the note was first drawn, or zero
	changed bool      // the view has changed since the last frame
	drawn   time.Time
	keys    chan terminal.Key
	results chan string   // messages from Act
	panics  chan string   // panics in our goroutines
	actions chan Action   // actions to perform, in order
	done    chan struct{} // closed to end the goroutines
	all     sync.WaitGroup

	reopened chan string // questions that are still open after the time seenTime has passed since their answer
}

// start runs f in a goroutine. A panic in f must not end the process before the
// terminal is restored.
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

// send sends a value unless done is closed first.
func send[T any](to chan<- T, value T, done <-chan struct{}) {
	select {
	case to <- value:
	case <-done:
	}
}

// act performs the actions. A question that is still open some time after its answer can
// be answered again: the answer was refused or did not arrive.
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
		select {
		case <-ctx.Done():
			return NoAction, context.Cause(ctx)
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
			continue // draw at the next tick
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
			// The size has changed, or the process was stopped and continued: another
			// program may have used the terminal meanwhile.
			if sig == syscall.SIGCONT {
				if err := l.term.Acquire(); err != nil {
					return NoAction, err
				}
			}
			if err := l.screen.Clear(); err != nil {
				return NoAction, err
			}
		case <-tick.C:
			l.forgetNote(noteTime)
			switch {
			case l.view.Run.Counts.Running > 0:
				l.view.Frame++
			case !l.changed && time.Since(l.drawn) < time.Second: // elapsed times change once per second
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
			select {
			case l.actions <- act:
			default: // earlier actions have not ended
				l.note("busy, try again")
				l.view.Keyboard = l.view.Keyboard.Reopen(act.Question)
			}
		}
		if l.changed = true; time.Since(l.drawn) < minFrame {
			continue // draw at the next tick
		}
		if err := l.draw(); err != nil {
			return NoAction, err
		}
	}
}

func (l *loop) note(text string) {
	l.view.Note, l.noted = text, time.Time{}
}

// forgetNote removes the note if it has been visible for longer than after.
func (l *loop) forgetNote(after time.Duration) {
	if l.view.Note != "" && !l.noted.IsZero() && time.Since(l.noted) > after {
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
