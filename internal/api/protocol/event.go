package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

const (
	// keepNotes is how many events of the protocol the store keeps. The store calls them notes.
	keepNotes = 10_000
	// defaultNotes is how many events the method Events returns if the client gives no limit.
	defaultNotes = 100
)

// eventService answers the requests about the protocol's events, which clients publish.
type eventService struct{ db *database }

// noteKey returns the item key of the n-th event of the protocol. In the store, the protocol's
// events are called notes, because the store has its own events. Notes are numbered without gaps,
// so addEvent can compute the key of the oldest note, which it deletes.
func noteKey(n int64) store.ItemKey { return store.ItemKey{Kind: kindNote, ID: fmt.Sprintf("e%d", n)} }

func countKey() store.ItemKey { return store.ItemKey{Kind: kindCount, ID: kindNote} }

// countNotes returns how many notes were ever created, including deleted ones.
func countNotes(r rows) (int64, error) {
	count, err := r.Item(countKey())
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return count.Seq, err
}

// Events implements [server.Protocol]. It returns the events that were published last, the newest
// first.
func (d *eventService) Events(ctx context.Context, limit int) (list []coordinator.Event, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		list, err = latestEvents(r, limit)
		return err
	})
	return list, err
}

func latestEvents(r store.Reader, limit int) ([]coordinator.Event, error) {
	if limit <= 0 {
		limit = defaultNotes
	}
	last, err := countNotes(r)
	if err != nil {
		return nil, err
	}
	limit = min(limit, keepNotes)
	items, err := r.Items(kindNote, "", last-int64(limit), limit)
	list := make([]coordinator.Event, 0, len(items))
	for _, i := range items {
		if err == nil {
			var e coordinator.Event
			e, err = decodeItem[coordinator.Event](i)
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list, err
}

// AddEvent implements [server.Protocol].
func (d *eventService) AddEvent(ctx context.Context, by credential.Identity, n coordinator.NewEvent) (made coordinator.Event, deduped bool, err error) {
	n.Payload = orNil(n.Payload)
	if err := cmp.Or(MayAct(by), checkEvent(by, n)); err != nil {
		return made, false, err
	}
	once := n.IdempotencyKey
	if once != "" {
		once = cmp.Or(n.AgentID, "@"+by.ID) + " " + once
	}
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		// Change only a copy of n, because the transaction may run more than once.
		n := n
		about, err := subject(s, by, n)
		if err != nil {
			return err
		}
		deduped = true
		n.TaskID = cmp.Or(n.TaskID, wireIDOf(about))
		made, err = engine.Once(s, onceEvent, once, func() (coordinator.Event, error) {
			deduped = false
			return addEvent(s, about, n)
		})
		return err
	})
	return made, deduped, err
}

func checkEvent(by credential.Identity, n coordinator.NewEvent) error {
	var c check
	c.name("type", n.Type, maxName)
	c.idIfAny("agent_id", n.AgentID)
	c.idIfAny("task_id", n.TaskID)
	c.json("payload", n.Payload, maxPayload)
	c.line("idempotency_key", n.IdempotencyKey, maxKey)
	if by.Role == credential.Worker && n.AgentID == "" && n.TaskID == "" {
		c.fail("agent_id: is missing")
	}
	return c.err
}

// subject returns the key of the task that event n is about, or an empty key if n names no task. It
// returns an error if the client may not publish events about the agent or the task that n names.
// An agent may publish events before its first heartbeat. If n reports that a requested agent
// session has started, subject also completes the task that requested the session.
func subject(s *engine.Tx, by credential.Identity, n coordinator.NewEvent) (store.TaskKey, error) {
	if n.AgentID != "" {
		_, err := agentOf(s, by, n.AgentID)
		if isNotFound(err) {
			err = CheckNotRun(s, n.AgentID)
		}
		if err != nil {
			return store.TaskKey{}, err
		}
	}
	if n.Type == coordinator.SessionStarted {
		return sessionStarted(s, by, n)
	}
	if n.TaskID == "" {
		return store.TaskKey{}, nil
	}
	key, err := taskKey(n.TaskID)
	if err != nil {
		return key, err
	}
	t, err := s.Task(key)
	if err != nil {
		return key, NotFound(err, "task", n.TaskID)
	}
	return key, mayChangeTask(s, by, t)
}

// addEvent stores the event as a note. If there are then more than keepNotes notes, it deletes the
// oldest one.
func addEvent(s *engine.Tx, about store.TaskKey, n coordinator.NewEvent) (e coordinator.Event, err error) {
	last, err := countNotes(s)
	if err != nil {
		return e, err
	}
	last++
	s.PutItem(store.Item{ItemKey: countKey(), Seq: last, Made: s.Now()})
	s.DropItem(noteKey(last - keepNotes))
	key := noteKey(last)
	e = coordinator.Event{ID: key.ID, AgentID: n.AgentID, TaskID: n.TaskID, Type: n.Type, Payload: n.Payload, CreatedAt: inUTC(s.Now())}
	i, err := put(s, key, "", last, e)
	if err != nil {
		return e, err
	}
	return e, s.Event(store.Event{Kind: "note.added", Run: about.Run, Task: about.Task, Why: n.Type}, i)
}
