package protocol

import (
	"encoding/json"
	"strings"

	"gaffer/coordinator"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Owns reports whether a run is that of a channel or a chain, and none that a
// person has submitted.
func Owns(run string) bool { return ours(run) }

// runTypes are the updates that events of other runs are told as, by the first
// part of their kind.
var runTypes = map[string]string{"run": "runs", "task": "tasks", "attempt": "attempts", "question": "questions"}

// runType is what an event of a run that is no channel's or chain's is told as, or
// empty if it is not told: what only the engine cares for.
func runType(e store.Event) string {
	kind, _, _ := strings.Cut(e.Kind, ".")
	if kind == "task" && e.To == "" {
		return ""
	}
	return runTypes[kind]
}

// ofRun is a change of such a run, in the shapes of package fleet. What agents are
// told to do is not in it: there may be very much of it.
func (t *updateReader) ofRun(e store.Event) (any, error) {
	switch runType(e) {
	case "runs":
		return t.run(e)
	case "tasks":
		return t.runTask(e)
	case "attempts":
		a, err := decoded[store.Attempt](e.Row)
		return AttemptOf(a), err
	}
	q, err := decoded[store.Question](e.Row)
	return QuestionOf(q), err
}

// AttemptOf is an attempt as the stream tells it.
func AttemptOf(a store.Attempt) coordinator.AttemptChange {
	return coordinator.AttemptChange{Run: a.Run, Task: a.Task, Attempt: *runquery.AttemptOf(a)}
}

// QuestionOf is a question as the stream tells it.
func QuestionOf(q store.Question) coordinator.QuestionChange {
	return coordinator.QuestionChange{
		Question: runquery.QuestionOf(q), Closed: q.Closed, Answer: q.Answer, Denied: q.Denied, By: q.By, Answered: q.Answered,
	}
}

func decoded[V any](text json.RawMessage) (v V, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

// run is a run as it was after an event. Its tasks are counted as they are now:
// each has updates of its own.
func (t *updateReader) run(e store.Event) (any, error) {
	row, err := decoded[store.Run](e.Row)
	if err != nil {
		return nil, err
	}
	v := runquery.RunOf(row)
	counts, known := t.counts[row.ID]
	if !known {
		if counts, err = runquery.Count(t.r, row.ID); err != nil {
			return nil, err
		}
		t.counts[row.ID] = counts
	}
	v.Counts = counts
	return v, nil
}

func (t *updateReader) runTask(e store.Event) (any, error) {
	row, err := decoded[store.Task](e.Row)
	if err != nil {
		return nil, err
	}
	if err := t.specify(&row, row.Run+"/"+row.Task); err != nil {
		return nil, err
	}
	spec, err := decoded[plan.Task](row.Spec)
	if err != nil {
		return nil, err
	}
	v := runquery.TaskOf(row, spec)
	v.Prompt = ""
	a, err := t.attempt(e, row)
	if a != nil {
		v.Attempt = runquery.AttemptOf(*a)
	}
	return v, err
}
