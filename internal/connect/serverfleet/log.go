package serverfleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/pause"
)

// Log writes what the agents of a task have written, as far as the server keeps it,
// one attempt after the other. If to has a method Begin(attempt int) error, it is
// called before what an attempt wrote, and CaughtUp() error when what comes is new.
// With Follow it goes on until the task has
// ended, or the attempt that is asked for, over connections that tear and a server
// that is away.
func (f *Fleet) Log(ctx context.Context, t fleet.Task, to io.Writer, q fleet.LogQuery) error {
	if t.Attempt == nil {
		return &Error{text: fmt.Sprintf("task %s of run %s has no log, it is %s", t.ID, t.Run, t.Status), err: missing{}}
	}
	l := &log{fleet: f, task: t, to: to, query: q, end: math.MaxInt64}
	var err error
	if q.Attempt > 0 {
		err = l.find(ctx)
	}
	switch {
	case err != nil:
	case q.Tail >= 0:
		err = l.last(ctx, q.Tail)
	default:
		err = l.copy(ctx, coordinator.LogQuery{Offset: l.next, Follow: l.settling()})
	}
	if none := (*Error)(nil); errors.As(err, &none) {
		return none
	}
	if err != nil && (!q.Follow || !passing(err) || l.broken) {
		return f.problem(err)
	}
	if !q.Follow {
		return nil
	}
	if c, ok := to.(interface{ CaughtUp() error }); ok {
		if err := c.CaughtUp(); err != nil {
			return err
		}
	}
	return l.follow(ctx)
}

// find looks where the attempt that is asked for begins and ends.
func (l *log) find(ctx context.Context) error {
	from, span, err := l.fleet.client.Log(ctx, l.task.Run, l.task.ID, coordinator.LogQuery{Tail: 1})
	if err != nil {
		return err
	}
	_ = from.Close() // nothing was read
	at := slices.IndexFunc(span.Starts, func(s coordinator.LogStart) bool { return s.Attempt == l.query.Attempt })
	if at < 0 {
		return &Error{text: fmt.Sprintf("attempt %d of task %s has no log: there were %d attempts", l.query.Attempt, l.task.ID, l.task.Attempt.Number), err: missing{}}
	}
	l.next = span.Starts[at].At
	l.bound(span)
	return nil
}

// bound notes where the attempts begin, and where the one that is asked for ends.
func (l *log) bound(span coordinator.LogSpan) {
	l.starts = span.Starts
	for _, s := range span.Starts {
		if l.query.Attempt > 0 && s.Attempt > l.query.Attempt {
			l.end = min(l.end, s.At)
		}
	}
}

type missing struct{}

func (missing) Error() string  { return "not found" }
func (missing) NotFound() bool { return true }

// log is a log that is being written somewhere.
type log struct {
	fleet  *Fleet
	task   fleet.Task
	to     io.Writer
	query  fleet.LogQuery
	next   int64                  // the offset of what is wanted next
	end    int64                  // and of what is not wanted any more
	starts []coordinator.LogStart // where the attempts begin, as far as is known
	begun  int                    // the attempt that is being written
	broken bool                   // nobody takes what is written
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
	l.bound(span)
	_, err = io.Copy(l, io.LimitReader(from, l.end-l.next))
	return err
}

// Write passes on what is next, in pieces of one attempt each. It tells a reader that
// is gone from a server that is away.
func (l *log) Write(p []byte) (done int, err error) {
	for len(p) > 0 && err == nil {
		piece := p
		for _, s := range l.starts {
			if s.At <= l.next && s.Attempt > l.begun && !l.passedBy(s) {
				l.begun = s.Attempt
				if b, ok := l.to.(interface{ Begin(attempt int) error }); ok {
					err = b.Begin(s.Attempt)
				}
			}
			if left := s.At - l.next; left > 0 && left < int64(len(piece)) {
				piece = piece[:left]
			}
		}
		n := 0
		if err == nil {
			n, err = l.to.Write(piece)
		}
		done, l.next, p = done+n, l.next+int64(n), p[n:]
	}
	l.broken = l.broken || err != nil
	return done, err
}

// passedBy reports whether another attempt has begun where this one did, or since: it
// wrote nothing that is wanted.
func (l *log) passedBy(s coordinator.LogStart) bool {
	return slices.ContainsFunc(l.starts, func(other coordinator.LogStart) bool {
		return other.Attempt > s.Attempt && other.At <= l.next
	})
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
	first := l.next // of the attempt that is asked for
	for size := int64(64 << 10); ; size *= 8 {
		text, span, err := l.read(ctx, min(size, most))
		if err != nil {
			return err
		}
		l.bound(span)
		from := span.From
		if cut := first - from; cut > 0 {
			from, text = first, text[min(cut, int64(len(text))):]
		}
		text = text[:max(min(int64(len(text)), l.end-from), 0)]
		begin, ok := lastLines(text, n)
		if !ok && from > max(span.Kept, first) && size < most {
			continue
		}
		l.next = from + int64(begin)
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

// betweenAttempts is how long to wait before looking whether another attempt has
// begun.
const betweenAttempts = time.Second

// follow copies what is added until nothing more will be and all of it is there.
func (l *log) follow(ctx context.Context) error {
	absent := absence{fleet: l.fleet}
	for {
		before := l.next
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
		case l.next > before:
			pause.For(ctx, shortest) // it ended, or was cut off by a server that stops
		default:
			pause.For(ctx, betweenAttempts)
		}
	}
}

// connection copies until the server says no more, and reports whether that was the
// end before: whatever it wrote was then copied.
func (l *log) connection(ctx context.Context, absent *absence) (over bool, err error) {
	if over, err = l.over(ctx); err != nil {
		return false, err
	}
	absent.over()
	return over, l.copy(ctx, coordinator.LogQuery{Offset: l.next, Follow: true})
}

// over reports whether nothing more will be written: the task has ended, or the
// attempt that is asked for.
func (l *log) over(ctx context.Context) (bool, error) {
	now, err := l.fleet.client.RunTask(ctx, l.task.Run, l.task.ID)
	if err != nil {
		return false, err
	}
	a, n := now.Attempt, l.query.Attempt
	return now.Status.Final() || n > 0 && a != nil && (a.Number > n || a.Status.Final()), nil
}
