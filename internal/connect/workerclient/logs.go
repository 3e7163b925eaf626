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

// logs sends what attempts say. What is to be sent is noted in a file for each
// attempt, so that it goes on after a crash; how far it has come is for the
// coordinator to say.
type logs struct {
	opts   Options
	client *coordinator.Client
	link   *link

	mu    sync.Mutex
	all   map[string]*sending
	empty chan struct{} // closed, and replaced, when something was sent as a whole
}

// sending is a log that is sent.
type sending struct {
	coordinator.WorkKey
	Log string `json:"log"`

	ended bool
	at    int64 // what the coordinator has; negative if that must be asked
}

// sendEvery is how often logs are looked at.
const sendEvery = 500 * time.Millisecond

const noteSuffix = ".json"

func newLogs(opts Options, client *coordinator.Client, l *link) (*logs, error) {
	if err := os.MkdirAll(opts.Logs, 0o700); err != nil {
		return nil, err
	}
	return &logs{opts: opts, client: client, link: l, all: map[string]*sending{}, empty: make(chan struct{})}, nil
}

func (l *logs) note(attempt string) string { return filepath.Join(l.opts.Logs, attempt+noteSuffix) }

// begin sends the log of an attempt from now on. Of one that another process has
// begun the coordinator may have a part.
func (l *logs) begin(key coordinator.WorkKey, log string, adopted bool) error {
	s := &sending{WorkKey: key, Log: log}
	if adopted {
		s.at = -1
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(l.note(key.Attempt), text, 0o600)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[key.Attempt] = s
	return nil
}

// end says that the log of an attempt will not grow any more.
func (l *logs) end(attempt string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.all[attempt]; s != nil {
		s.ended = true
	}
}

// recover goes on with what an earlier process has not sent, of attempts that are
// over.
func (l *logs) recover(held []engine.Assignment) error {
	entries, err := os.ReadDir(l.opts.Logs)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, entry := range entries {
		attempt, ok := strings.CutSuffix(entry.Name(), noteSuffix)
		if !ok || l.all[attempt] != nil || slices.ContainsFunc(held, func(a engine.Assignment) bool { return a.Attempt.ID == attempt }) {
			continue
		}
		if s := l.read(attempt); s != nil {
			l.all[attempt] = s
		}
	}
	return nil
}

// read returns what is noted of a log. A note that was not written as a whole is
// of no use.
func (l *logs) read(attempt string) *sending {
	s := &sending{ended: true, at: -1}
	data, err := statefile.ReadBytes(host.OS(), l.note(attempt))
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil || s.Attempt != attempt {
		_ = os.Remove(l.note(attempt)) // or it stays, and is looked at again
		return nil
	}
	return s
}

// run sends until ctx ends.
func (l *logs) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		wait := sendEvery
		if err := l.round(ctx); err != nil && ctx.Err() == nil {
			failures++
			l.link.ill(err)
			wait = max(wait, l.link.backoff(failures, err))
		} else {
			failures = 0
		}
		pause.For(ctx, wait)
	}
}

// round sends what is new: of those that run first, a piece of each at a time.
func (l *logs) round(ctx context.Context) error {
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

// list returns what is to be sent; what has ended is last.
func (l *logs) list() (list []sending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
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

// send sends the next piece of a log, and reports whether there may be more.
func (l *logs) send(ctx context.Context, s sending) (more bool, err error) {
	p := coordinator.LogPiece{WorkKey: s.WorkKey, Offset: max(s.at, 0)}
	if s.at >= 0 {
		if p.Data, err = piece(s.Log, s.at); err != nil {
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
		l.link.well()
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
	l.reached(s.Attempt, next)
	return next != s.at, nil
}

func (l *logs) reached(attempt string, next int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.all[attempt]; s != nil {
		s.at = next
	}
}

// forget is for a log that was sent, or cannot be.
func (l *logs) forget(attempt string, why error) {
	if why != nil {
		l.opts.Tell(Event{Kind: "notice", Attempt: attempt, Text: fmt.Sprintf("the log of attempt %s is not sent: %v", attempt, why)})
	}
	_ = os.Remove(l.note(attempt)) // at worst the coordinator is asked again
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, attempt)
	close(l.empty)
	l.empty = make(chan struct{})
}

// piece reads what a file has from an offset on. One that is not there is empty.
func piece(path string, at int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // an agent may have put anything there
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() <= at {
		return nil, err
	}
	buf := make([]byte, coordinator.MaxLogPiece)
	n, err := f.ReadAt(buf, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// flush waits until what has ended is sent, or ctx ends. Somebody must run.
func (l *logs) flush(ctx context.Context) {
	for {
		l.mu.Lock()
		left, sent := 0, l.empty
		for _, s := range l.all {
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
