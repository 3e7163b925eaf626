package watch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"gaffer/fleet"
	"gaffer/internal/cli/agentlog"
	"gaffer/internal/text/safe"
	screen "gaffer/internal/ui/tui/watch"
)

// followTask tells all about a task whenever it has come further, and what its
// agent writes.
func (f *feed) followTask(ctx context.Context, look screen.Look, changed <-chan fleet.Task) {
	var before fleet.Task
	end := func() {}
	defer func() { end() }()
	for first := true; ; first = false {
		var now fleet.Task
		select {
		case now = <-changed:
		case <-ctx.Done():
			return
		}
		if !first && same(before, now) {
			continue
		}
		if first || attemptOf(before) != attemptOf(now) { // also one whose log has just begun
			end()
			end = f.followLog(ctx, now)
		}
		if f.tellTask(ctx, look) {
			before = now
		}
	}
}

// same reports whether nothing has happened that is read beside the run.
func same(a, b fleet.Task) bool {
	return a.Status == b.Status && a.Tries == b.Tries && attemptOf(a) == attemptOf(b)
}

// attempt is what a log is read of. Where the log is comes a moment after the id.
type attempt struct{ id, log string }

func attemptOf(t fleet.Task) attempt {
	if t.Attempt == nil {
		return attempt{}
	}
	return attempt{t.Attempt.ID, t.Attempt.Log}
}

func (f *feed) tellTask(ctx context.Context, look screen.Look) bool {
	t, err := f.fleet.Task(ctx, look.Run, look.Task)
	if err != nil {
		return false
	}
	attempts, err := f.fleet.Attempts(ctx, look.Run, look.Task)
	if err != nil {
		return false
	}
	f.tell(screen.Task{Task: t, Attempts: attempts})
	return true
}

// tail is how many lines of a log are read of those that are there.
const tail = 1000

// followLog tells what the agent of a task writes. What it returns ends that and
// waits for it.
func (f *feed) followLog(ctx context.Context, t fleet.Task) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		w := &lines{tell: f.tell, log: screen.Log{Run: t.Run, Task: t.ID, Begin: true}}
		if t.Attempt == nil {
			w.end(fmt.Sprintf("none yet, the task is %s", t.Status))
			return
		}
		w.flush()
		r := agentlog.New(safe.New(w), agentlog.Options{})
		err := errors.Join(f.fleet.Log(ctx, t, r, fleet.LogQuery{Tail: tail, Follow: t.Status == fleet.Running}), r.End())
		switch {
		case ctx.Err() != nil:
		case err != nil:
			w.end(err.Error())
		default:
			w.log.Ended = true
			w.end("")
		}
	})
	return func() { cancel(); all.Wait() }
}

// lines tells whole lines of what is written to it. What comes here was made of
// lines of a limited length.
type lines struct {
	tell func(any)
	log  screen.Log
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	data := append(l.rest, p...)
	for {
		at := bytes.IndexByte(data, '\n')
		if at < 0 {
			break
		}
		l.log.Lines = append(l.log.Lines, string(data[:at]))
		data = data[at+1:]
	}
	l.rest = bytes.Clone(data)
	if len(l.log.Lines) > 0 {
		l.flush()
	}
	return len(p), nil
}

// flush tells what there is. Only the first has Begin.
func (l *lines) flush() {
	l.tell(l.log)
	l.log.Begin, l.log.Lines = false, nil
}

// end tells the last line, also if nothing ends it, and why there is no more.
func (l *lines) end(problem string) {
	if len(l.rest) > 0 {
		l.log.Lines = append(l.log.Lines, string(l.rest))
		l.rest = nil
	}
	l.log.Problem = problem
	l.flush()
}
