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
	// keepNotes is how many events are kept.
	keepNotes = 10_000
	// someNotes is how many are told to those who do not say.
	someNotes = 100
)

// Events are notes in the store, where an event is something else. They are
// numbered without a gap, so that the last ones are found, and the one that is too
// old.
func noteKey(n int64) store.ItemKey { return store.ItemKey{Kind: kindNote, ID: fmt.Sprintf("e%d", n)} }

func countKey() store.ItemKey { return store.ItemKey{Kind: kindCount, ID: kindNote} }

// counted is how many notes there were.
func counted(r rows) (int64, error) {
	count, err := r.Item(countKey())
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return count.Seq, err
}

// Events implements [server.Protocol]. They are the last ones, the newest first.
func (d *Service) Events(ctx context.Context, limit int) (list []coordinator.Event, err error) {
	err = d.store.Read(ctx, func(r store.Reader) (err error) {
		list, err = notes(r, limit)
		return err
	})
	return list, err
}

func notes(r store.Reader, limit int) ([]coordinator.Event, error) {
	if limit <= 0 {
		limit = someNotes
	}
	last, err := counted(r)
	if err != nil {
		return nil, err
	}
	limit = min(limit, keepNotes)
	items, err := r.Items(kindNote, "", last-int64(limit), limit)
	list := make([]coordinator.Event, 0, len(items))
	for _, i := range items {
		if err == nil {
			var e coordinator.Event
			e, err = wireItem[coordinator.Event](i)
			list = append(list, e)
		}
	}
	slices.Reverse(list)
	return list, err
}

// AddEvent implements [server.Protocol].
func (d *Service) AddEvent(ctx context.Context, by credential.Identity, n coordinator.NewEvent) (made coordinator.Event, deduped bool, err error) {
	n.Payload = present(n.Payload)
	if err := cmp.Or(maySpeak(by), checkEvent(by, n)); err != nil {
		return made, false, err
	}
	once := n.IdempotencyKey
	if once != "" {
		once = cmp.Or(n.AgentID, "@"+by.ID) + " " + once
	}
	need := store.Need{Promises: engine.OnceNeed("desk-event", once), Items: []store.ItemKey{countKey()}}
	err = d.do(ctx, by, need, func(s *engine.Step) error {
		about, err := subject(s, by, n)
		if err != nil {
			return err
		}
		deduped = true
		n.TaskID = cmp.Or(n.TaskID, wireIDOf(about))
		made, err = engine.Once(s, "desk-event", once, func() (coordinator.Event, error) {
			deduped = false
			return addNote(s, about, n)
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

// subject checks who tells what of whom, and returns the task that it is about, if
// it is about one. An agent may tell something before its first heartbeat.
func subject(s *engine.Step, by credential.Identity, n coordinator.NewEvent) (store.TaskKey, error) {
	if n.AgentID != "" {
		_, err := agentOf(s, by, n.AgentID)
		if gone(err) {
			err = NoRun(s, n.AgentID)
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
		return key, missing(err, "task", n.TaskID)
	}
	return key, touches(s, by, t)
}

// addNote puts a note and drops the one that is too old.
func addNote(s *engine.Step, about store.TaskKey, n coordinator.NewEvent) (e coordinator.Event, err error) {
	last, err := counted(s)
	if err != nil {
		return e, err
	}
	last++
	s.PutItem(store.Item{ItemKey: countKey(), Seq: last, Made: s.Now()})
	s.DropItem(noteKey(last - keepNotes))
	key := noteKey(last)
	e = coordinator.Event{ID: key.ID, AgentID: n.AgentID, TaskID: n.TaskID, Type: n.Type, Payload: n.Payload, CreatedAt: utc(s.Now())}
	i, err := put(s, key, "", last, e)
	if err != nil {
		return e, err
	}
	return e, s.Event(store.Event{Kind: "note.added", Run: about.Run, Task: about.Task, Why: n.Type}, i)
}
