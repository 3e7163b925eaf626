package recorder

import (
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
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
