package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// batchSize is the number of tasks in a batch. After each batch of claims, as many new tasks
	// are added to the queue.
	batchSize  = 20
	maxBatches = 50 // maximum number of batches for each length of the queue
)

// depths prints how long gaffer takes to claim a task, on SQLite and on PostgreSQL, for each number
// of queued tasks in s.queued. Contenders other than gaffer are not measured.
func depths(ctx context.Context, p *databases, s settings, chosen []contender) error {
	if len(s.queued) == 0 {
		return nil
	}
	fmt.Printf("%-22s", "claim, 1 client")
	for _, n := range s.queued {
		fmt.Printf(" %20s", fmt.Sprint(n, " queued"))
	}
	fmt.Println()
	for _, c := range chosen {
		if c.name != "sqlite" && c.name != "postgres" {
			continue
		}
		results, err := claimTimes(ctx, p, c, s)
		if err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
		fmt.Printf("%-22s", c.title)
		for _, r := range results {
			median := r.quantile(.5)
			fmt.Printf(" %10s (× %.2f)", round(median), float64(median)/float64(results[0].quantile(.5)))
		}
		fmt.Println()
	}
	return nil
}

// claimTimes measures how long claims take, for each number of queued tasks in s.queued. Each
// number has a separate database. The databases take turns, one batch of claims after the other, so
// that other work of the machine affects all results alike.
func claimTimes(ctx context.Context, p *databases, c contender, s settings) (all []result, err error) {
	var fleets []*fleet
	defer func() {
		for _, f := range fleets {
			err = errors.Join(err, f.Close())
		}
	}()
	for _, n := range s.queued {
		q, err := c.open(ctx, p, 1)
		if err != nil {
			return nil, err
		}
		f := q.(*fleet)
		fleets = append(fleets, f)
		if err := submit(ctx, f, n); err != nil {
			return nil, err
		}
	}
	all = make([]result, len(fleets))
	end := time.Now().Add(s.each)
	for range maxBatches {
		for i, f := range fleets {
			if err := f.timeClaims(ctx, &all[i]); err != nil {
				return nil, err
			}
		}
		if time.Now().After(end) {
			break
		}
	}
	return all, nil
}

// timeClaims claims and finishes one batch of tasks, adds the claim times to r, and submits
// as many new tasks.
func (f *fleet) timeClaims(ctx context.Context, r *result) error {
	for range batchSize {
		began := time.Now()
		a, err := f.claim(ctx)
		if err != nil {
			return err
		}
		r.waits = append(r.waits, time.Since(began))
		if err := f.finish(ctx, a); err != nil {
			return err
		}
	}
	return f.Submit(ctx, batchSize)
}
