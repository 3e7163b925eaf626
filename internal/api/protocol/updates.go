package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/server"
	"gaffer/internal/engine/store"
)

// changeFeed converts the changes in the store to updates. The server sends these updates to
// clients in the event stream.
type changeFeed struct {
	db  *database
	now func() time.Time
}

// Ready implements [server.Protocol].
func (d *changeFeed) Ready(ctx context.Context) error {
	_, err := d.Last(ctx)
	return err
}

// Last implements [server.Protocol].
func (d *changeFeed) Last(ctx context.Context) (last int64, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		last, err = r.LastSeq()
		return err
	})
	return last, err
}

// Wait implements [server.Protocol].
func (d *changeFeed) Wait(ctx context.Context, after int64) error {
	return d.db.store.Wait(ctx, after)
}

// Updates implements [server.Protocol]. Most updates contain the changed object as it was after the
// change. If the change is about a run that a user submitted, the object has a type of package
// fleet, or a type of package coordinator that embeds one.
func (d *changeFeed) Updates(ctx context.Context, after int64, limit int) (list []server.Update, last int64, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) error {
		list, last = nil, after
		events, err := r.Events(after, limit)
		if err != nil {
			return err
		}
		if len(events) > 0 {
			last = events[len(events)-1].Seq
		}
		list, err = newUpdateReader(r, d.now()).updates(events)
		return err
	})
	return list, last, err
}

// UpdatesOf returns the updates about one run that a user submitted. It reads at most limit events
// of the run, beginning with the first one whose sequence number is above cursor. last is the
// sequence number of the last event that it has read, or cursor if there was none.
func UpdatesOf(r store.Reader, run string, cursor int64, limit int) (list []server.Update, last int64, err error) {
	events, err := r.EventsOf(run, cursor, limit)
	if err != nil || len(events) == 0 {
		return nil, cursor, err
	}
	// The zero time is not used: only updates about agents need the current time, and no event of a
	// run is about an agent.
	list, err = newUpdateReader(r, time.Time{}).updates(events)
	return list, events[len(events)-1].Seq, err
}

// isNotFound reports whether err means that an object does not exist. The event stream skips events
// whose object was deleted.
func isNotFound(err error) bool {
	missing := (*NotFoundError)(nil)
	return errors.Is(err, store.ErrNotFound) || errors.As(err, &missing)
}

// unreadable reports whether err means that stored JSON cannot be decoded. The event stream skips
// events with such JSON: retrying would not help, and later events must not wait for them.
func unreadable(err error) bool {
	syntax, kind := (*json.SyntaxError)(nil), (*json.UnmarshalTypeError)(nil)
	return errors.As(err, &syntax) || errors.As(err, &kind)
}

// updateReader converts events of the engine into updates for the event stream.
type updateReader struct {
	r        store.Reader
	now      time.Time
	projects map[string]string                 // project of each run, by run id
	counts   map[string]fleet.Counts           // task counts of each run by status, by run id
	specs    map[store.TaskKey]json.RawMessage // cache of task specifications; they do not change during one read of the store
}

func newUpdateReader(r store.Reader, now time.Time) *updateReader {
	return &updateReader{r: r, now: now, projects: map[string]string{}, counts: map[string]fleet.Counts{}, specs: map[store.TaskKey]json.RawMessage{}}
}

func (t *updateReader) updates(events []store.Event) (list []server.Update, err error) {
	for _, e := range events {
		u, ok, err := t.update(e)
		if isNotFound(err) || unreadable(err) {
			ok, err = false, nil
		}
		if err != nil {
			return nil, fmt.Errorf("event %d (%s): %w", e.Seq, e.Kind, err)
		}
		if ok {
			list = append(list, u)
		}
	}
	return list, nil
}

// types maps the kind of an event to the type of the update that the event stream sends for it. It
// does not contain events about runs that users submitted (see runTypes), nor events about tasks of
// channels and chains (see typeOf).
var types = map[string]string{
	"worker.changed": "agents",
	"channel.added":  "channels",
	"chain.added":    "channels",
	"chain.changed":  "channels",
	"input.added":    "inputs",
	"input.claimed":  "inputs",
	"note.added":     "events",
	"lane.paused":    "lanes",
	"lane.open":      "lanes",
}

