package sqlite

import "gaffer/internal/engine/store"

// The condition run <> ” matches that of the index event_run.
const (
	eventsOf    = "SELECT data, row, tried FROM event WHERE run = ? AND run <> '' AND seq > ? ORDER BY seq LIMIT ?+0"
	questionsOf = "SELECT data FROM question WHERE data ->> 'run' = ? ORDER BY asked, id"
)

// EventsOf implements [store.Reader].
func (r *reader) EventsOf(run string, after int64, limit int) ([]store.Event, error) {
	return r.events(eventsOf, run, after, limit)
}

// QuestionsOf implements [store.Reader].
func (r *reader) QuestionsOf(run string) ([]store.Question, error) {
	return many[store.Question](r.c, questionsOf, run)
}
