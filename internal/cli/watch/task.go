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

// followTask sends the details of a task to the screen after every change, and the
// output of its agent.
func (f *feed) followTask(ctx context.Context, focus screen.Focus, changed <-chan fleet.Task) {
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
		// The rest of a task's state is shown from the run.
		if !first && before.Status == now.Status && before.Tries == now.Tries && attemptOf(before) == attemptOf(now) {
			continue
		}
		if first || attemptOf(before) != attemptOf(now) { // a new attempt, or the path of its log is now known
			end()
			end = f.followLog(ctx, now)
		}
		if f.sendTask(ctx, focus) {
			before = now
		}
	}
}

// attempt identifies the log of an attempt. The log's path is known a moment after the
// id.
type attempt struct{ id, log string }

func attemptOf(t fleet.Task) attempt {
	if t.Attempt == nil {
		return attempt{}
	}
	return attempt{t.Attempt.ID, t.Attempt.Log}
}

func (f *feed) sendTask(ctx context.Context, focus screen.Focus) bool {
	t, err := f.fleet.Task(ctx, focus.Run, focus.Task)
	if err != nil {
		return false
	}
	attempts, err := f.fleet.Attempts(ctx, focus.Run, focus.Task)
	if err != nil {
		return false
	}
	f.send(screen.Task{Task: t, Attempts: attempts})
	return true
}

// logLines is the number of lines of an existing log that are read.
const logLines = 1000

// followLog sends the output of a task's agent to the screen. end stops that and waits
// for it.
func (f *feed) followLog(ctx context.Context, t fleet.Task) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() {
		w := &lines{send: f.send, log: screen.Log{Run: t.Run, Task: t.ID, Begin: true}}
		if t.Attempt == nil {
			w.end(fmt.Sprintf("none yet, the task is %s", t.Status))
			return
		}
		w.flush()
		r := agentlog.New(safe.New(w), agentlog.Options{})
		err := errors.Join(f.fleet.Log(ctx, t, r, fleet.LogQuery{Tail: logLines, Follow: t.Status == fleet.Running}), r.End())
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

// lines sends complete lines to the screen. The lines that it receives have a limited
// length.
type lines struct {
	send func(any)
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

// flush sends the collected lines. Only the first call sends Begin.
func (l *lines) flush() {
	l.send(l.log)
	l.log.Begin, l.log.Lines = false, nil
}

// end sends the last line, even without a newline, and the reason why the log ends.
func (l *lines) end(problem string) {
	if len(l.rest) > 0 {
		l.log.Lines = append(l.log.Lines, string(l.rest))
		l.rest = nil
	}
	l.log.Problem = problem
	l.flush()
}
