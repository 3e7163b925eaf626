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

// Logs are the functions that read the logs of attempts from the store.
type Logs struct {
	// Span returns the range of an attempt's log that the store still has: from is the offset of
	// the first byte that was not deleted, and to is the length of the log, including deleted
	// bytes.
	Span func(r store.Reader, attempt string) (from, to int64, err error)
	// Read returns at most limit bytes of an attempt's log, from offset on.
	Read func(r store.Reader, attempt string, offset int64, limit int) ([]byte, error)
	// Done reports whether the worker has sent the whole log of an attempt.
	Done func(r store.Reader, attempt string) (bool, error)
}

// logPart says where the log of one attempt is within the log of its task.
type logPart struct {
	attempt  string
	base     int64 // offset of the attempt's log within the task's log
	from, to int64 // range of the bytes that were not deleted, as offsets within the attempt's log
}

// logLayout describes the log of a task: the output of its attempts, one after the other. If the
// whole log is in one file, the field parts has only one element. This element describes the whole
// file, and contains the id of the first attempt.
type logLayout struct {
	attempts []store.Attempt
	parts    []logPart
	file     string // path of the file with the whole log; empty if the log is in the store
}

// logReader reads the logs of tasks, from the store or from files on this machine.
type logReader struct {
	store store.Store
	runs  *visibleRuns
	now   func() time.Time
	logs  Logs
	// file returns the path of the log file of an attempt that ran on this machine. If the field
	// file is nil, every log is in the store.
	file func(run store.Run, a store.Attempt) (path string, ok bool)
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

// firstKept returns the lowest offset in the task's log from which on no byte was deleted.
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

// maxStarts is the maximum number of attempts whose start offsets are sent to a client.
const maxStarts = 100

// starts returns the offsets in the task's log at which its latest attempts start. If the log is in
// a file, starts takes these offsets from the attempts' rows in the store.
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

// find converts an offset in the task's log to an attempt and an offset in that attempt's log. The
// offset just after the last byte of an attempt's log belongs to that attempt, not to the next one,
// because the attempt may write more output.
func (l logLayout) find(offset int64) (attempt string, at int64) {
	for i, p := range l.parts {
		if offset <= p.base+p.to || i == len(l.parts)-1 {
			return p.attempt, offset - p.base
		}
	}
	return "", 0
}

// span returns the range of the task's log that a query selects. It returns a [server.RangeError]
// if the query's offset is beyond the end of the log.
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

// current returns the id of the running attempt. If no attempt is running, it returns the id of the
// last attempt, or "" if there was none. When a client follows the log, the log ends after the
// output of this attempt.
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

// taskLog is a client's position in the log of a task. The position is an attempt and an offset in
// that attempt's log. An offset in the task's log would not stay valid: an abandoned attempt may
// still write output, and this output shifts the logs of later attempts.
type taskLog struct {
	reader      *logReader
	run         store.Run // read from the store only once, so use only fields that never change
	key         store.TaskKey
	attempt     string // id of the attempt that is being read; empty before the first attempt
	at          int64  // offset of the next byte in that attempt's log
	left        int64  // number of bytes to return before io.EOF; unused if follow is set
	follow      bool
	lastAttempt string // id of the attempt whose end is the end of a followed log; empty if no attempt has started
	// endedSince is when a read first found that lastAttempt has ended. If more output arrives,
	// endedSince is reset to the zero time.
	endedSince time.Time
}

const (
	maxRead = 512 << 10
	// endDelay is how long a followed log stays open without new output after the task's last
	// attempt has ended. It matters only if the worker has not reported that the log is complete.
	// After such a report, the log ends at once.
	endDelay = 3 * time.Second
	// nextAttemptDelay is how long a followed log waits for late output of an ended attempt before
	// it continues with the next attempt. It is longer than endDelay, because the client never gets
	// output that arrives after that.
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

// read returns the next bytes. At the end of an attempt's log it continues with the next attempt.
// If there are no bytes now but more may follow, it returns neither bytes nor an error. At the end
// of the task's log it returns io.EOF.
func (t *taskLog) read(r store.Reader) ([]byte, error) {
	l, err := t.reader.layout(r, t.run, t.key.Task)
	if err != nil {
		return nil, err
	}
	for i, p := range l.parts {
		if t.attempt == "" { // no attempt had started at the last read
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

// complete reports whether reading can continue with the attempt after attempt i. Attempt i must
// not be the last one. If the client does not follow the log, the result is true. Otherwise it is
// false while the worker may still be sending output of attempt i, but at most for nextAttemptDelay
// after the end of the attempt.
func (t *taskLog) complete(r store.Reader, l logLayout, i int) (bool, error) {
	a := l.attempts[i]
	if !t.follow || l.file != "" || a.Class == failure.Lost || t.reader.now().Sub(a.Ended) >= nextAttemptDelay {
		return true, nil
	}
	return t.reader.logs.Done(r, a.ID)
}

// readPiece returns at most maxRead bytes of an attempt's log from offset on.
func (d *logReader) readPiece(r store.Reader, l logLayout, attempt string, offset int64) ([]byte, error) {
	if l.file != "" {
		return readFile(l.file, offset, maxRead)
	}
	return d.logs.Read(r, attempt, offset, maxRead)
}

// ended returns io.EOF if lastAttempt has ended and its log is complete, or if the task has ended
// without any attempt. It returns nil if more output may follow. A log in the store is complete
// when the worker has reported that, or when endDelay has passed without new output.
func (t *taskLog) ended(r store.Reader, l logLayout) error {
	if t.lastAttempt == "" {
		task, err := r.Task(t.key)
		if err == nil && task.Status.Final() {
			err = io.EOF // the task ended without any attempt
		}
		return err
	}
	for _, a := range l.attempts {
		if a.ID == t.lastAttempt && !a.Status.Final() {
			return nil
		}
	}
	if l.file != "" {
		return io.EOF // only output that workers send to the store can arrive late
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
