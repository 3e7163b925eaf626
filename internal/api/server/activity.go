package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/pause"
)

// activityFeed tells the clients of the event stream when each agent was last seen and what each
// attempt does. The store has no events about this, so the feed reads this data at intervals: once
// for all clients, and not at all while there are no clients.
type activityFeed struct {
	service Protocol
	runs    Runs // nil if the server does not serve runs
	now     func() time.Time
	log     *slog.Logger
	every   time.Duration

	mu          sync.Mutex
	readers     int
	round       int               // number of reads that had a new result; 0 before the first read
	last        *activitySnapshot // result of the last read; nil before the first read
	all         []byte            // all of last, encoded for the stream
	differences []byte            // changes from the previous result to last, encoded for the stream
	changed     chan struct{}     // closed and replaced when the field round grows
	wake        chan struct{}     // receives a value when a client joins
}

// activitySnapshot is what an activityFeed has read from the store at one time.
type activitySnapshot struct {
	agents map[string]time.Time       // when each agent was last seen, by agent id
	now    map[string]json.RawMessage // what each agent is doing, as it has reported, by agent id
	doing  map[string]json.RawMessage // running attempts as JSON, by attempt id
	runs   map[string]json.RawMessage // unfinished runs as JSON, by run id
	// ended has the ids of the attempts that have ended since the previous read. It is set only if
	// the snapshot contains only the differences from the previous one.
	ended []string
}

// since returns a snapshot with the entries of s that are new or differ from those in previous. It
// also contains the ids of the attempts that have ended: those that are in previous but not in s.
// It does not list the agents and runs that are in previous but not in s.
func (s *activitySnapshot) since(previous *activitySnapshot) *activitySnapshot {
	moved := &activitySnapshot{
		agents: map[string]time.Time{}, now: differing(s.now, previous.now), doing: differing(s.doing, previous.doing), runs: differing(s.runs, previous.runs),
	}
	for id := range previous.doing {
		if _, runs := s.doing[id]; !runs {
			moved.ended = append(moved.ended, id)
		}
	}
	for id, at := range s.agents {
		if then, known := previous.agents[id]; !known || !then.Equal(at) {
			moved.agents[id] = at
		}
	}
	return moved
}

func differing(rows, before map[string]json.RawMessage) map[string]json.RawMessage {
	other := map[string]json.RawMessage{}
	for id, row := range rows {
		if !bytes.Equal(before[id], row) {
			other[id] = row
		}
	}
	return other
}

func (s *activitySnapshot) empty() bool {
	return len(s.agents)+len(s.now)+len(s.doing)+len(s.runs)+len(s.ended) == 0
}

// activityInterval is how often an activityFeed reads the store.
const activityInterval = 2 * time.Second

func newActivityFeed(service Protocol, runs Runs, now func() time.Time, log *slog.Logger) *activityFeed {
	return &activityFeed{service: service, runs: runs, now: now, log: log, every: activityInterval, changed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// run reads the store at intervals until ctx ends. It pauses while there are no clients.
func (s *activityFeed) run(ctx context.Context) {
	for ctx.Err() == nil {
		if s.sleepIfUnused() {
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
			continue
		}
		if err := s.read(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("it cannot be read when agents were last seen", "error", err)
		}
		pause.For(ctx, s.every)
	}
}

// sleepIfUnused reports whether there are no clients. If there are none, it drops the results of
// the last read.
func (s *activityFeed) sleepIfUnused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readers == 0 {
		s.last, s.all, s.differences = nil, nil, nil
	}
	return s.readers == 0
}

func (s *activityFeed) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serviceTimeout)
	defer cancel()
	agents, err := s.service.Agents(ctx)
	if err != nil {
		return err
	}
	now := &activitySnapshot{agents: make(map[string]time.Time, len(agents)), now: map[string]json.RawMessage{}, doing: map[string]json.RawMessage{}, runs: map[string]json.RawMessage{}}
	for _, a := range agents {
		now.agents[a.ID] = a.LastSeen
		if now.now[a.ID], err = json.Marshal(a.Now); err != nil {
			return err
		}
	}
	if s.runs != nil {
		if err := now.readRuns(ctx, s.runs); err != nil {
			return err
		}
	}
	s.publish(now)
	return nil
}

// readRuns adds the unfinished runs and the running attempts to the snapshot.
func (s *activitySnapshot) readRuns(ctx context.Context, at Runs) error {
	doing, err := at.RunningAttempts(ctx)
	if err != nil {
		return err
	}
	for _, a := range doing {
		if s.doing[a.ID], err = json.Marshal(a); err != nil {
			return err
		}
	}
	runs, err := at.Runs(ctx, coordinator.RunQuery{Limit: maxActiveRuns})
	if err != nil {
		return err
	}
	for _, r := range runs {
		if s.runs[r.ID], err = json.Marshal(r); err != nil {
			return err
		}
	}
	return nil
}

// maxActiveRuns is how many unfinished runs a snapshot contains. If there are more, it contains the
// newest.
const maxActiveRuns = 100

// publish stores the result of a read and wakes the clients. It does nothing if the result equals
// the previous one.
func (s *activityFeed) publish(seen *activitySnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	moved := seen
	if s.last != nil {
		if moved = seen.since(s.last); moved.empty() {
			return
		}
	}
	now := s.now().UTC()
	s.round++
	s.last, s.all, s.differences = seen, seen.frame(now, true), moved.frame(now, false)
	close(s.changed)
	s.changed = make(chan struct{})
}

// frame encodes the snapshot as a message of the event stream. whole is false if the snapshot has
// only the differences from an earlier one. The message has no event id, because a client that
// reconnects gets a whole snapshot anyway.
func (s *activitySnapshot) frame(now time.Time, whole bool) []byte {
	message := map[string]any{"time": now, "seen": s.agents, "now": s.now, "attempts": rowsOf(s.doing), "runs": rowsOf(s.runs)}
	if whole {
		message["whole"] = true
	}
	if len(s.ended) > 0 {
		message["ended"] = s.ended
	}
	data, err := json.Marshal(message)
	if err != nil {
		return nil // encoding fails only for an invalid time
	}
	return fmt.Appendf(nil, "event: seen\ndata: %s\n\n", data)
}

func rowsOf(rows map[string]json.RawMessage) []json.RawMessage {
	return slices.AppendSeq(make([]json.RawMessage, 0, len(rows)), maps.Values(rows))
}

// join registers a client and wakes the feed if it was paused. The caller must call leave when the
// client disconnects.
func (s *activityFeed) join() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers++
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *activityFeed) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers--
}

// after returns the next message for a client. A round is a read of the store that had a new
// result. The parameter round is the latest round that the client has received, or 0 if it has
// received none. A client that lacks only the latest round gets the differences from the round
// before. Other clients, including new ones, get the whole snapshot. If there is no later round,
// data is nil. The result next is the client's new round. The channel wake is closed at the next
// round.
func (s *activityFeed) after(round int) (data []byte, next int, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.last == nil, round == s.round:
		return nil, round, s.changed
	case round == s.round-1 && round > 0:
		return s.differences, s.round, s.changed
	}
	return s.all, s.round, s.changed
}
