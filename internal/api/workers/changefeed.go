package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
)

// changeFeed reads changes from the store once for all waiting workers. It keeps the latest changes
// that concern at least one worker.
type changeFeed struct {
	store store.Store

	mu          sync.Mutex
	changes     []change
	droppedUpTo int64         // changes up to this sequence number are no longer kept
	last        int64         // sequence number after which the next read from the store starts
	changed     chan struct{} // closed and replaced when the feed has read new events
	waiting     int           // number of workers that are waiting for changes
	unusedSince time.Time     // when a worker last stopped waiting
	awake       bool
	wake        chan struct{} // receives a value when a worker starts to wait while awake is false
}

// change says which workers a change in the store concerns.
type change struct {
	seq int64
	// worker is the id of the worker that has new orders or answers. It is empty if the change
	// means that a task may be ready to claim.
	worker string
	labels string // labels that a worker needs to claim the ready task, comma-separated
	all    bool   // the change concerns all workers, whatever their labels
}

// listener is a worker that waits for changes.
type listener struct {
	worker string
	labels []string
}

func (l listener) concernedBy(s change) (wake, attend bool) {
	if s.worker != "" {
		return false, s.worker == l.worker
	}
	return s.all || engine.Satisfies(l.labels, s.labels), false
}

const (
	eventPage  = 500                   // maximum number of events in one read
	maxChanges = 4096                  // maximum number of changes that are kept
	pace       = 10 * time.Millisecond // pause between reads
	retry      = time.Second           // pause after a failed read
	idleLimit  = time.Minute           // the feed stops reading after this time without any waiting worker
)

func newChangeFeed(s store.Store) *changeFeed {
	return &changeFeed{store: s, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// run reads changes until ctx ends. After idleLimit without any waiting worker, it stops reading
// until a worker waits again. If the store returns an error, run passes it to the function notice
// and tries again.
func (b *changeFeed) run(ctx context.Context, notice func(string)) {
	for ctx.Err() == nil {
		if b.sleepIfUnused() {
			select {
			case <-b.wake:
			case <-ctx.Done():
			}
			continue
		}
		wait := pace
		if err := b.read(ctx); err != nil && ctx.Err() == nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				notice(fmt.Sprintf("changes for workers: %v; trying again", err))
				wait = retry
			}
		}
		pause.For(ctx, wait)
	}
}

func (b *changeFeed) sleepIfUnused() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting == 0 && time.Since(b.unusedSince) > idleLimit {
		b.awake, b.changes = false, nil
	}
	return !b.awake
}

// read waits for new events in the store and reads at most eventPage of them. It publishes those
// that concern workers. If there is no event within idleLimit, it returns context.DeadlineExceeded.
func (b *changeFeed) read(ctx context.Context) error {
	b.mu.Lock()
	after := b.last
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, idleLimit)
	defer cancel()
	if err := b.store.Wait(ctx, after); err != nil {
		return err
	}
	var found []change
	last := after
	err := b.store.Read(ctx, func(r store.Reader) error {
		found, last = nil, after
		events, err := r.Events(after, eventPage)
		if err != nil {
			return err
		}
		for _, e := range events {
			s, ok, err := changeOf(r, e)
			if err != nil {
				return fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind, err)
			}
			if ok {
				found = append(found, s)
			}
			last = e.Seq
		}
		return nil
	})
	if err == nil {
		b.publish(found, last)
	}
	return err
}

// changeOf returns which workers an event concerns. ok is false if the event concerns no worker.
func changeOf(r store.Reader, e store.Event) (s change, ok bool, err error) {
	s.seq = e.Seq
	switch e.Kind {
	case "lane.open":
		s.all = true
	case "task.ready":
		var row struct {
			Labels string `json:"labels"`
		}
		err = json.Unmarshal(e.Row, &row)
		s.labels = row.Labels
	case "message.sent":
		if e.Attempt == "" { // the task has no running agent that could get the message
			return s, false, nil
		}
		fallthrough
	case "attempt.stopping", "attempt.waiting", "question.answered", "question.closed":
		var a store.Attempt
		if a, err = r.Attempt(e.Attempt); errors.Is(err, store.ErrNotFound) {
			return s, false, nil
		}
		s.worker = a.Worker
	default:
		return s, false, nil
	}
	return s, true, err
}

func (b *changeFeed) publish(found []change, last int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if last <= b.last {
		return
	}
	b.changes = append(b.changes, found...)
	if n := len(b.changes) - maxChanges; n > 0 {
		b.droppedUpTo = b.changes[n-1].seq
		b.changes = slices.Delete(b.changes, 0, n)
	}
	b.last = last
	close(b.changed)
	b.changed = make(chan struct{})
}

// join registers a waiting worker. If the feed was not reading, it starts to read the changes after
// the store's last change. If join returns nil, the caller must call leave when the worker stops
// waiting.
func (b *changeFeed) join(ctx context.Context) error {
	b.mu.Lock()
	b.waiting++
	awake := b.awake
	b.mu.Unlock()
	if awake {
		return nil
	}
	var last int64
	err := b.store.Read(ctx, func(r store.Reader) (err error) {
		last, err = r.LastSeq()
		return err
	})
	if err != nil {
		b.leave()
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.awake {
		b.awake, b.droppedUpTo, b.last = true, last, last
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
	return nil
}

func (b *changeFeed) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
	b.unusedSince = time.Now()
}

// wait waits until a change with a sequence number above cursor concerns the worker. It returns
// what the worker must check. If ctx ends first, only the field Seq of news is set. If the feed
// does not have all changes after cursor, wait returns at once, and the worker must check
// everything: tasks, orders and answers. This happens, for example, if cursor is from another
// database.
func (b *changeFeed) wait(ctx context.Context, l listener, cursor int64) (news coordinator.WorkNews, err error) {
	if err := b.join(ctx); err != nil {
		return news, err
	}
	defer b.leave()
	for {
		news, more := b.after(l, cursor)
		if news.Wake || news.Attend {
			return news, nil
		}
		cursor = news.Seq
		select {
		case <-more:
		case <-ctx.Done():
			return news, nil
		}
	}
}

func (b *changeFeed) after(l listener, seq int64) (news coordinator.WorkNews, more <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	news.Seq = b.last
	if seq < b.droppedUpTo || seq > b.last {
		news.Wake, news.Attend = true, true
		return news, b.changed
	}
	first, _ := slices.BinarySearchFunc(b.changes, seq+1, func(s change, n int64) int { return int(s.seq - n) })
	for _, s := range b.changes[first:] {
		wake, attend := l.concernedBy(s)
		news.Wake, news.Attend = news.Wake || wake, news.Attend || attend
	}
	return news, b.changed
}
