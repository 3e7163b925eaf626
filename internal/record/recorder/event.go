package recorder

import (
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// eventContent is the part of an event that documents depend on.
type eventContent struct {
	store.Event
	run     *store.Run     // set if the run has changed
	task    *store.Task    // set if a task has a new status
	attempt *store.Attempt // the attempt that started or ended with this event, or whose agent has started
}

// decodeEvent decodes an event. ok is false for most events, because documents do not show
// readiness and questions.
func decodeEvent(e store.Event) (n eventContent, ok bool, err error) {
	n.Event = e
	switch {
	case strings.HasPrefix(e.Kind, "run."):
		n.run, err = decodeRow[store.Run](e.Row)
	case e.Kind == "attempt.started":
		n.attempt, err = decodeRow[store.Attempt](e.Row)
	case strings.HasPrefix(e.Kind, "task.") && e.To != "":
		n.task, err = decodeRow[store.Task](e.Row)
		if err == nil && len(e.AttemptRow) > 0 {
			n.attempt, err = decodeRow[store.Attempt](e.AttemptRow)
		}
	default:
		return n, false, nil
	}
	return n, err == nil, err
}

func decodeRow[V any](text []byte) (*V, error) {
	v, err := record.Read[V](text)
	return &v, err
}
