// Package group batches the requests of concurrent callers. For example, all callers that wait at
// the same time share one write and one sync.
package group

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// Group is a queue of requests. The first caller becomes the leader. It does the work for itself
// and for all requests that were queued during its [Leader.Prepare]. A new goroutine works on the
// requests that arrive during the work, until the queue is empty. One of the waiting callers could
// do that too, but it would start only after the scheduler has run all callers that were just
// woken. The zero value is ready to use.
type Group[R any] struct {
	mu      sync.Mutex
	waiting []*entry[R]
	leader  *entry[R] // the request that leads the current batch; nil if no work is in progress
}

type entry[R any] struct {
	ctx     context.Context
	request R
	by      Leader[R]

	// done is closed after err and panicked are set. They may be read once done is closed.
	err      error
	panicked *panicked
	done     chan struct{}
}

// ErrPanic is the error that [Group.Do] returns for each request of a batch if the work on the batch
// panics or ends its goroutine. If it panics, Do does not return ErrPanic for the request that leads
// the batch, but panics too.
var ErrPanic = errors.New("the shared work panicked")

// Leader does the work of a batch.
type Leader[R any] interface {
	// Prepare acquires what the work needs, such as a lock, for the leading request. The
	// Group calls release after the work. If Prepare fails, only the leading request
	// fails, and the next request becomes the leader.
	Prepare(ctx context.Context, first R) (release func(), err error)
	// Work executes all requests and returns one error for each.
	Work(all []R) []error
}

// Do queues a request, waits until it is done, and returns its error. If ctx ends
// before the work on the request has started, Do removes the request and returns. If
// the work panics in a batch that this request leads, Do panics too.
func (g *Group[R]) Do(ctx context.Context, request R, leader Leader[R]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &entry[R]{ctx: ctx, request: request, by: leader, done: make(chan struct{})}
	if g.join(e) {
		if next := g.lead(e); next != nil {
			go g.work(next)
		}
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		if g.leave(e) {
			return ctx.Err()
		}
		<-e.done // the work on the request has started, so the request can no longer be removed
	}
	if e.panicked != nil {
		panic(e.panicked)
	}
	return e.err
}

// work processes batches until the queue is empty. leader leads the first of these batches.
func (g *Group[R]) work(leader *entry[R]) {
	for leader != nil {
		leader = g.lead(leader)
	}
}

// lead works on all queued requests, with e as the leader. Then it wakes their callers and returns
// the leader of the next batch, or nil if the queue is empty. It wakes the callers even if the work
// panics or ends the goroutine, as t.FailNow does in a test.
func (g *Group[R]) lead(e *entry[R]) (next *entry[R]) {
	var batch []*entry[R]
	exits := true
	defer func() {
		if r := recover(); r != nil { // Do panics again with r in the goroutine of the leader's caller
			e.panicked, exits = &panicked{r, debug.Stack()}, false
		}
		if batch == nil { // Prepare failed, so no work was started
			g.remove(e)
			batch = []*entry[R]{e}
		}
		next = g.next()
		for _, b := range batch {
			close(b.done)
		}
		if exits && next != nil {
			go g.work(next)
		}
	}()
	e.err = ErrPanic
	release, err := e.by.Prepare(e.ctx, e.request)
	if err != nil {
		e.err, exits = err, false
		return nil
	}
	defer release() // runs even if the work panics
	batch = g.take()
	requests := make([]R, len(batch))
	for i, b := range batch {
		requests[i], b.err = b.request, ErrPanic
	}
	for i, err := range e.by.Work(requests) {
		batch[i].err = err
	}
	exits = false
	return nil
}

// panicked holds a panic of the work. The leader's caller panics with it again.
type panicked struct {
	value any
	stack []byte // stack trace of the original panic
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// join queues e. It reports whether e becomes the leader because no work is in
// progress.
func (g *Group[R]) join(e *entry[R]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, e)
	if g.leader == nil {
		g.leader = e
	}
	return g.leader == e
}

// next makes the request that has waited longest the leader and returns it. It returns nil if the
// queue is empty.
func (g *Group[R]) next() *entry[R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = nil
	if len(g.waiting) > 0 {
		g.leader = g.waiting[0]
	}
	return g.leader
}

// leave removes e from the queue and reports whether it did. It cannot remove a leader or a request
// whose work has started.
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

// take returns all queued requests and empties the queue.
func (g *Group[R]) take() []*entry[R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	batch := g.waiting
	g.waiting = nil
	return batch
}

// Waiting returns the number of queued requests whose work has not started.
func (g *Group[R]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}
