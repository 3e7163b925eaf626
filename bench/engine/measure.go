package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// result is what some clients did together.
type result struct {
	count int
	took  time.Duration
	waits []time.Duration // one for each time, from call to return; nil if unknown
}

func (r result) perSecond() float64 { return float64(r.count) / r.took.Seconds() }

// quantile returns the wait that a share of all does not exceed.
func (r result) quantile(share float64) time.Duration {
	if len(r.waits) == 0 {
		return 0
	}
	slices.Sort(r.waits)
	return r.waits[min(len(r.waits)-1, int(share*float64(len(r.waits))))]
}

// repeat lets clients call do over and over until the time is up, or until do
// says that nothing is left.
func repeat(ctx context.Context, clients int, each time.Duration, do func(ctx context.Context) error) (result, error) {
	return repeatEach(ctx, clients, each, func() func(context.Context) error { return do })
}

// repeatEach is repeat for clients that each have something of their own to do.
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
	// planSize is how many tasks are submitted at once.
	planSize = 100
	// laidUp is for how many claims a second there are tasks. Whoever is faster
	// has an empty queue before the time is up, and is measured by when.
	laidUp, laidUpForOne = 12_000, 4_000
)

// fill submits tasks by so many clients at once, and measures that until the
// time is up or there are enough. It then goes on until there are.
func fill(ctx context.Context, q queue, clients int, each time.Duration) (result, error) {
	want := int64(each.Seconds() * laidUp)
	if clients == 1 {
		want = int64(each.Seconds() * laidUpForOne)
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
