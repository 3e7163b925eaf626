package sweep

import (
	"context"
	"slices"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// maxGap is the longest time between two sweeps during which this process is assumed to
// have received heartbeats.
const maxGap = 5 * time.Second

// listening tracks since when this process could receive heartbeats without interruption.
// Missing heartbeats during an interruption do not mean that a worker is lost.
//
// Its times are those of the engine's clock. A step of the clock is an interruption too,
// because it makes all leases longer or shorter.
type listening struct {
	since time.Time // the end of the last interruption
	last  time.Time // when the last successful sweep ended
}

// sinceAt returns since when heartbeats could be received, for a sweep that starts now.
func (w listening) sinceAt(now time.Time) time.Time {
	if w.broken(now) {
		return now
	}
	return w.since
}

// recordSweep records that a sweep has ended. If no worker is online, the network of this
// process is probably down, so that counts as an interruption.
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

// Server sweeps a store whose workers are on many machines.
type Server struct {
	Engine       *engine.Engine
	Store        store.Store // the engine's store
	Now          func() time.Time
	OfflineAfter time.Duration // how long after its last heartbeat a worker is offline

	listening     listening
	online        bool
	onlineChecked time.Time // when online was last determined
}

// Sweep runs one sweep. It is cancelled after maxGap, because then it no longer knows
// whether heartbeats could be received.
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

// clock returns the time without its monotonic reading, which stops while the machine
// sleeps. Leases also expire during that time.
func (s *Server) clock() time.Time { return s.Now().Round(0) }

// checkOnline updates s.online, at most once per maxGap.
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

// anyOnline reports whether any worker has sent a heartbeat after a time. It ignores
// workers that are not registered: they work for a local run, whose leases do not expire.
func anyOnline(workers []store.Worker, after time.Time) bool {
	return slices.ContainsFunc(workers, func(w store.Worker) bool { return !w.Created.IsZero() && w.Seen.After(after) })
}
