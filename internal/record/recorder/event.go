package recorder

import (
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// eventContent is a decoded event with the rows that it has changed. From these rows the recorder
// computes the run's documents, which are files for other programs.
type eventContent struct {
	store.Event
	run  *store.Run  // the run's row; nil if the run has not changed
	task *store.Task // the task's row; nil if the task has no new status
	// attempt is the attempt's row if the attempt has started or ended, or if the process of its
	// agent has started. Otherwise it is nil.
	attempt *store.Attempt
}

// decodeEvent decodes an event. ok is false if the recorder's documents do not depend on the event,
// for example because it is about a question.
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
