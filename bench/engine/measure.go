package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// result holds the number of operations of several clients together, and how long they took.
type result struct {
	count int
	took  time.Duration
	waits []time.Duration // how long each operation took, from call to return; nil if unknown
}

func (r result) perSecond() float64 { return float64(r.count) / r.took.Seconds() }

// quantile returns the wait that the given share of all waits does not exceed. For 0.99 it is the
// 99th percentile.
func (r result) quantile(share float64) time.Duration {
	if len(r.waits) == 0 {
		return 0
	}
	slices.Sort(r.waits)
	return r.waits[min(len(r.waits)-1, int(share*float64(len(r.waits))))]
}

// repeat lets several clients call fn again and again, until the time is up or fn returns errEmpty.
func repeat(ctx context.Context, clients int, duration time.Duration, fn func(ctx context.Context) error) (result, error) {
	return repeatEach(ctx, clients, duration, func() func(context.Context) error { return fn })
}

// repeatEach is like [repeat], but calls newClient to get a separate function for each client.
func repeatEach(ctx context.Context, clients int, each time.Duration, newClient func() func(ctx context.Context) error) (result, error) {
	results, errs := make([]result, clients), make([]error, clients)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range clients {
		do := newClient()
		wg.Go(func() { results[i], errs[i] = one(ctx, start.Add(each), do) })
	}
	wg.Wait()
	all := result{took: time.Since(start)}
	for _, r := range results {
		all.count += r.count
		all.waits = append(all.waits, r.waits...)
	}
	return all, errors.Join(errs...)
}

func one(ctx context.Context, end time.Time, do func(ctx context.Context) error) (r result, err error) {
	for began := time.Now(); began.Before(end); {
		if err := do(ctx); errors.Is(err, errEmpty) {
			return r, nil
		} else if err != nil {
			return r, err
		}
		now := time.Now()
		r.waits = append(r.waits, now.Sub(began))
		r.count++
		began = now
	}
	return r, nil
}

const (
	// planSize is the number of tasks that the function fill submits at once.
	planSize = 100
	// queuedPerSecond is the number of tasks that the function fill submits for each second of
	// measurement. With only one client, the number is queuedPerSecondForOne. A contender that
	// claims faster empties its queue before the time is up; its measurement then ends early.
	queuedPerSecond, queuedPerSecondForOne = 12_000, 4_000
)

// fill submits tasks with several clients at once and measures how fast that is. The measurement
// ends when the duration each has passed, or when enough tasks are queued for the measurement of
// claims that follows. In the first case, fill submits the missing tasks without measuring.
func fill(ctx context.Context, q queue, clients int, each time.Duration) (result, error) {
	want := int64(each.Seconds() * queuedPerSecond)
	if clients == 1 {
		want = int64(each.Seconds() * queuedPerSecondForOne)
	}
	var taken atomic.Int64
	submit := func(ctx context.Context) error {
		if taken.Add(planSize) > want {
			return errEmpty
		}
		return q.Submit(ctx, planSize)
	}
	r, err := repeat(ctx, clients, each, submit)
	if err != nil {
		return r, err
	}
	r.count *= planSize
	_, err = repeat(ctx, clients, time.Minute, submit)
	return r, err
}
