package statefile

import (
	"context"
	"slices"
	"sync"
	"time"

	"gaffer/statefile/jsontree"
)

// queue makes concurrent updates share a write. There is no goroutine of its
// own: the first caller leads, writes for everybody who came meanwhile, and
// hands the lead to one of those who came later.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	leader  *request
}

// request is one caller's update.
type request struct {
	change func(*jsontree.Doc) error
	since  time.Time
	err    error
	done   chan struct{} // closed when err is final
	lead   chan struct{} // closed when this caller is to lead
}

func (f *File) submit(ctx context.Context, change func(*jsontree.Doc) error) error {
	r := &request{change: change, since: f.host.Now(), done: make(chan struct{}), lead: make(chan struct{})}
	f.join(r)
	select {
	case <-r.done:
		return r.err
	case <-r.lead:
		return f.leadFor(ctx, r)
	case <-ctx.Done():
	}
	if f.leave(r) {
		return ctx.Err()
	}
	select { // too late to leave: the write has begun, or the lead is ours
	case <-r.done:
		return r.err
	case <-r.lead:
		return f.leadFor(ctx, r)
	}
}

// leadFor takes the lock, writes for all who wait, and passes the lead on. A
// leader that gets no lock answers for itself alone.
func (f *File) leadFor(ctx context.Context, r *request) error {
	defer f.passLead()
	held, err := f.lock(ctx, r.since)
	if err != nil {
		f.remove(r)
		return err
	}
	batch := f.take()
	f.commit(held.path, batch)
	held.release()
	for _, done := range batch {
		close(done.done)
	}
	return r.err
}

// join queues r and makes it the leader if there is none.
func (f *File) join(r *request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, r)
	if f.leader == nil {
		f.appoint(r)
	}
}

func (f *File) appoint(r *request) {
	f.leader = r
	close(r.lead)
}

// leave takes r out of the queue and reports whether it could: a leader stays,
// and so does one whose write has begun.
func (f *File) leave(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leader == r || !slices.Contains(f.waiting, r) {
		return false
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(w *request) bool { return w == r })
	return true
}

func (f *File) remove(r *request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = slices.DeleteFunc(f.waiting, func(w *request) bool { return w == r })
}

// take empties the queue.
func (f *File) take() []*request {
	f.mu.Lock()
	defer f.mu.Unlock()
	batch := f.waiting
	f.waiting = nil
	return batch
}

// passLead makes the longest waiting caller the leader, if there is one.
func (f *File) passLead() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leader = nil
	if len(f.waiting) > 0 {
		f.appoint(f.waiting[0])
	}
}
