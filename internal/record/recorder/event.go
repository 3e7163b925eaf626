package recorder

import (
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// eventContent is the part of an event that documents depend on.
type eventContent struct {
	store.Event
	run   *store.Run     // set if the run has changed
	task  *store.Task    // set if a task has a new status
	tried *store.Attempt // the attempt that started or ended with this event, or whose agent has started
}

// read decodes an event. ok is false for most events, because documents do not show
// readiness and questions.
func read(e store.Event) (n eventContent, ok bool, err error) {
	n.Event = e
	switch {
	case strings.HasPrefix(e.Kind, "run."):
		n.run, err = row[store.Run](e.Row)
	case e.Kind == "attempt.started":
		n.tried, err = row[store.Attempt](e.Row)
	case strings.HasPrefix(e.Kind, "task.") && e.To != "":
		n.task, err = row[store.Task](e.Row)
		if err == nil && len(e.Tried) > 0 {
			n.tried, err = row[store.Attempt](e.Tried)
		}
	default:
		return n, false, nil
	}
	return n, err == nil, err
}

func row[V any](text []byte) (*V, error) {
	v, err := record.Read[V](text)
	return &v, err
}
