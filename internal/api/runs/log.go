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

// Logs is where the logs of attempts are read.
type Logs struct {
	// Span is the offset of the first byte that is kept and that after the last.
	Span func(r store.Reader, attempt string) (from, to int64, err error)
	// Read returns at most limit bytes from an offset on.
	Read func(r store.Reader, attempt string, offset int64, limit int) ([]byte, error)
	// Done reports whether nothing will follow.
	Done func(r store.Reader, attempt string) (bool, error)
}

// part is the log of one attempt in that of its task.
type part struct {
	attempt  string
	base     int64 // where it begins in the whole
	from, to int64 // what is kept of it
}

// layout is the log of a task: what its attempts wrote, one after the other. Where
// all of it is in one file there is one part, which stands for its first attempt.
type layout struct {
	attempts []store.Attempt
	parts    []part
	file     string
}

func (d *Service) layout(r store.Reader, run store.Run, task string) (l layout, err error) {
	if l.attempts, err = r.Attempts(store.TaskKey{Run: run.ID, Task: task}); err != nil {
		return l, err
	}
	slices.SortFunc(l.attempts, func(a, b store.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	base := int64(0)
	for _, a := range l.attempts {
		p := part{attempt: a.ID, base: base}
		if p.from, p.to, err = d.opts.Logs.Span(r, a.ID); err != nil {
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
	whole := part{attempt: l.attempts[0].ID}
	whole.to, err = sizeOf(l.file)
	l.parts = []part{whole}
	return l, err
}

// kept is where that begins from which on nothing is missing.
func (l layout) kept() (at int64) {
	for _, p := range l.parts {
		if p.from > 0 {
			at = p.base + p.from
		}
	}
	return at
}

func (l layout) end() int64 {
	if len(l.parts) == 0 {
		return 0
	}
	last := l.parts[len(l.parts)-1]
	return last.base + last.to
}

// maxStarts is how many attempts an answer says the beginning of.
const maxStarts = 100

// starts says where the latest attempts begin. Those that share a file have said
// where they begin in it.
func (l layout) starts() (list []coordinator.LogStart) {
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

// find returns the attempt that an offset of the whole is in, and where in it. At
// the end of one it is in that: it may have more to say.
func (l layout) find(offset int64) (attempt string, at int64) {
	for i, p := range l.parts {
		if offset <= p.base+p.to || i == len(l.parts)-1 {
			return p.attempt, offset - p.base
		}
	}
	return "", 0
}

// span says which part of a log is meant.
func (l layout) span(q coordinator.LogQuery) (coordinator.LogSpan, error) {
	s := coordinator.LogSpan{Kept: l.kept(), To: l.end(), From: q.Offset, Starts: l.starts()}
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
func (d *Service) Log(ctx context.Context, run, task string, q coordinator.LogQuery) (log server.Log, s coordinator.LogSpan, err error) {
	t := &taskLog{desk: d, key: store.TaskKey{Run: run, Task: task}, follow: q.Follow}
	err = d.opts.Store.Read(ctx, func(r store.Reader) error {
		if t.run, err = d.find(r, run); err != nil {
			return err
		}
		if _, err := r.Task(t.key); err != nil {
			return protocol.Missing(err, "task", run+"/"+task)
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
		t.ends = l.current()
		return nil
	})
	return t, s, err
}

// current is the attempt whose end is the end of following: the one that runs, or
// else the last.
func (l layout) current() string {
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

// taskLog is a place in the log of a task. It remembers the attempt and not the
// offset in the whole: an attempt that was given up may write more later.
type taskLog struct {
	desk    *Service
	run     store.Run // of which only is used what never changes
	key     store.TaskKey
	attempt string // empty before the first
	at      int64
	left    int64 // bytes that are sent if it is not followed
	follow  bool
	ends    string    // the attempt with which it ends, empty if none has begun
	over    time.Time // since when that has ended and nothing came
}

const (
	gulp = 512 << 10
	// linger is how long the last words of an attempt may be under way that has
	// ended and whose worker has not said that it was all.
	linger = 3 * time.Second
	// lastWords is how long they are waited for when another attempt has begun: who
	// has gone on to that one does not come back to them.
	lastWords = 20 * time.Second
)

var errForgotten = errors.New("the log was forgotten while it was read")

// Next implements [server.Log].
func (t *taskLog) Next(ctx context.Context) (data []byte, err error) {
	if !t.follow && t.left == 0 {
		return nil, io.EOF
	}
	err = t.desk.opts.Store.Read(ctx, func(r store.Reader) error {
		data, err = t.read(r)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !t.follow && len(data) == 0:
		return nil, errForgotten
	case !t.follow:
		data = data[:min(int64(len(data)), t.left)]
		t.left -= int64(len(data))
	}
	if len(data) > 0 {
		t.at, t.over = t.at+int64(len(data)), time.Time{}
	}
	return data, nil
}

// read returns what comes next, and goes on to the next attempt where one has
// ended.
func (t *taskLog) read(r store.Reader) ([]byte, error) {
	l, err := t.desk.layout(r, t.run, t.key.Task)
	if err != nil {
		return nil, err
	}
	for i, p := range l.parts {
		if t.attempt == "" { // none had begun
			t.attempt, t.ends = p.attempt, l.current()
		}
		if p.attempt != t.attempt {
			continue
		}
		if t.at < p.from {
			return nil, errForgotten
		}
		if t.at < p.to {
			return t.desk.piece(r, l, p.attempt, t.at)
		}
		if t.attempt == t.ends || i == len(l.parts)-1 {
			break
		}
		if said, err := t.saidAll(r, l, i); err != nil || !said {
			return nil, err
		}
		t.attempt, t.at = l.parts[i+1].attempt, 0
	}
	return nil, t.ended(r, l)
}

// saidAll reports whether an attempt after which there is another will say nothing
// more. Whoever follows waits for its last words, which may be under way, and not for
// those of a worker that was given up.
func (t *taskLog) saidAll(r store.Reader, l layout, i int) (bool, error) {
	a := l.attempts[i]
	if !t.follow || l.file != "" || a.Class == string(failure.Lost) || t.desk.opts.Now().Sub(a.Ended) >= lastWords {
		return true, nil
	}
	return t.desk.opts.Logs.Done(r, a.ID)
}

// piece returns some of the log of an attempt from an offset on.
func (d *Service) piece(r store.Reader, l layout, attempt string, at int64) ([]byte, error) {
	if l.file != "" {
		return readFile(l.file, at, gulp)
	}
	return d.opts.Logs.Read(r, attempt, at, gulp)
}

// ended returns io.EOF if nothing more will come.
func (t *taskLog) ended(r store.Reader, l layout) error {
	if t.ends == "" {
		task, err := r.Task(t.key)
		if err == nil && task.Status.Final() {
			err = io.EOF // it never began
		}
		return err
	}
	for _, a := range l.attempts {
		if a.ID == t.ends && !a.Status.Final() {
			return nil
		}
	}
	if l.file != "" {
		return io.EOF // it was written before its end was
	}
	if done, err := t.desk.opts.Logs.Done(r, t.ends); err != nil || done {
		return cmp.Or(err, io.EOF)
	}
	now := t.desk.opts.Now()
	if t.over.IsZero() {
		t.over = now
	}
	if now.Sub(t.over) >= linger {
		return io.EOF
	}
	return nil
}
