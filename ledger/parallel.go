package ledger

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// batch is the number of inputs that a goroutine of [inOrder] takes from a channel at once. Larger
// batches need fewer channel operations.
const batch = 16

// job is a batch of inputs for the function work, and a channel for the results. The channel is
// buffered, so the goroutine that sends the results never blocks.
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

// inOrder calls the function work for every element of items, in parallel on all processors. It
// passes the results to the function emit in the order of the elements, one after the other. Only a
// few batches per processor are in memory at once. inOrder stops at the first error that items
// yields or emit returns, or when ctx ends. It returns this error or the cause of the end of ctx.
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

// chunks groups the elements of items into slices of the given size and yields these slices. The
// last slice may be shorter. After an error of items, chunks drops the elements of the slice that
// is not yet full, yields the error and stops.
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

// send sends item to the channel to. It returns false if ctx ends first.
func send[T any](ctx context.Context, to chan<- T, item T) bool {
	select {
	case to <- item:
		return true
	case <-ctx.Done():
		return false
	}
}
