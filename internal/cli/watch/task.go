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

// followTask follows the task that the user looks at. It sends the task's details to the screen
// when the task's status or attempt has changed, and also the output of the task's agent. It
// receives the states of the task from the channel changed.
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
		// followRun has already sent the changed run to the screen. Read the task's details again
		// only if its status, its number of tries or its attempt has changed.
		if !first && before.Status == now.Status && before.Tries == now.Tries && attemptOf(before) == attemptOf(now) {
			continue
		}
		// Follow another log if there is a new attempt, or if the path of the attempt's log has
		// become known.
		if first || attemptOf(before) != attemptOf(now) {
			end()
			end = f.followLog(ctx, now)
		}
		if f.sendTask(ctx, focus) {
			before = now
		}
	}
}

// attempt identifies the log of an attempt. The path of the log becomes known later than the
// attempt's id.
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

// logLines is how many lines from the end of a log are read at first.
const logLines = 1000

// followLog sends the output of a task's agent to the screen in the background. It begins with the
// last logLines lines of the log. If the task is running, it then sends new output as it is
// written. The returned function stop ends the sending and waits until it has ended.
func (f *feed) followLog(ctx context.Context, t fleet.Task) (stop func()) {
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

// lines is a writer that sends the written text to the screen, in complete lines. It does not limit
// the length of lines, because followLog writes to it through an [agentlog.Writer], which limits
// them.
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

// flush sends the collected lines to the screen. In the first call, l.log.Begin is true, which
// tells the screen that a new log begins.
func (l *lines) flush() {
	l.send(l.log)
	l.log.Begin, l.log.Lines = false, nil
}

// end sends the rest of the text, even if it does not end with a newline. The parameter problem
// says why the log is missing or incomplete; it may be empty.
func (l *lines) end(problem string) {
	if len(l.rest) > 0 {
		l.log.Lines = append(l.log.Lines, string(l.rest))
		l.rest = nil
	}
	l.log.Problem = problem
	l.flush()
}
