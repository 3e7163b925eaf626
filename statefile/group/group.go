// Package group makes callers that wait at the same time share one piece of
// work, such as one write and one sync for all of them.
package group

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// Group is a queue of requests. There is no goroutine of its own: the first
// caller leads, works for everybody who came meanwhile, and hands the lead to
// one of those who came later. The zero value is ready.
type Group[R any] struct {
	mu      sync.Mutex
	waiting []*entry[R]
	leader  *entry[R]
}

type entry[R any] struct {
	request R
	err     error
	done    chan struct{} // closed when err is final
	lead    chan struct{} // closed when this caller is to lead
}

// ErrPanic is what the others get when the work that they share panics.
var ErrPanic = errors.New("the work that was shared with others panicked")

// Leader does the work.
type Leader[R any] interface {
	// Prepare gets what the work needs, such as a lock, for the request that
	// leads. If it fails, that request alone fails, and another leads.
	Prepare(ctx context.Context, first R) (release func(), err error)
	// Work does what all requests ask for and returns an error for each.
	Work(all []R) []error
}

// Do queues a request and returns when it is done, with its own error. A caller
// whose ctx ends leaves, unless the work on its request has begun.
func (g *Group[R]) Do(ctx context.Context, request R, by Leader[R]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &entry[R]{request: request, done: make(chan struct{}), lead: make(chan struct{})}
	g.join(e)
	select {
	case <-e.done:
		return e.err
	case <-e.lead:
		return g.leadFor(ctx, e, by)
	case <-ctx.Done():
	}
	if g.leave(e) {
		return ctx.Err()
	}
	select { // too late to leave: the work has begun, or the lead is ours
	case <-e.done:
		return e.err
	case <-e.lead:
		return g.leadFor(ctx, e, by)
	}
}

func (g *Group[R]) leadFor(ctx context.Context, e *entry[R], by Leader[R]) error {
	defer g.passLead()
	release, err := by.Prepare(ctx, e.request)
	if err != nil {
		g.remove(e)
		return err
	}
	batch := g.take()
	defer func() { // also if the work panics: the others must not wait for ever
		release()
		for _, b := range batch {
			close(b.done)
		}
	}()
	requests := make([]R, len(batch))
	for i, b := range batch {
		requests[i], b.err = b.request, ErrPanic
	}
	for i, err := range by.Work(requests) {
		batch[i].err = err
	}
	return e.err
}

// join queues e and makes it the leader if there is none.
func (g *Group[R]) join(e *entry[R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, e)
	if g.leader == nil {
		g.appoint(e)
	}
}

func (g *Group[R]) appoint(e *entry[R]) {
	g.leader = e
	close(e.lead)
}

// leave takes e out of the queue and reports whether it could: a leader stays,
// and so does one whose work has begun.
func (g *Group[R]) leave(e *entry[R]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leader == e || !slices.Contains(g.waiting, e) {
		return false
	}
	g.drop(e)
	return true
}

func (g *Group[R]) remove(e *entry[R]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop(e)
}

func (g *Group[R]) drop(e *entry[R]) {
	g.waiting = slices.DeleteFunc(g.waiting, func(w *entry[R]) bool { return w == e })
}

// take empties the queue.
func (g *Group[R]) take() []*entry[R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	batch := g.waiting
	g.waiting = nil
	return batch
}

// passLead makes the longest waiting caller the leader, if there is one.
func (g *Group[R]) passLead() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = nil
	if len(g.waiting) > 0 {
		g.appoint(g.waiting[0])
	}
}

// Waiting returns how many requests nobody works on yet.
func (g *Group[R]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}
