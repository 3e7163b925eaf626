package sweep

import (
	"context"
	"slices"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// maxGap is the longest normal time between two sweeps (see [Server.Sweep]). If the time is longer,
// this process was stopped or slow, so it may have missed heartbeats of workers.
const maxGap = 5 * time.Second

// listening tracks since when this process could receive heartbeats without interruption. A
// heartbeat that is missing because of an interruption does not mean that its worker is lost.
//
// All times are times of the engine's clock. A jump of that clock, for example because a user has
// set it, counts as an interruption too, because it makes leases end too early or too late.
type listening struct {
	since time.Time // when the last interruption in receiving heartbeats ended
	last  time.Time // when the last successful sweep ended
}

// sinceAt is called when a sweep starts, at the time now. It returns the time since which this
// process could receive heartbeats without interruption.
func (w listening) sinceAt(now time.Time) time.Time {
	if w.broken(now) {
		return now
	}
	return w.since
}

// recordSweep records that a sweep has ended at the time now. It does nothing if the sweep failed.
// If no worker is online, the network of this process is probably down. So recordSweep treats the
// time up to now as an interruption, in which heartbeats may have been lost.
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

// Server performs the sweeps (see [engine.Engine.Sweep]) of a gaffer server, whose workers run on
// many machines.
type Server struct {
	Engine       *engine.Engine
	Store        store.Store // the store that the engine works on
	Now          func() time.Time
	OfflineAfter time.Duration // how long after its last heartbeat a worker counts as offline

	listening     listening
	online        bool
	onlineChecked time.Time // when the field online was last updated
}

// Sweep calls [engine.Engine.Sweep] once. more is true if Sweep should be called again at once.
// Sweep cancels the call if it takes longer than maxGap, because in that time this process may have
// missed heartbeats.
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

// clock returns the time without its monotonic clock reading. The monotonic clock stops while the
// machine sleeps, but leases expire during that time too.
func (s *Server) clock() time.Time { return s.Now().Round(0) }

// checkOnline sets s.online to whether any worker is online. It does nothing if the last successful
// check was less than maxGap ago.
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

// anyOnline reports whether any worker has sent a heartbeat after the given time. It ignores
// workers whose field Created is not set: these workers have never reported a name.
func anyOnline(workers []store.Worker, after time.Time) bool {
	return slices.ContainsFunc(workers, func(w store.Worker) bool { return !w.Created.IsZero() && w.Seen.After(after) })
}
