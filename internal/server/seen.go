package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// sightings knows when agents were last seen, for followers who asked for that:
// it is no change. It reads once for all of them, and not while there are none.
type sightings struct {
	desk  Desk
	now   func() time.Time
	log   *slog.Logger
	every time.Duration

	mu      sync.Mutex
	readers int
	round   int                  // readings that told something, 0 before the first
	seen    map[string]time.Time // nil while nothing is known
	all     []byte               // of the last reading, as it is sent
	moved   []byte               // what differs from the one before
	changed chan struct{}        // closed, and replaced, with every round
	wake    chan struct{}        // has one when somebody asks
}

// seenEvery bounds how often it is told when agents were last seen.
const seenEvery = 2 * time.Second

func newSightings(desk Desk, now func() time.Time, log *slog.Logger) *sightings {
	return &sightings{desk: desk, now: now, log: log, every: seenEvery, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// run reads until ctx ends.
func (s *sightings) run(ctx context.Context) {
	for ctx.Err() == nil {
		if s.unwanted() {
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
			continue
		}
		if err := s.read(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("it cannot be read when agents were last seen", "error", err)
		}
		pause(ctx, s.every)
	}
}

// unwanted says whether nobody asks, and forgets what was known then.
func (s *sightings) unwanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers == 0 {
		s.seen, s.all, s.moved = nil, nil, nil
	}
	return s.readers == 0
}

func (s *sightings) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, deskTime)
	defer cancel()
	agents, err := s.desk.Agents(ctx)
	if err != nil {
		return err
	}
	seen := make(map[string]time.Time, len(agents))
	for _, a := range agents {
		seen[a.ID] = a.LastSeen
	}
	s.publish(seen)
	return nil
}

// publish tells a reading, unless it is as the one before.
func (s *sightings) publish(seen map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	moved := map[string]time.Time{}
	for id, at := range seen {
		if before, known := s.seen[id]; !known || !before.Equal(at) {
			moved[id] = at
		}
	}
	if s.seen != nil && len(moved) == 0 {
		return
	}
	now := s.now().UTC()
	s.round++
	s.seen, s.all, s.moved = seen, seenFrame(now, seen), seenFrame(now, moved)
	close(s.changed)
	s.changed = make(chan struct{})
}

// seenFrame is a message of the stream. It has no id: nobody goes on after it.
func seenFrame(now time.Time, seen map[string]time.Time) []byte {
	data, err := json.Marshal(map[string]any{"time": now, "seen": seen})
	if err != nil {
		return nil // a time that cannot be written is nobody's
	}
	return fmt.Appendf(nil, "event: seen\ndata: %s\n\n", data)
}

// join has the sightings be read. The caller leaves when it is done.
func (s *sightings) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers++
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sightings) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
}

// after returns what follows a round, nothing if there is nothing yet, and what is
// closed when there is more. Whoever has missed a round gets all.
func (s *sightings) after(round int) (data []byte, next int, more <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.seen == nil, round == s.round:
		return nil, round, s.changed
	case round == s.round-1 && round > 0:
		return s.moved, s.round, s.changed
	}
	return s.all, s.round, s.changed
}

// sighted sends a follower what it asked for and does not have yet.
func (f *follower) sighted() error {
	if !f.seen {
		return nil
	}
	data, round, more := f.sightings.after(f.round)
	f.round, f.sight = round, more
	return f.send(data)
}

// firstSight sends when all agents were last seen, before anything else. A database
// that does not answer keeps nobody from the rest.
func (f *follower) firstSight(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.opts.Send)
	defer cancel()
	for f.seen && f.round == 0 {
		if err := f.sighted(); err != nil || f.round > 0 {
			return err
		}
		select {
		case <-f.sight:
		case <-f.stopping:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
