// Package batch batches the requests of concurrent callers. For example, all callers that wait at
// the same time share one write and one sync.
package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// Queue holds requests and runs them in batches. If no work is in progress, the caller of a new
// request does the work: for its own request, which leads the batch, and for all requests that are
// queued until its [Leader.Prepare] returns. Requests that arrive later form the next batches. A
// new goroutine works on these batches, until the queue is empty. A waiting caller could do that,
// too, but it would start late: the scheduler would first run all callers that were just woken.
//
// The zero value is ready to use.
type Queue[R any] struct {
	mu      sync.Mutex
	waiting []*entry[R]
	leader  *entry[R] // the request that leads the current batch; nil if no work is in progress
}

type entry[R any] struct {
	ctx     context.Context
	request R
	by      Leader[R]

	// err and panicked may be read only after done is closed.
	err      error
	panicked *panicked
	done     chan struct{}
}

// ErrPanic is the error that [Queue.Do] returns if the work on a batch ends its goroutine with
// runtime.Goexit. If the work panics, Do panics for the request that leads the batch, and returns
// ErrPanic for the other requests of the batch.
var ErrPanic = errors.New("the shared work panicked")

// Leader does the work of a batch.
type Leader[R any] interface {
	// Prepare acquires what the work needs, such as a lock. The parameter first is the request that
	// leads the batch. The Queue calls release after the work. If Prepare fails, only this request
	// fails, and the next queued request leads the batch.
	Prepare(ctx context.Context, first R) (release func(), err error)
	// Work executes all requests and returns one error for each, in the same order. The error is
	// nil for a request that succeeded.
	Work(all []R) []error
}

// Do queues a request, waits until it is done, and returns its error. If ctx ends before the work
// on the request has started, Do removes the request and returns the error of ctx. A request that
// leads a batch cannot be removed. Instead, [Leader.Prepare] gets its ctx and can return early. For
// work that panics, see [ErrPanic].
func (q *Queue[R]) Do(ctx context.Context, request R, leader Leader[R]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &entry[R]{ctx: ctx, request: request, by: leader, done: make(chan struct{})}
	if q.join(e) {
		if next := q.lead(e); next != nil {
			go q.work(next)
		}
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		if q.leave(e) {
			return ctx.Err()
		}
		// The request can no longer be removed: the work on it has started, or it leads a batch.
		<-e.done
	}
	if e.panicked != nil {
		panic(e.panicked)
	}
	return e.err
}

// work processes batches until the queue is empty. The parameter leader is the request that leads
// the first of these batches.
func (q *Queue[R]) work(leader *entry[R]) {
	for leader != nil {
		leader = q.lead(leader)
	}
}

// lead works on all queued requests as one batch, which the request e leads. Then it wakes the
// callers that wait for these requests. It returns the request that leads the next batch, or nil if
// the queue is empty. lead wakes the callers even if the work panics or ends the goroutine, as
// t.FailNow does in a test.
func (q *Queue[R]) lead(e *entry[R]) (next *entry[R]) {
	var batch []*entry[R]
	exits := true
	defer func() {
		if r := recover(); r != nil { // for the request e, Do panics again with r in its caller's goroutine
			e.panicked, exits = &panicked{r, debug.Stack()}, false
		}
		if batch == nil { // Prepare failed or panicked, so no work was started
			q.remove(e)
			batch = []*entry[R]{e}
		}
		next = q.next()
		for _, b := range batch {
			close(b.done)
		}
		if exits && next != nil {
			go q.work(next)
		}
	}()
	e.err = ErrPanic
	release, err := e.by.Prepare(e.ctx, e.request)
	if err != nil {
		e.err, exits = err, false
		return nil
	}
	defer release() // runs even if the work panics
	batch = q.take()
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

// panicked holds the value of a panic of the work on a batch. [Queue.Do] panics with it for the
// request that leads the batch.
type panicked struct {
	value any
	stack []byte // stack trace of the original panic
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// join appends the request e to the queue. It reports whether e leads the next batch, which is so
// if no work is in progress.
func (q *Queue[R]) join(e *entry[R]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, e)
	if q.leader == nil {
		q.leader = e
	}
	return q.leader == e
}

// next chooses the request that leads the next batch, and returns it. This is the request that has
// waited longest. It stays in the queue. If the queue is empty, next returns nil, and no request
// leads a batch.
func (q *Queue[R]) next() *entry[R] {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leader = nil
	if len(q.waiting) > 0 {
		q.leader = q.waiting[0]
	}
	return q.leader
}

// leave removes e from the queue and reports whether it did. It cannot remove a request that leads
// a batch, or whose work has started.
func (q *Queue[R]) leave(e *entry[R]) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.leader == e || !slices.Contains(q.waiting, e) {
		return false
	}
	q.drop(e)
	return true
}

func (q *Queue[R]) remove(e *entry[R]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.drop(e)
}

func (q *Queue[R]) drop(e *entry[R]) {
	q.waiting = slices.DeleteFunc(q.waiting, func(w *entry[R]) bool { return w == e })
}

// take returns all queued requests and empties the queue.
func (q *Queue[R]) take() []*entry[R] {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.waiting
	q.waiting = nil
	return batch
}

// Waiting returns the number of queued requests whose work has not started.
func (q *Queue[R]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
