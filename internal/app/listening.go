package app

import (
	"context"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// maxGap is how long between two sweeps workers are taken to have been heard.
const maxGap = 5 * time.Second

// listening knows since when workers could be heard without a break. Who was not
// heard of while nobody could be is not taken for lost.
//
// Times are the engine's. A clock that was set is a break like any other: with it
// all leases have become longer or shorter.
type listening struct {
	since time.Time // the end of the last break
	last  time.Time // when workers could last be heard
}

// sinceAt is what a sweep is told that begins now.
func (w listening) sinceAt(now time.Time) time.Time {
	if w.broken(now) {
		return now
	}
	return w.since
}

// saw takes in how a sweep went that has ended now, and whether any worker was
// online. If none is, it is rather we who are cut off than all of them.
func (w *listening) saw(now time.Time, succeeded, online bool) {
	if !succeeded {
		return
	}
	if w.broken(now) || !online {
		w.since = now
	}
	w.last = now
}

func (w listening) broken(now time.Time) bool {
	gap := now.Sub(w.last)
	return w.last.IsZero() || gap > maxGap || gap < 0
}

// round is the rounds that a coordinator makes.
type round struct {
	engine *engine.Engine
	store  store.Store
	now    func() time.Time

	watchman listening
	online   bool
	looked   time.Time // when that was so
}

// sweep is one sweep. One that takes longer than a break is given up: it would go
// by what was known before it.
func (r *round) sweep(ctx context.Context) (more bool, err error) {
	within, cancel := context.WithTimeout(ctx, maxGap)
	defer cancel()
	more, err = r.engine.Sweep(within, r.watchman.sinceAt(r.clock()))
	if err == nil {
		err = r.look(within)
	}
	r.watchman.saw(r.clock(), err == nil, r.online)
	return more, err
}

// clock is the time by which leases end, also while the machine sleeps.
func (r *round) clock() time.Time { return r.now().Round(0) }

// look finds out whether a worker is online. That is known for a while.
func (r *round) look(ctx context.Context) error {
	now := r.clock()
	if since := now.Sub(r.looked); since >= 0 && since < maxGap {
		return nil
	}
	return r.store.Read(ctx, func(reader store.Reader) error {
		workers, err := reader.Workers()
		if err != nil {
			return err
		}
		r.online, r.looked = anyOnline(workers, now), now
		return nil
	})
}

// anyOnline passes over workers that have never said who they are: they work for
// a run of their own machine, and are never given up.
func anyOnline(workers []store.Worker, now time.Time) bool {
	for _, w := range workers {
		if !w.Created.IsZero() && now.Sub(w.Seen) < coordinator.OfflineAfter {
			return true
		}
	}
	return false
}
