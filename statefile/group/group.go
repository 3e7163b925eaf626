// Package group makes callers that wait at the same time share one piece of
// work, such as one write and one sync for all of them.
package group

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
)

// Group is a queue of requests. The first caller leads: it works for itself and
// for everybody who came meanwhile. For those who come during that, and so on for
// as long as there are any, a goroutine does: were it one of them, it could begin
// only when it gets to run, behind all that were just told. The zero value is
// ready.
type Group[R any] struct {
	mu      sync.Mutex
	waiting []*entry[R]
	leader  *entry[R] // the one that the work is for, with all others that waited; nil if nobody works
}

type entry[R any] struct {
	ctx     context.Context
	request R
	by      Leader[R]

	// Set before done is closed.
	err      error
	panicked *panicked
	done     chan struct{}
}

// ErrPanic is what the others get when the work that they share panics, or ends its
// goroutine.
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
// whose ctx ends leaves, unless the work on its request has begun. If the work of
// which it is the leader panics, it does.
func (g *Group[R]) Do(ctx context.Context, request R, by Leader[R]) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := &entry[R]{ctx: ctx, request: request, by: by, done: make(chan struct{})}
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
		<-e.done // too late to leave: the work has begun
	}
	if e.panicked != nil {
		panic(e.panicked)
	}
	return e.err
}

// work does what is asked for until nobody waits. The last thing it does is to
// tell the last who did.
func (g *Group[R]) work(leader *entry[R]) {
	for leader != nil {
		leader = g.lead(leader)
	}
}

// lead works for everybody who waits, with e as the leader, tells them, and returns
// who leads next. All of that happens too if the work panics, or ends the goroutine,
// as a test does that fails in it.
func (g *Group[R]) lead(e *entry[R]) (next *entry[R]) {
	var batch []*entry[R]
	exits := true
	defer func() {
		if r := recover(); r != nil { // it is the caller's, not the group's
			e.panicked, exits = &panicked{r, debug.Stack()}, false
		}
		if batch == nil { // nothing was begun
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
	defer release() // also if the work panics
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

// panicked is what the caller that leads panics with.
type panicked struct {
	value any
	stack []byte // where it was
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// join queues e and reports whether it is the leader: nobody else works.
func (g *Group[R]) join(e *entry[R]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, e)
	if g.leader == nil {
		g.leader = e
	}
	return g.leader == e
}

// next makes the one who has waited longest the leader, if there is one.
func (g *Group[R]) next() *entry[R] {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leader = nil
	if len(g.waiting) > 0 {
		g.leader = g.waiting[0]
	}
	return g.leader
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

// Waiting returns how many requests nobody works on yet.
func (g *Group[R]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}
