package sweep

import (
	"context"
	"slices"
	"time"

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

// recordSweep records a sweep that has ended now, and whether any worker was online. If no
// worker is online, the cause is more likely our own network than all of them.
func (w *listening) recordSweep(now time.Time, succeeded, online bool) {
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

// Server sweeps the leases of workers on many machines.
type Server struct {
	Engine       *engine.Engine
	Store        store.Store // the engine's
	Now          func() time.Time
	OfflineAfter time.Duration // a worker is offline after so long without a heartbeat

	listening     listening
	online        bool
	onlineChecked time.Time // when online was last determined
}

// Sweep runs one sweep. It gives up after maxGap, because its data would be too old by
// then.
func (s *Server) Sweep(ctx context.Context) (more bool, err error) {
	within, cancel := context.WithTimeout(ctx, maxGap)
	defer cancel()
	more, err = s.Engine.Sweep(within, s.listening.sinceAt(s.clock()))
	if err == nil {
		err = s.checkOnline(within)
	}
	s.listening.recordSweep(s.clock(), err == nil, s.online)
	return more, err
}

// clock returns the time without its monotonic part: leases also expire while the
// machine sleeps.
func (s *Server) clock() time.Time { return s.Now().Round(0) }

// checkOnline determines whether any worker is online. It keeps the result for maxGap.
func (s *Server) checkOnline(ctx context.Context) error {
	now := s.clock()
	if since := now.Sub(s.onlineChecked); since >= 0 && since < maxGap {
		return nil
	}
	return s.Store.Read(ctx, func(reader store.Reader) error {
		workers, err := reader.Workers()
		if err != nil {
			return err
		}
		s.online, s.onlineChecked = anyOnline(workers, now.Add(-s.OfflineAfter)), now
		return nil
	})
}

// anyOnline reports whether a worker has sent a heartbeat after a time. It ignores
// workers that have never registered: they work for a run of their own machine, and
// their leases do not expire.
func anyOnline(workers []store.Worker, after time.Time) bool {
	return slices.ContainsFunc(workers, func(w store.Worker) bool { return !w.Created.IsZero() && w.Seen.After(after) })
}