func (t *updateReader) update(e store.Event) (u server.Update, sent bool, err error) {
	u = server.Update{Seq: e.Seq, Run: e.Run, Update: coordinator.Update{Type: typeOf(e), Time: inUTC(e.At)}}
	switch {
	case u.Type == "":
		return u, false, nil
	case u.Type == "agents":
		u.Change, err = t.agent(e)
	case u.Type == "lanes":
		u.Change, err = lane(e)
	case u.Type == "tasks" && OwnsRun(e.Run):
		u.Change, err = t.task(e)
	case isUserRun(e):
		u.Change, u.Project, err = t.changed(e)
	// Updates about chains contain no changed object. The client must request the chains again.
	case !strings.HasPrefix(e.Kind, "chain."):
		u.Change, err = data(e)
	}
	return u, true, err
}

// typeOf returns the type of the update that the event stream sends for an event. It returns "" if
// the stream sends nothing for the event.
func typeOf(e store.Event) string {
	switch {
	case isUserRun(e):
		return runType(e)
	case strings.HasPrefix(e.Kind, "task.") && e.To != "":
		return "tasks"
	}
	return types[e.Kind]
}

// isUserRun reports whether an event is about a run that a user submitted, and not about the run of
// a channel or chain. It also returns true for events about questions that belong to no run.
func isUserRun(e store.Event) bool {
	return (e.Run != "" || strings.HasPrefix(e.Kind, "question.")) && !OwnsRun(e.Run) && types[e.Kind] == ""
}

// changed returns the object that an event about a user's run has changed, as JSON, and the run's
// project.
func (t *updateReader) changed(e store.Event) (json.RawMessage, string, error) {
	row, err := t.ofRun(e)
	if err != nil {
		return nil, "", err
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil, "", err
	}
	project, err := t.project(e.Run)
	return text, project, err
}

// data returns the JSON data of the item that an event contains.
func data(e store.Event) (json.RawMessage, error) {
	var i store.Item
	err := json.Unmarshal(e.Row, &i)
	return i.Data, err
}

// lane returns the agent account or the user's cost limit that an event contains, as the JSON of a
// [fleet.Lane]. Until is the end of the pause, or zero if there is no pause any more.
func lane(e store.Event) (json.RawMessage, error) {
	l, err := decoded[store.Account](e.Row)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fleet.Lane{Name: l.Name, Until: inUTC(l.Until), Reason: l.Reason})
}

// agent returns the agent of an event as it was after the event, but with the agent's current
// last-seen time and activity, because these change without events. With the last-seen time of an
// old event, clients would show the agent as offline.
func (t *updateReader) agent(e store.Event) (json.RawMessage, error) {
	var w store.Worker
	if err := json.Unmarshal(e.Row, &w); err != nil {
		return nil, err
	}
	now, err := t.r.Worker(w.ID)
	if err != nil {
		return nil, NotFound(err, "agent", w.ID)
	}
	w.Seen, w.Now = now.Seen, now.Now
	return json.Marshal(agentAt(w, t.now))
}

// task returns the task of an event as it was after the event.
func (t *updateReader) task(e store.Event) (json.RawMessage, error) {
	var row store.Task
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return nil, err
	}
	if err := t.addSpec(&row, wireID(row.TaskKey)); err != nil {
		return nil, err
	}
	a, err := t.attempt(e, row)
	if err != nil {
		return nil, err
	}
	task, err := wireTask(row, a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(task)
}

// addSpec adds the specification to the row of a task, if the row lacks it. Only the first event of
// a task contains the specification. For later events, addSpec takes it from the cache or from the
// store. name is the task's id for error messages.
func (t *updateReader) addSpec(row *store.Task, name string) error {
	if row.Spec == nil {
		spec, known := t.specs[row.TaskKey]
		if !known {
			now, err := t.r.Task(row.TaskKey)
			if err != nil {
				return NotFound(err, "task", name)
			}
			spec = now.Spec
		}
		row.Spec = spec
	}
	t.specs[row.TaskKey] = row.Spec
	return nil
}

func (t *updateReader) attempt(e store.Event, row store.Task) (*store.Attempt, error) {
	if e.AttemptRow == nil {
		return lastAttempt(t.r, row)
	}
	var a store.Attempt
	err := json.Unmarshal(e.AttemptRow, &a)
	return &a, err
}

func (t *updateReader) project(run string) (string, error) {
	if project, known := t.projects[run]; known {
		return project, nil
	}
	row, err := t.r.Run(run)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	t.projects[run] = row.Project
	return row.Project, nil
}
