package protocol

import (
	"encoding/json"
	"strings"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// runTypes maps the first part of an event's kind, such as "task" in "task.ready", to the type of
// the update that the event stream sends to clients. It is used only for events about runs that
// users submitted, and not for the runs of channels and chains.
var runTypes = map[string]string{
	"run": "runs", "task": "tasks", "attempt": "attempts", "question": "questions", "review": "reviews", "message": "messages",
}

// runType returns the type of the update that the event stream sends for an event about a user's
// run. It returns "" if the stream sends nothing for the event.
func runType(e store.Event) string {
	kind, _, _ := strings.Cut(e.Kind, ".")
	if kind == "task" && e.To == "" {
		return ""
	}
	return runTypes[kind]
}

// ofRun returns the object that an event about a user's run has changed, for example the run itself
// or one of its tasks. It converts the object to the type that the event stream sends. It leaves
// out the prompts of tasks, because they may be very long.
func (t *updateReader) ofRun(e store.Event) (any, error) {
	switch runType(e) {
	case "runs":
		return t.run(e)
	case "tasks":
		return t.runTask(e)
	case "attempts":
		a, err := decoded[store.Attempt](e.Row)
		return AttemptOf(a), err
	case "reviews":
		return t.review(e)
	case "messages":
		return t.message(e)
	}
	q, err := decoded[store.Question](e.Row)
	return QuestionOf(q), err
}

// AttemptOf converts an attempt to the type that the event stream sends.
func AttemptOf(a store.Attempt) coordinator.AttemptChange {
	return coordinator.AttemptChange{Run: a.Run, Task: a.Task, Attempt: *runquery.AttemptOf(a)}
}

// QuestionOf converts a question to the type that the event stream sends.
func QuestionOf(q store.Question) coordinator.QuestionChange {
	return coordinator.QuestionChange{
		Question: runquery.QuestionOf(q), Closed: q.Closed, Answer: q.Answer, Denied: q.Denied, By: q.By, Answered: q.Answered,
	}
}

// review returns the current state of the review of a task's changes that an event is about. It
// leaves out the comments and the list of viewed files: there may be many, and clients can request
// them separately.
func (t *updateReader) review(e store.Event) (any, error) {
	item, err := t.r.Item(store.ItemKey{Kind: engine.ReviewKind, ID: engine.TaskItemID(store.TaskKey{Run: e.Run, Task: e.Task})})
	if err != nil {
		return nil, NotFound(err, "review of task", e.Task)
	}
	v, err := decoded[fleet.Review](item.Data)
	v.Comments, v.Viewed = nil, nil
	return v, err
}

// message returns the current state of the message that an event is about.
func (t *updateReader) message(e store.Event) (any, error) {
	row, err := decoded[engine.MessageRow](e.Row)
	if err != nil {
		return nil, err
	}
	item, err := t.r.Item(store.ItemKey{Kind: engine.MessageKind, ID: row.ID})
	if err != nil {
		return nil, NotFound(err, "message", row.ID)
	}
	return decoded[fleet.Message](item.Data)
}

func decoded[V any](text json.RawMessage) (v V, err error) {
	err = json.Unmarshal(text, &v)
	return v, err
}

// run returns the run of an event as it was after the event. Only the numbers of its tasks by
// status are the current ones. The result does not contain the tasks, because each change of a task
// has its own update.
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
	if err := t.addSpec(&row, row.Run+"/"+row.Task); err != nil {
		return nil, err
	}
	spec, err := plan.DecodeTask(row.Spec)
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
