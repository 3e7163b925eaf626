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

// Options say what a live view is given.
type Options struct {
	Now      func() time.Time
	Color    bool
	Onlooker bool // the run is another's
	Far      bool // others work on the run

	// Runs has the run as it stands, whenever it has changed, and is closed
	// when the run has ended.
	Runs <-chan fleet.Run
	// Notes are things a person should know.
	Notes <-chan string
	// End says that the run is to be ended, from outside: a signal.
	End <-chan struct{}
	// Act does what a person asks for, one thing after the other, and returns
	// what to say about it. Its context ends when the person leaves at once.
	// Detach and Leave end the view and are not acted on.
	Act func(context.Context, Action) string
}

const (
	beat     = 200 * time.Millisecond // the spinner's, and that of changes
	blink    = 50 * time.Millisecond  // between two frames, whatever is typed
	noteTime = 15 * time.Second       // that a note stays
	readTime = time.Second            // that a note stays whatever is typed
	seenTime = 2 * time.Second        // that an answer has to close its question
)

// Live shows a run until it has ended or the person leaves, and returns what the
// person asked for last: Nothing if the run has ended, Detach or Leave. The
// terminal is given back whatever happens, also when something panics here.
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
		leave() // the answer to a detach may still be under way
	}
	return do, err
}

// live is the loop's own state.
type live struct {
	Options
	term    *Terminal
	screen  screen
	view    View
	noted   time.Time // when the note was first drawn, or zero
	dirty   bool
	drawn   time.Time
	keys    chan Key
	says    chan string   // what Act has to say
	broken  chan string   // a panic in one of our goroutines
	actions chan Action   // to be done, in order
	done    chan struct{} // the goroutines are to end
	all     sync.WaitGroup

	reopened chan string // questions that had their answer long enough
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

// reopen lets a question be answered again that is still open a while after its
// answer was given: it was refused, or did not arrive.
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

// guard runs f beside the loop. A panic in it must not end the process before
// the terminal is given back.
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
			continue // with the next beat
		}
		if err := l.draw(); err != nil {
			return Nothing, err
		}
	}
}

// do queues an action. A queue that is full means that nothing gets done, and
// one more would not either.
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

// update takes the run as it stands now. It is drawn with the next beat.
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

// forgetNote takes the note away if it has been there to be read for that long.
func (l *live) forgetNote(after time.Duration) {
	if l.view.Note != "" && !l.noted.IsZero() && time.Since(l.noted) > after {
		l.view.Note, l.dirty = "", true
	}
}

// again begins with an empty screen after the size has changed, or after the
// process was stopped and the terminal was another's.
func (l *live) again(sig os.Signal) error {
	if sig == syscall.SIGCONT {
		if err := l.term.Take(); err != nil {
			return err
		}
	}
	return l.screen.forget()
}

// moves reports whether there is anything new to see: a change, the spinner of
// something that runs, or the time, which is told in seconds.
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
