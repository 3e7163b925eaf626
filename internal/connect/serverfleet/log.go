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

// Log writes the output of a task's agents to w, one attempt after the other. If q.Attempt is set,
// it writes only the output of that attempt. It leaves out output that the server no longer has. If
// w has a method Begin(attempt int) error, Log calls it before the output of each attempt.
//
// If q.Follow is set, Log continues with new output until the task, or the attempt q.Attempt, has
// ended. It reconnects if the connection breaks or the server cannot be reached. If w has a method
// CaughtUp() error, Log calls it between the output that already existed and the new output.
func (f *Fleet) Log(ctx context.Context, t fleet.Task, w io.Writer, q fleet.LogQuery) error {
	if t.Attempt == nil {
		return &Error{text: fmt.Sprintf("task %s of run %s has no log, it is %s", t.ID, t.Run, t.Status), err: notFoundError{}}
	}
	l := &log{fleet: f, task: t, to: w, query: q, end: math.MaxInt64}
	var err error
	if q.Attempt > 0 {
		err = l.find(ctx)
	}
	switch {
	case err != nil:
	case q.Tail >= 0:
		err = l.writeLastLines(ctx, q.Tail)
	default:
		err = l.copy(ctx, coordinator.LogQuery{Offset: l.next, Follow: l.attemptEnded()})
	}
	if none := (*Error)(nil); errors.As(err, &none) {
		return none
	}
	if err != nil && (!q.Follow || !isTemporary(err) || l.writeFailed) {
		return f.problem(err)
	}
	if !q.Follow {
		return nil
	}
	if c, ok := w.(interface{ CaughtUp() error }); ok {
		if err := c.CaughtUp(); err != nil {
			return err
		}
	}
	return l.follow(ctx)
}

// find sets l.next and l.end to the offsets in the log at which the attempt l.query.Attempt begins
// and ends. It returns an error if the server does not know where the attempt begins.
func (l *log) find(ctx context.Context) error {
	from, span, err := l.fleet.client.Runs.Log(ctx, l.task.Run, l.task.ID, coordinator.LogQuery{Tail: 1})
	if err != nil {
		return err
	}
	_ = from.Close() // ignore the error: only the headers of the server's answer were needed
	at := slices.IndexFunc(span.Starts, func(s coordinator.LogStart) bool { return s.Attempt == l.query.Attempt })
	if at < 0 {
		return &Error{text: fmt.Sprintf("attempt %d of task %s has no log: there were %d attempts", l.query.Attempt, l.task.ID, l.task.Attempt.Number), err: notFoundError{}}
	}
	l.next = span.Starts[at].At
	l.recordStarts(span)
	return nil
}

// recordStarts stores the offsets in the log at which attempts begin. If only one attempt was
// requested, it also stores the offset at which that attempt ends.
func (l *log) recordStarts(span coordinator.LogSpan) {
	l.starts = span.Starts
	for _, s := range span.Starts {
		if l.query.Attempt > 0 && s.Attempt > l.query.Attempt {
			l.end = min(l.end, s.At)
		}
	}
}

type notFoundError struct{}

func (notFoundError) Error() string  { return "not found" }
func (notFoundError) NotFound() bool { return true }

// log copies the log of a task to a writer.
type log struct {
	fleet       *Fleet
	task        fleet.Task
	to          io.Writer
	query       fleet.LogQuery
	next        int64                  // offset in the task's log of the next byte to write
	end         int64                  // offset in the task's log at which writing ends; math.MaxInt64 means no limit
	starts      []coordinator.LogStart // offsets at which attempts begin; not all of them may be known yet
	begun       int                    // number of the attempt whose output is being written; 0 before the first one
	writeFailed bool                   // the caller's writer has returned an error
}

// attemptEnded reports whether the task's latest attempt has ended. If so, the worker may still be
// sending the last output to the server. Therefore the caller must request the log with Follow set.
// The server then waits for this output, and ends its answer when the log is complete.
func (l *log) attemptEnded() bool { return l.task.Attempt.Status.Final() }

// copy requests a part of the log from the server and writes it to l.to, the writer that the caller
// of [Fleet.Log] has given.
func (l *log) copy(ctx context.Context, q coordinator.LogQuery) error {
	from, span, err := l.fleet.client.Runs.Log(ctx, l.task.Run, l.task.ID, q)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // ignore the error: the body was only read
	l.reportLost(q, span)
	l.next = span.From
	l.recordStarts(span)
	_, err = io.Copy(l, io.LimitReader(from, l.end-l.next))
	return err
}

