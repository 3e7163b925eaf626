package recorder

import (
	"encoding/json"
	"strings"

	"gaffer/internal/store"
)

// news is what an event says that a document has a place for.
type news struct {
	store.Event
	run   *store.Run     // a run has changed
	task  *store.Task    // a task has another status
	tried *store.Attempt // the attempt that began or ended with that, or whose agent has started
}

// read returns the news in an event. Most events have none: what is ready,
// unblocked or asked has no place in a document.
func read(e store.Event) (n news, ok bool, err error) {
	n.Event = e
	switch {
	case strings.HasPrefix(e.Kind, "run."):
		n.run = &store.Run{}
		return n, true, json.Unmarshal(e.Row, n.run)
	case e.Kind == "attempt.started":
		n.tried = &store.Attempt{}
		return n, true, json.Unmarshal(e.Row, n.tried)
	case strings.HasPrefix(e.Kind, "task.") && e.To != "":
		n.task = &store.Task{}
		if err := json.Unmarshal(e.Row, n.task); err != nil {
			return n, false, err
		}
		if len(e.Tried) > 0 {
			n.tried = &store.Attempt{}
			err = json.Unmarshal(e.Tried, n.tried)
		}
		return n, true, err
	}
	return n, false, nil
}
