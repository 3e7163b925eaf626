package ledger

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// batch is how many items a worker takes at a time: enough that handing them
// over costs nothing beside reading a file.
const batch = 16

// job is a batch of items and where the answers go, which has room for them.
type job[T, R any] struct {
	items   []T
	answers chan []R
}

func (j job[T, R]) do(work func(T) R) {
	answers := make([]R, len(j.items))
	for i, item := range j.items {
		answers[i] = work(item)
	}
	j.answers <- answers
}

// inOrder does work on every item, on all processors, and hands the answers to
// emit in the order of the items. Only a few batches are ever under way. It
// stops at the first error of emit and when ctx ends.
func inOrder[T, R any](ctx context.Context, items iter.Seq[T], work func(T) R, emit func(R) error) error {
	ctx, stop := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs, order := make(chan job[T, R]), make(chan job[T, R], 2*workers)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() {
		defer close(jobs)
		defer close(order)
		for items := range chunks(items, batch) {
			j := job[T, R]{items, make(chan []R, 1)}
			if !send(ctx, jobs, j) || !send(ctx, order, j) {
				return
			}
		}
	})
	for range workers {
		running.Go(func() {
			for j := range jobs {
				j.do(work)
			}
		})
	}
	for j := range order {
		for _, answer := range <-j.answers {
			if err := emit(answer); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// chunks yields the items, so many at a time.
func chunks[T any](items iter.Seq[T], size int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var chunk []T
		for item := range items {
			if chunk = append(chunk, item); len(chunk) < size {
				continue
			}
			if !yield(chunk) {
				return
			}
			chunk = nil
		}
		if len(chunk) > 0 {
			yield(chunk)
		}
	}
}

// send reports whether the item was taken before ctx ended.
func send[T any](ctx context.Context, to chan<- T, item T) bool {
	select {
	case to <- item:
		return true
	case <-ctx.Done():
		return false
	}
}