// Write passes data to l.to, the writer that the caller of [Fleet.Log] has given, in pieces that
// each belong to one attempt. If l.to returns an error, Write sets writeFailed. This distinguishes
// the error from errors of the server.
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
	l.writeFailed = l.writeFailed || err != nil
	return done, err
}

// passedBy reports whether the output at the offset l.next belongs to a later attempt than
// s.Attempt: whether such an attempt starts at or before l.next.
func (l *log) passedBy(s coordinator.LogStart) bool {
	return slices.ContainsFunc(l.starts, func(other coordinator.LogStart) bool {
		return other.Attempt > s.Attempt && other.At <= l.next
	})
}

// reportLost prints a notice if the server no longer has the first bytes that were requested.
func (l *log) reportLost(q coordinator.LogQuery, span coordinator.LogSpan) {
	if lost := span.From - q.Offset; q.Tail == 0 && lost > 0 {
		l.fleet.opts.Notice(fmt.Sprintf("the server does not keep the first %d bytes any more; worker %s has the whole log", span.From, l.task.Attempt.Worker))
	}
}

// writeLastLines writes the last n lines of the log. A client can request the last bytes of a log
// from the server, but not the last lines. So writeLastLines requests more and more bytes until
// they contain n lines.
func (l *log) writeLastLines(ctx context.Context, n int) error {
	const most = 64 << 20
	first := l.next // offset at which the requested attempt starts; 0 if all attempts are requested
	for size := int64(64 << 10); ; size *= 8 {
		text, span, err := l.read(ctx, min(size, most))
		if err != nil {
			return err
		}
		l.recordStarts(span)
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
	from, span, err := l.fleet.client.Runs.Log(ctx, l.task.Run, l.task.ID, coordinator.LogQuery{Tail: size, Follow: l.attemptEnded()})
	if err != nil {
		return nil, span, err
	}
	defer func() { _ = from.Close() }() // ignore the error: the body was only read
	text, err := io.ReadAll(io.LimitReader(from, 2*size))
	return text, span, err
}

// lastLines returns the offset at which the last n lines of text begin. A newline at the end of
// text does not start another line. If no newline precedes these lines, text may begin in the
// middle of a line; then lastLines returns offset 0, and ok is false.
func lastLines(text []byte, n int) (offset int, ok bool) {
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

// betweenAttempts is how often [log.follow] checks whether the next attempt has started.
const betweenAttempts = time.Second

// follow copies new output until all output is copied and the task has ended. If only one attempt
// was requested, follow returns when this attempt has ended and its output is copied.
func (l *log) follow(ctx context.Context) error {
	absent := outage{fleet: l.fleet}
	for {
		before := l.next
		over, err := l.copyConnection(ctx, &absent)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && over:
			return nil
		case err != nil && (l.writeFailed || !isTemporary(err)):
			return l.fleet.problem(err)
		case err != nil:
			absent.wait(ctx, err)
		case l.next > before:
			// Wait before the next request. The server has ended its answer, for example because
			// an attempt has ended or the server is stopping.
			pause.For(ctx, minPoll)
		default:
			pause.For(ctx, betweenAttempts)
		}
	}
}

// copyConnection copies output until the server ends its answer. The result ended is true if the
// task, or the only requested attempt, had already ended when the copying started. If ended is true
// and there is no error, all output has been copied.
func (l *log) copyConnection(ctx context.Context, absent *outage) (ended bool, err error) {
	if ended, err = l.hasEnded(ctx); err != nil {
		return false, err
	}
	absent.end()
	return ended, l.copy(ctx, coordinator.LogQuery{Offset: l.next, Follow: true})
}

// hasEnded reports whether the task has ended or, if only one attempt was requested, whether this
// attempt has ended.
func (l *log) hasEnded(ctx context.Context) (bool, error) {
	now, err := l.fleet.client.Runs.Task(ctx, l.task.Run, l.task.ID)
	if err != nil {
		return false, err
	}
	a, n := now.Attempt, l.query.Attempt
	return now.Status.Final() || n > 0 && a != nil && (a.Number > n || a.Status.Final()), nil
}
