package app

import (
	"context"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// maxGap is the longest time between two sweeps that does not count as a break in
// receiving heartbeats.
const maxGap = 5 * time.Second

// listening tracks since when this process could receive heartbeats without a break. A
// worker is not considered lost for silence during a break.
//
// Times are the engine's. A change of the clock is also a break, because it makes all
// leases longer or shorter.
type listening struct {
	since time.Time // the end of the last break
	last  time.Time // the end of the last successful sweep
}

// sinceAt returns the start of the uninterrupted time, for a sweep that begins now.
func (w listening) sinceAt(now time.Time) time.Time {
	if w.broken(now) {
		return now
	}
	return w.since
}

// saw records a sweep that has ended now, and whether any worker was online. If no
// worker is online, the cause is more likely our own network than all of them.
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

// round runs the periodic sweeps of a server.
type round struct {
	engine *engine.Engine
	store  store.Store
	now    func() time.Time

	watchman listening
	online   bool
	looked   time.Time // when online was last determined
}

// sweep runs one sweep. It gives up after maxGap, because its data would be too old by
// then.
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

// clock returns the time without its monotonic part: leases also expire while the
// machine sleeps.
func (r *round) clock() time.Time { return r.now().Round(0) }

// look determines whether any worker is online. It keeps the result for maxGap.
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

// anyOnline ignores workers that have never registered. They work for a run of their
// own machine, and their leases do not expire.
func anyOnline(workers []store.Worker, now time.Time) bool {
	for _, w := range workers {
		if !w.Created.IsZero() && now.Sub(w.Seen) < coordinator.OfflineAfter {
			return true
		}
	}
	return false
}
