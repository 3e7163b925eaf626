package workerclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/pause"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

// logs sends the output of attempts (their logs) to the coordinator. For each log that is not
// completely sent, there is a record file on disk, so that the next process can continue after a
// crash. The record file does not say how much was sent, because the coordinator knows how many
// bytes it has received.
type logs struct {
	opts       Options
	client     *coordinator.WorkClient
	connection *connection

	mu      sync.Mutex
	sending map[string]*sending // logs that are not completely sent, by attempt id
	empty   chan struct{}       // closed and replaced whenever a log is removed from the map sending
}

// sending is the log of one attempt while it is being sent.
type sending struct {
	coordinator.WorkKey
	Log string `json:"log"` // path of the file with the attempt's output

	ended bool  // the attempt writes no more output
	sent  int64 // number of bytes that the coordinator has received; negative if unknown
}

// sendLogsEvery is how often the logs are checked for new output.
const sendLogsEvery = 500 * time.Millisecond

const recordSuffix = ".json"

func newLogs(opts Options, client *coordinator.WorkClient, l *connection) (*logs, error) {
	if err := os.MkdirAll(opts.Logs, 0o700); err != nil {
		return nil, err
	}
	return &logs{opts: opts, client: client, connection: l, sending: map[string]*sending{}, empty: make(chan struct{})}, nil
}

func (l *logs) recordFile(attempt string) string {
	return filepath.Join(l.opts.Logs, attempt+recordSuffix)
}

// begin writes the record file of an attempt's log, so that a later process can send the log after
// a crash. It also adds the log to those that the method run sends. adopted means that an earlier
// process started the attempt, so the coordinator may already have a part of the log.
func (l *logs) begin(key coordinator.WorkKey, log string, adopted bool) error {
	s := &sending{WorkKey: key, Log: log}
	if adopted {
		s.sent = -1
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(l.recordFile(key.Attempt), text, 0o600)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sending[key.Attempt] = s
	return nil
}

// end notes that an attempt writes no more output.
func (l *logs) end(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sending[attempt]; s != nil {
		s.ended = true
	}
}

// recover finds the logs that an earlier process did not send completely, and adds them to the logs
// to send. It skips the logs of the attempts in the parameter held: these attempts have not ended,
// and the method begin adds their logs.
func (l *logs) recover(held []engine.Assignment) error {
	entries, err := os.ReadDir(l.opts.Logs)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range entries {
		attempt, ok := strings.CutSuffix(entry.Name(), recordSuffix)
		if !ok || l.sending[attempt] != nil || slices.ContainsFunc(held, func(a engine.Assignment) bool { return a.Attempt.ID == attempt }) {
			continue
		}
		if s := l.read(attempt); s != nil {
			l.sending[attempt] = s
		}
	}
	return nil
}

// read reads the record file of a log that an earlier process did not send completely. The record
// file says which log must still be sent. If it is damaged, read deletes it and returns nil.
func (l *logs) read(attempt string) *sending {
	s := &sending{ended: true, sent: -1}
	data, err := statefile.ReadBytes(host.OS(), l.recordFile(attempt))
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil || s.Attempt != attempt {
		_ = os.Remove(l.recordFile(attempt)) // if this fails, the next process tries again
		return nil
	}
	return s
}

// run sends logs until ctx ends.
func (l *logs) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		wait := sendLogsEvery
		if err := l.sendRound(ctx); err != nil && ctx.Err() == nil {
			failures++
			l.connection.unanswered(err)
			wait = max(wait, l.connection.backoff(failures, err))
		} else {
			failures = 0
		}
		pause.For(ctx, wait)
	}
}

// sendRound sends one piece of each log, and repeats this until no log has new output. Logs of
// running attempts come before logs of ended attempts.
func (l *logs) sendRound(ctx context.Context) error {
	for again := true; again; {
		again = false
		for _, s := range l.list() {
			more, err := l.send(ctx, s)
			if err != nil {
				return err
			}
			again = again || more
		}
	}
	return nil
}

// list returns the logs to send. Logs of ended attempts come last.
func (l *logs) list() (list []sending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sending {
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b sending) int {
		if a.ended != b.ended {
			if a.ended {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Attempt, b.Attempt)
	})
	return list
}

// send sends the next piece of a log. If s.sent is negative, send does not know how much the
// coordinator has received, and sends an empty piece to find out. more is true if there may be more
// to send now. If the log can never be sent, send calls the method forget and returns no error.
func (l *logs) send(ctx context.Context, s sending) (more bool, err error) {
	p := coordinator.LogPiece{WorkKey: s.WorkKey, Offset: max(s.sent, 0)}
	if s.sent >= 0 {
		if p.Data, err = readPiece(s.Log, s.sent); err != nil {
			l.forget(s.Attempt, err)
			return false, nil
		}
		p.Done = s.ended && len(p.Data) < coordinator.MaxLogPiece
		if len(p.Data) == 0 && !p.Done {
			return false, nil
		}
	}
	next, err := l.client.SendLog(ctx, p)
	refused := (*coordinator.Error)(nil)
	switch {
	case err == nil:
		l.connection.answered()
	case errors.As(err, &refused) && refused.Code == coordinator.LogGap:
		next, p.Done = refused.Offset, false
	case errors.As(err, &refused) && !refused.Temporary():
		l.forget(s.Attempt, err)
		return false, nil
	default:
		return false, err
	}
	if p.Done {
		l.forget(s.Attempt, nil)
		return false, nil
	}
	l.setSent(s.Attempt, next)
	return next != s.sent, nil
}

func (l *logs) setSent(attempt string, next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sending[attempt]; s != nil {
		s.sent = next
	}
}

// forget stops sending a log and deletes its record file. reason is why the log cannot be sent, or
// nil if it was sent completely.
func (l *logs) forget(attempt string, reason error) {
	if reason != nil {
		l.opts.Report(Event{Kind: "notice", Attempt: attempt, Text: fmt.Sprintf("the log of attempt %s is not sent: %v", attempt, reason)})
	}
	// Ignore the error: if the file stays, the next process tries to send the log again, and then
	// deletes the file.
	_ = os.Remove(l.recordFile(attempt))
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.sending, attempt)
	close(l.empty)
	l.empty = make(chan struct{})
}

// readPiece returns the bytes of a file from offset on, at most [coordinator.MaxLogPiece] of them.
// It returns no bytes if the file does not exist or is not a regular file.
func readPiece(path string, offset int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block if an agent has replaced the file by a FIFO
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() <= offset {
		return nil, err
	}
	buf := make([]byte, coordinator.MaxLogPiece)
	n, err := f.ReadAt(buf, offset)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// flush waits until the logs of all ended attempts are sent, or ctx ends. It sends nothing itself.
// The caller must have started [logs.run], which sends the logs, in another goroutine.
func (l *logs) flush(ctx context.Context) {
	for {
		l.mu.Lock()
		left, sent := 0, l.empty
		for _, s := range l.sending {
			if s.ended {
				left++
			}
		}
		l.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-sent:
		case <-ctx.Done():
			return
		}
	}
}
