package tui

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
	"gaffer/internal/ui/tui/waves"
)

// Options configures a live view.
type Options struct {
	Now      func() time.Time
	Color    bool
	Onlooker bool // another process owns the run
	Far      bool // the run belongs to a server, whose workers do it

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
	beat     = 200 * time.Millisecond // interval of the spinner and of redrawing changes
	blink    = 50 * time.Millisecond  // minimum time between two frames while the user types
	noteTime = 15 * time.Second       // how long a note stays
	readTime = time.Second            // how long a note stays even if keys are pressed
	seenTime = 2 * time.Second        // how long an answer may take to close its question
)

// Live shows a run until it has ended or the user leaves. It returns Nothing if the
// run has ended, else Detach or Leave. It always restores the terminal, also after a
// panic in the view.
func Live(ctx context.Context, t *Terminal, o Options) (Do, error) {
	if err := t.Take(); err != nil {
		t.Give()
		return Nothing, err
	}
	defer t.Give()
	l := &live{
		Options: o, term: t, screen: screen{out: t.out},
		keys: make(chan Key), says: make(chan string, 1), broken: make(chan string, 2), done: make(chan struct{}),
		actions: make(chan Action, 16), reopened: make(chan string),
	}
	l.view.Keyboard.Onlooker, l.view.Keyboard.Far = o.Onlooker, o.Far
	acting, leave := context.WithCancel(ctx)
	defer leave()
	l.start(acting)
	defer l.stop()
	do, err := l.loop(ctx)
	if do != Detach {
		leave() // an answer may still be sent after a detach
	}
	return do, err
}

// live is the state of the loop.
type live struct {
	Options
	term    *Terminal
	screen  screen
	view    View
	noted   time.Time // when the note was first drawn, or zero
	dirty   bool
	drawn   time.Time
	keys    chan Key
	says    chan string   // messages from Act
	broken  chan string   // panics in our goroutines
	actions chan Action   // actions to perform, in order
	done    chan struct{} // closed to end the goroutines
	all     sync.WaitGroup

	reopened chan string // questions that are still open after the time seenTime has passed since their answer
}

func (l *live) start(ctx context.Context) {
	l.guard(func() { l.term.keys(l.done, l.pressed) })
	l.guard(func() {
		for {
			select {
			case <-l.done:
				return
			case a := <-l.actions:
				l.say(l.Act(ctx, a))
				if a.Do == Answer {
					l.guard(func() { l.reopen(a.Question) })
				}
			}
		}
	})
}

// reopen makes a question answerable again if it is still open some time after its
// answer: the answer was refused or did not arrive.
func (l *live) reopen(question string) {
	select {
	case <-time.After(seenTime):
	case <-l.done:
		return
	}
	select {
	case l.reopened <- question:
	case <-l.done:
	}
}

// guard runs f in a goroutine. A panic in f must not end the process before the
// terminal is restored.
func (l *live) guard(f func()) {
	l.all.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				l.broken <- fmt.Sprintf("%v\n%s", r, debug.Stack())
			}
		}()
		f()
	})
}

func (l *live) pressed(key Key) {
	select {
	case l.keys <- key:
	case <-l.done:
	}
}

func (l *live) say(text string) {
	if text == "" {
		return
	}
	select {
	case l.says <- text:
	case <-l.done:
	}
}

// stop ends the goroutines and waits for them.
func (l *live) stop() {
	close(l.done)
	l.all.Wait()
}

func (l *live) loop(ctx context.Context) (Do, error) {
	changed := make(chan os.Signal, 2)
	signal.Notify(changed, syscall.SIGWINCH, syscall.SIGCONT)
	defer signal.Stop(changed)
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		var act Action
		select {
		case <-ctx.Done():
			return Nothing, context.Cause(ctx)
		case text := <-l.broken:
			l.term.Give()
			panic(text)
		case r, ok := <-l.Runs:
			if !ok {
				return Nothing, nil
			}
			l.update(r)
			continue
		case text := <-l.Notes:
			l.note(text)
		case text := <-l.says:
			l.note(text)
		case id := <-l.reopened:
			l.view.Keyboard = l.view.Keyboard.Reopen(id)
		case <-l.End:
			l.view.Keyboard, act = l.view.Keyboard.End()
		case key := <-l.keys:
			l.forgetNote(readTime)
			l.view.Keyboard, act = l.view.Keyboard.Press(key, Questions(l.view.Run))
		case sig := <-changed:
			if err := l.again(sig); err != nil {
				return Nothing, err
			}
		case <-tick.C:
			if !l.moves() {
				continue
			}
		}
		if act.Do == Leave || act.Do == Detach {
			return act.Do, nil
		}
		l.do(act)
		if l.dirty = true; time.Since(l.drawn) < blink {
			continue // draw at the next tick
		}
		if err := l.draw(); err != nil {
			return Nothing, err
		}
	}
}

// do queues an action. If the queue is full, actions are not being performed; it
// drops the action and notifies the user.
func (l *live) do(act Action) {
	switch act.Do {
	case Nothing:
		return
	case Remark:
		l.note(act.Text)
		return
	}
	select {
	case l.actions <- act:
	default:
		l.note("busy, try again")
		l.view.Keyboard = l.view.Keyboard.Reopen(act.Question)
	}
}

// update stores the run's current state. It is drawn at the next tick.
func (l *live) update(r fleet.Run) {
	if len(l.view.layers) != len(r.Tasks) || l.view.Run.ID != r.ID {
		l.view.layers = waves.Of(r.Tasks)
	}
	l.view.Run = r
	l.view.Keyboard = l.view.Keyboard.See(Questions(r))
	l.dirty = true
}

func (l *live) note(text string) {
	l.view.Note, l.noted = text, time.Time{}
}

// forgetNote removes the note if it has been visible for longer than after.
func (l *live) forgetNote(after time.Duration) {
	if l.view.Note != "" && !l.noted.IsZero() && time.Since(l.noted) > after {
		l.view.Note, l.dirty = "", true
	}
}

// again clears the screen after its size has changed, or after the process was
// stopped and continued: another program may have used the terminal meanwhile.
func (l *live) again(sig os.Signal) error {
	if sig == syscall.SIGCONT {
		if err := l.term.Take(); err != nil {
			return err
		}
	}
	return l.screen.forget()
}

// moves reports whether the screen must be redrawn: after a change, while a spinner
// is shown, and once per second for the elapsed times.
func (l *live) moves() bool {
	l.forgetNote(noteTime)
	if l.view.Run.Counts.Running > 0 {
		l.view.Frame++
		return true
	}
	return l.dirty || time.Since(l.drawn) >= time.Second
}

func (l *live) draw() error {
	width, height := l.term.Size()
	l.view.Now = l.Now()
	l.dirty, l.drawn = false, time.Now()
	if l.noted.IsZero() {
		l.noted = l.drawn
	}
	return l.screen.draw(l.view.Lines(width, height, l.Color))
}
