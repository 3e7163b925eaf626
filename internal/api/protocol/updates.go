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

// Updates implements [server.Protocol]. A change is told as it was when it was made.
// Those of runs that are no channel's or chain's have the shapes of package fleet.
func (d *Service) Updates(ctx context.Context, after int64, limit int) (list []server.Update, last int64, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
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

// UpdatesOf is [Service.Updates] of one run that is no channel's or chain's, from a
// reader that the caller has.
func UpdatesOf(r store.Reader, run string, after int64, limit int) (list []server.Update, last int64, err error) {
	events, err := r.EventsOf(run, after, limit)
	if err != nil || len(events) == 0 {
		return nil, after, err
	}
	list, err = newUpdateReader(r, time.Time{}).updates(events) // no event of a run is about an agent
	return list, events[len(events)-1].Seq, err
}

// gone reports whether what an event is about is no longer there: it has ended long
// ago, and was taken away. Whoever follows the stream gets what is left.
func gone(err error) bool {
	missing := (*NotFoundError)(nil)
	return errors.Is(err, store.ErrNotFound) || errors.As(err, &missing)
}

// unreadable reports whether an error is that of JSON which cannot be decoded. It
// will not get better, and must not keep what came later from those who follow.
func unreadable(err error) bool {
	syntax, kind := (*json.SyntaxError)(nil), (*json.UnmarshalTypeError)(nil)
	return errors.As(err, &syntax) || errors.As(err, &kind)
}

// updateReader turns events of the engine into updates.
type updateReader struct {
	r        store.Reader
	now      time.Time
	projects map[string]string                 // by run
	counts   map[string]fleet.Counts           // by run
	specs    map[store.TaskKey]json.RawMessage // which never change
}

func newUpdateReader(r store.Reader, now time.Time) *updateReader {
	return &updateReader{r: r, now: now, projects: map[string]string{}, counts: map[string]fleet.Counts{}, specs: map[store.TaskKey]json.RawMessage{}}
}

func (t *updateReader) updates(events []store.Event) (list []server.Update, err error) {
	for _, e := range events {
		u, ok, err := t.update(e)
		if gone(err) || unreadable(err) {
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

// types are the updates that events are told as, but for those of tasks.
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

func (t *updateReader) update(e store.Event) (u server.Update, told bool, err error) {
	u = server.Update{Seq: e.Seq, Run: e.Run, Update: coordinator.Update{Type: typeOf(e), Time: utc(e.At)}}
	switch {
	case u.Type == "":
		return u, false, nil
	case u.Type == "agents":
		u.Change, err = t.agent(e)
	case u.Type == "lanes":
		u.Change, err = lane(e)
	case u.Type == "tasks" && ours(e.Run):
		u.Change, err = t.task(e)
	case isRuns(e):
		u.Change, u.Project, err = t.changed(e)
	case !strings.HasPrefix(e.Kind, "chain."): // whoever shows chains asks for them
		u.Change, err = data(e)
	}
	return u, true, err
}

// typeOf is what an event is told as, or empty if it is not told.
func typeOf(e store.Event) string {
	switch {
	case isRuns(e):
		return runType(e)
	case strings.HasPrefix(e.Kind, "task.") && e.To != "":
		return "tasks"
	}
	return types[e.Kind]
}

// isRuns reports whether an event is one of a run that is no channel's or chain's.
// Questions may belong to none at all.
func isRuns(e store.Event) bool {
	return (e.Run != "" || strings.HasPrefix(e.Kind, "question.")) && !ours(e.Run) && types[e.Kind] == ""
}

// changed is such a change, with the project that it is of.
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

// data is what the item of an event holds.
func data(e store.Event) (json.RawMessage, error) {
	var i store.Item
	err := json.Unmarshal(e.Row, &i)
	return i.Data, err
}

// lane is an agent account as it is for others. One that is open again is paused
// until a time that is long past.
func lane(e store.Event) (json.RawMessage, error) {
	l, err := decoded[store.Lane](e.Row)
	if err != nil {
		return nil, err
	}
	return json.Marshal(fleet.Lane{Name: l.Name, Until: utc(l.Until), Reason: l.Reason})
}

// agent is an agent as it has said of itself, and last seen as it is now: that is
// no event, and whoever reads an old one must not take the agent for offline.
func (t *updateReader) agent(e store.Event) (json.RawMessage, error) {
	var w store.Worker
	if err := json.Unmarshal(e.Row, &w); err != nil {
		return nil, err
	}
	now, err := t.r.Worker(w.ID)
	if err != nil {
		return nil, missing(err, "agent", w.ID)
	}
	w.Seen = now.Seen
	return json.Marshal(agentAt(w, t.now))
}

// task is a task as it was after an event. Its words are in the store alone.
func (t *updateReader) task(e store.Event) (json.RawMessage, error) {
	var row store.Task
	if err := json.Unmarshal(e.Row, &row); err != nil {
		return nil, err
	}
	if err := t.specify(&row, wireID(row.TaskKey)); err != nil {
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

// specify adds the plan's words to a task, which are in its first event alone.
func (t *updateReader) specify(row *store.Task, name string) error {
	if row.Spec == nil {
		spec, known := t.specs[row.TaskKey]
		if !known {
			now, err := t.r.Task(row.TaskKey)
			if err != nil {
				return missing(err, "task", name)
			}
			spec = now.Spec
		}
		row.Spec = spec
	}
	t.specs[row.TaskKey] = row.Spec
	return nil
}

func (t *updateReader) attempt(e store.Event, row store.Task) (*store.Attempt, error) {
	if e.Tried == nil {
		return lastAttempt(t.r, row)
	}
	var a store.Attempt
	err := json.Unmarshal(e.Tried, &a)
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
