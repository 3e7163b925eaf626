package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gaffer/bench/figure"
)

const (
	growthClients = 32
	// spare is the number of tasks that are queued in addition to the number for which claims are
	// measured, so that the queue does not become empty during a short measurement.
	spare = 2_000
	// leastForRiver is the length of the shortest queue with which the contender River is measured.
	// River is measured while it empties a queue. With a short queue, starting and stopping River's
	// client would be a large part of the measured time.
	leastForRiver = 10_000
)

// growth measures claims and finishes at each number of queued tasks in s.depths, from the smallest
// to the largest.
func growth(ctx context.Context, p *databases, s settings, chosen []contender) error {
	fmt.Printf("%-22s %10s %15s\n", "", "queued", "claim+finish/s")
	slices.Sort(s.depths)
	for _, c := range chosen {
		if err := c.growth(ctx, p, s); err != nil {
			return fmt.Errorf("%s: %w", c.title, err)
		}
	}
	return nil
}

func (c contender) growth(ctx context.Context, p *databases, s settings) (err error) {
	if c.name == "river" {
		return c.emptied(ctx, p, s)
	}
	q, err := c.open(ctx, p, growthClients)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Close()) }()
	if err := submit(ctx, q, spare); err != nil {
		return err
	}
	queued := 0
	for _, n := range s.depths {
		if err := submit(ctx, q, n-queued); err != nil {
			return err
		}
		queued = n
		// Keep the best of several short measurements, because other work of the machine can only
		// make a figure worse.
		var best result
		for took := time.Duration(0); took < s.each; {
			r, err := q.Drain(ctx, growthClients, 200*time.Millisecond)
			if err != nil {
				return err
			}
			took += r.took
			if best.took == 0 || r.perSecond() > best.perSecond() {
				best = r
			}
			if err := submit(ctx, q, r.count); err != nil {
				return err
			}
		}
		if err := c.write(s, n, best); err != nil {
			return err
		}
	}
	return nil
}

// emptied measures how fast a contender empties a new queue, once for each number of queued tasks
// in s.depths. It skips numbers below leastForRiver.
func (c contender) emptied(ctx context.Context, p *databases, s settings) error {
	for _, n := range s.depths {
		if n < leastForRiver {
			continue
		}
		q, err := c.open(ctx, p, growthClients)
		if err != nil {
			return err
		}
		err = submit(ctx, q, n)
		var r result
		if err == nil {
			r, err = q.Drain(ctx, growthClients, s.each)
		}
		if err == nil {
			err = c.write(s, n, r)
		}
		if err := errors.Join(err, q.Close()); err != nil {
			return err
		}
	}
	return nil
}

// submit adds n tasks, at most 1,000 at once.
func submit(ctx context.Context, q queue, n int) error {
	for n > 0 {
		size := min(n, 10*planSize)
		if err := q.Submit(ctx, size); err != nil {
			return err
		}
		n -= size
	}
	return nil
}

func (c contender) write(s settings, n int, r result) error {
	fmt.Printf("%-22s %10d %15.0f\n", c.title, n, r.perSecond())
	f := figure.Figure{Measure: "coordinator.sqlite", Program: c.title, Kind: figure.Other, Size: n, Value: r.perSecond()}
	switch {
	case c.postgres && s.latency > 0:
		f.Measure = "coordinator.latency"
	case c.postgres:
		f.Measure = "coordinator.postgres"
	}
	if c.name == "sqlite" || c.name == "postgres" {
		f.Program, f.Kind = "gaffer's engine, without HTTP", figure.Gaffer
	}
	return figure.Append(s.figures, f)
}
