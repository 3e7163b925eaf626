package ledger

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// batch is the number of items that a worker goroutine takes at once. Larger batches need fewer
// channel operations.
const batch = 16

// job is a batch of items and the channel for its results. The channel is buffered, so
// a worker never blocks on it.
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

// inOrder calls work for every item, in parallel on all processors, and passes the results to emit
// in the order of the items. Only a few batches per processor are in memory at once. It never calls
// emit concurrently. It stops at the first error of items or emit, or when ctx ends, and returns
// this error.
func inOrder[T, R any](ctx context.Context, items iter.Seq2[T, error], work func(T) R, emit func(R) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs, order := make(chan job[T, R]), make(chan job[T, R], 2*workers)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	running.Go(func() {
		defer close(jobs)
		defer close(order)
		for items, err := range chunks(items, batch) {
			if err != nil {
				stop(err)
				return
			}
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
	return context.Cause(ctx)
}

// chunks yields the items in slices of the given size; the last slice may be shorter. After an error,
// it drops the items of the unfinished slice, yields the error and stops.
func chunks[T any](items iter.Seq2[T, error], size int) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var chunk []T
		for item, err := range items {
			if err != nil {
				yield(nil, err)
				return
			}
			if chunk = append(chunk, item); len(chunk) < size {
				continue
			}
			if !yield(chunk, nil) {
				return
			}
			chunk = nil
		}
		if len(chunk) > 0 {
			yield(chunk, nil)
		}
	}
}

// send sends the item to a channel. It returns false if ctx ends first.
func send[T any](ctx context.Context, to chan<- T, item T) bool {
	select {
	case to <- item:
		return true
	case <-ctx.Done():
		return false
	}
}
