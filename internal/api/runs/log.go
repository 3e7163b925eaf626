package runs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Logs reads the logs of attempts.
type Logs struct {
	// Span returns the offset of the first kept byte and the offset after the last byte.
	Span func(r store.Reader, attempt string) (from, to int64, err error)
	// Read returns at most limit bytes from an offset.
	Read func(r store.Reader, attempt string, offset int64, limit int) ([]byte, error)
	// Done reports whether the log is complete.
	Done func(r store.Reader, attempt string) (bool, error)
}

// logPart is the log of one attempt within the log of its task.
type logPart struct {
	attempt  string
	base     int64 // offset of the part in the whole log
	from, to int64 // offsets of the kept bytes within the attempt's log
}

// logLayout describes the log of a task: the output of its attempts, one after the other.
// If the whole log is in one file, there is a single part with the id of the first
// attempt.
type logLayout struct {
	attempts []store.Attempt
	parts    []logPart
	file     string
}

// logReader reads the logs of tasks.
type logReader struct {
	store store.Store
	runs  *visibleRuns
	now   func() time.Time
	logs  Logs
	file  func(run store.Run, a store.Attempt) (path string, ok bool) // nil if every log is in the store
}

func (d *logReader) layout(r store.Reader, run store.Run, task string) (l logLayout, err error) {
	if l.attempts, err = r.Attempts(store.TaskKey{Run: run.ID, Task: task}); err != nil {
		return l, err
	}
	slices.SortFunc(l.attempts, func(a, b store.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	base := int64(0)
	for _, a := range l.attempts {
		p := logPart{attempt: a.ID, base: base}
		if p.from, p.to, err = d.logs.Span(r, a.ID); err != nil {
			return l, err
		}
		base += p.to
		l.parts = append(l.parts, p)
	}
	if base > 0 {
		return l, nil
	}
	if l.file = d.fileOf(run, l.attempts); l.file == "" {
		return l, nil
	}
	whole := logPart{attempt: l.attempts[0].ID}
	whole.to, err = sizeOf(l.file)
	l.parts = []logPart{whole}
	return l, err
}

// firstKept returns the offset from which on the log has no gaps.
func (l logLayout) firstKept() (at int64) {
	for _, p := range l.parts {
		if p.from > 0 {
			at = p.base + p.from
		}
	}
	return at
}

func (l logLayout) end() int64 {
	if len(l.parts) == 0 {
		return 0
	}
	last := l.parts[len(l.parts)-1]
	return last.base + last.to
}

// maxStarts is the maximum number of attempts whose offsets an answer contains.
const maxStarts = 100

// starts returns the offsets of the latest attempts. If the attempts share a file, each
// attempt's row has its offset.
func (l logLayout) starts() (list []coordinator.LogStart) {
	if l.file != "" {
		at := int64(0)
		for _, a := range l.attempts {
			if a.Log != "" {
				at = max(at, a.LogFrom)
				list = append(list, coordinator.LogStart{Attempt: a.Number, At: at})
			}
		}
		return list[max(0, len(list)-maxStarts):]
	}
	for i := max(0, len(l.parts)-maxStarts); i < len(l.parts); i++ {
		list = append(list, coordinator.LogStart{Attempt: l.attempts[i].Number, At: l.parts[i].base})
	}
	return list
}

// find returns the attempt that contains an offset of the whole log, and the offset
// within that attempt's part. The offset at the end of a part belongs to that part,
// because more output may follow.
func (l logLayout) find(offset int64) (attempt string, at int64) {
	for i, p := range l.parts {
		if offset <= p.base+p.to || i == len(l.parts)-1 {
			return p.attempt, offset - p.base
		}
	}
	return "", 0
}

// span computes the part of a log that a query selects.
func (l logLayout) span(q coordinator.LogQuery) (coordinator.LogSpan, error) {
	s := coordinator.LogSpan{Kept: l.firstKept(), To: l.end(), From: q.Offset, Starts: l.starts()}
	if q.Tail > 0 {
		s.From = max(s.From, s.To-q.Tail)
	}
	if s.From > s.To {
		return s, &server.RangeError{Size: s.To}
	}
	s.From = max(s.From, s.Kept)
	return s, nil
}

// Log implements [server.Runs].
func (d *logReader) Log(ctx context.Context, run, task string, q coordinator.LogQuery) (log server.Log, s coordinator.LogSpan, err error) {
	t := &taskLog{reader: d, key: store.TaskKey{Run: run, Task: task}, follow: q.Follow}
	err = d.store.Read(ctx, func(r store.Reader) error {
		if t.run, err = d.runs.find(r, run); err != nil {
			return err
		}
		if _, err := r.Task(t.key); err != nil {
			return protocol.NotFound(err, "task", run+"/"+task)
		}
		l, err := d.layout(r, t.run, task)
		if err != nil {
			return err
		}
		if s, err = l.span(q); err != nil {
			return err
		}
		t.attempt, t.at = l.find(s.From)
		t.left = s.To - s.From
		t.lastAttempt = l.current()
		return nil
	})
	return t, s, err
}

// current returns the attempt at whose end a follower stops: the running one, or the
// last one.
func (l logLayout) current() string {
	if len(l.attempts) == 0 {
		return ""
	}
	for _, a := range l.attempts {
		if !a.Status.Final() {
			return a.ID
		}
	}
	return l.attempts[len(l.attempts)-1].ID
}

// taskLog is a position in the log of a task. It stores the attempt and the offset
// within its part, not the offset in the whole log: an abandoned attempt may still
// write output, which moves the parts after it.
type taskLog struct {
	reader      *logReader
	run         store.Run // only fields that never change are used
	key         store.TaskKey
	attempt     string // empty before the first attempt
	at          int64
	left        int64 // remaining bytes if the log is not followed
	follow      bool
	lastAttempt string    // the attempt at whose end the follower stops; empty if none has started
	endedSince  time.Time // since when lastAttempt has ended without new output
}

const (
	maxRead = 512 << 10
	// endDelay is how long to wait for the last output of an ended attempt if its
	// worker has not reported that the log is complete.
	endDelay = 3 * time.Second
	// nextAttemptDelay is how long to wait for the last output of an attempt if a newer
	// attempt has started. It is longer than endDelay, because a follower that continues
	// with the next attempt never returns to this one.
	nextAttemptDelay = 20 * time.Second
)

var errLogDeleted = errors.New("the log was forgotten while it was read")

// Next implements [server.Log].
func (t *taskLog) Next(ctx context.Context) (data []byte, err error) {
	if !t.follow && t.left == 0 {
		return nil, io.EOF
	}
	err = t.reader.store.Read(ctx, func(r store.Reader) error {
		data, err = t.read(r)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !t.follow && len(data) == 0:
		return nil, errLogDeleted
	case !t.follow:
		data = data[:min(int64(len(data)), t.left)]
		t.left -= int64(len(data))
	}
	if len(data) > 0 {
		t.at, t.endedSince = t.at+int64(len(data)), time.Time{}
	}
	return data, nil
}

// read returns the next bytes. At the end of an attempt it continues with the next one.
func (t *taskLog) read(r store.Reader) ([]byte, error) {
	l, err := t.reader.layout(r, t.run, t.key.Task)
	if err != nil {
		return nil, err
	}
	for i, p := range l.parts {
		if t.attempt == "" { // no attempt had started before
			t.attempt, t.lastAttempt = p.attempt, l.current()
		}
		if p.attempt != t.attempt {
			continue
		}
		if t.at < p.from {
			return nil, errLogDeleted
		}
		if t.at < p.to {
			return t.reader.readPiece(r, l, p.attempt, t.at)
		}
		if t.attempt == t.lastAttempt || i == len(l.parts)-1 {
			break
		}
		if complete, err := t.complete(r, l, i); err != nil || !complete {
			return nil, err
		}
		t.attempt, t.at = l.parts[i+1].attempt, 0
	}
	return nil, t.ended(r, l)
}

// complete reports whether an attempt that has a successor will write no more output. A
// follower waits for output that is still being sent, but not for output of a lost
// worker.
func (t *taskLog) complete(r store.Reader, l logLayout, i int) (bool, error) {
	a := l.attempts[i]
	if !t.follow || l.file != "" || a.Class == failure.Lost || t.reader.now().Sub(a.Ended) >= nextAttemptDelay {
		return true, nil
	}
	return t.reader.logs.Done(r, a.ID)
}

// readPiece returns a part of an attempt's log from an offset.
func (d *logReader) readPiece(r store.Reader, l logLayout, attempt string, at int64) ([]byte, error) {
	if l.file != "" {
		return readFile(l.file, at, maxRead)
	}
	return d.logs.Read(r, attempt, at, maxRead)
}

// ended returns io.EOF if no more output will follow.
func (t *taskLog) ended(r store.Reader, l logLayout) error {
	if t.lastAttempt == "" {
		task, err := r.Task(t.key)
		if err == nil && task.Status.Final() {
			err = io.EOF // the task ended without an attempt
		}
		return err
	}
	for _, a := range l.attempts {
		if a.ID == t.lastAttempt && !a.Status.Final() {
			return nil
		}
	}
	if l.file != "" {
		return io.EOF // a log in a file is complete before the end of the attempt is stored
	}
	if done, err := t.reader.logs.Done(r, t.lastAttempt); err != nil || done {
		return cmp.Or(err, io.EOF)
	}
	now := t.reader.now()
	if t.endedSince.IsZero() {
		t.endedSince = now
	}
	if now.Sub(t.endedSince) >= endDelay {
		return io.EOF
	}
	return nil
}
