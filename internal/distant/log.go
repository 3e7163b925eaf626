package distant

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"gaffer/coordinator"
	"gaffer/fleet"
)

// Log writes what the agents of a task have written: the last lines, as many as
// tail says, or all that the server keeps if that is negative. With follow it goes
// on until the attempt that runs has ended, over connections that tear and a
// server that is away.
func (f *Fleet) Log(ctx context.Context, t fleet.Task, to io.Writer, tail int, follow bool) error {
	if t.Attempt == nil {
		return &Error{text: fmt.Sprintf("task %s of run %s has no log, it is %s", t.ID, t.Run, t.Status), err: missing{}}
	}
	l := &log{fleet: f, task: t, to: to}
	var err error
	if tail >= 0 {
		err = l.last(ctx, tail)
	} else {
		err = l.copy(ctx, coordinator.LogQuery{Follow: l.settling()})
	}
	if err != nil && (!follow || !passing(err) || l.broken) {
		return f.problem(err)
	}
	if !follow {
		return nil
	}
	return l.follow(ctx)
}

type missing struct{}

func (missing) Error() string  { return "not found" }
func (missing) NotFound() bool { return true }

// log is a log that is being written somewhere.
type log struct {
	fleet  *Fleet
	task   fleet.Task
	to     io.Writer
	next   int64 // the offset of what is wanted next
	broken bool  // nobody takes what is written
}

// settling reports whether the last words of an attempt may still be under way
// from its worker: then the server says when that was all.
func (l *log) settling() bool { return l.task.Attempt.Status.Final() }

// copy writes a part of the log.
func (l *log) copy(ctx context.Context, q coordinator.LogQuery) error {
	from, span, err := l.fleet.client.Log(ctx, l.task.Run, l.task.ID, q)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // nothing was written
	l.tellLost(q, span)
	l.next = span.From
	n, err := io.Copy(l, from)
	l.next += n
	return err
}

// Write tells a reader that is gone from a server that is away.
func (l *log) Write(p []byte) (int, error) {
	n, err := l.to.Write(p)
	if err != nil {
		l.broken = true
	}
	return n, err
}

// tellLost says that the server has no longer got what was asked for.
func (l *log) tellLost(q coordinator.LogQuery, span coordinator.LogSpan) {
	if lost := span.From - q.Offset; q.Tail == 0 && lost > 0 {
		l.fleet.opts.Notice(fmt.Sprintf("the server does not keep the first %d bytes any more; worker %s has the whole log", span.From, l.task.Attempt.Worker))
	}
}

// last writes the last n lines. The server counts bytes, so it is asked for more
// and more of them until there are enough lines.
func (l *log) last(ctx context.Context, n int) error {
	const most = 64 << 20
	for size := int64(64 << 10); ; size *= 8 {
		text, span, err := l.read(ctx, min(size, most))
		if err != nil {
			return err
		}
		begin, ok := lastLines(text, n)
		if !ok && span.From > span.Kept && size < most {
			continue
		}
		l.next = span.From + int64(len(text))
		_, err = l.Write(text[begin:])
		return err
	}
}

func (l *log) read(ctx context.Context, size int64) ([]byte, coordinator.LogSpan, error) {
	from, span, err := l.fleet.client.Log(ctx, l.task.Run, l.task.ID, coordinator.LogQuery{Tail: size, Follow: l.settling()})
	if err != nil {
		return nil, span, err
	}
	defer func() { _ = from.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(from, 2*size))
	return text, span, err
}

// lastLines is where the last n lines of text begin, and whether there were as
// many. A newline at the end begins no line.
func lastLines(text []byte, n int) (begin int, ok bool) {
	if n == 0 {
		return len(text), true
	}
	end := len(text)
	if bytes.HasSuffix(text, []byte("\n")) {
		end--
	}
	for range n {
		if end = bytes.LastIndexByte(text[:max(end, 0)], '\n'); end < 0 {
			return 0, false
		}
	}
	return end + 1, true
}

// follow copies what is added until the attempt has ended and all of it is there.
func (l *log) follow(ctx context.Context) error {
	absent := absence{fleet: l.fleet}
	for {
		over, err := l.connection(ctx, &absent)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && over:
			return nil
		case err != nil && (l.broken || !passing(err)):
			return l.fleet.problem(err)
		case err != nil:
			absent.wait(ctx, err)
		default:
			rest(ctx, shortest) // it ended, or was cut off by a server that stops
		}
	}
}

// connection copies until the server says no more, and reports whether the
// attempt had ended before: whatever it wrote was then copied.
func (l *log) connection(ctx context.Context, absent *absence) (over bool, err error) {
	if over, err = l.over(ctx); err != nil {
		return false, err
	}
	absent.over()
	return over, l.copy(ctx, coordinator.LogQuery{Offset: l.next, Follow: true})
}

// over reports whether the attempt that ran has ended.
func (l *log) over(ctx context.Context) (bool, error) {
	now, err := l.fleet.client.RunTask(ctx, l.task.Run, l.task.ID)
	if err != nil {
		return false, err
	}
	return now.Status != fleet.Running || now.Attempt == nil || now.Attempt.ID != l.task.Attempt.ID, nil
}
