package postgres

import "gaffer/internal/engine/store"

const (
	eventsOf    = "SELECT data, row, tried FROM event WHERE run = $1 AND seq > $2 ORDER BY seq LIMIT $3"
	questionsOf = "SELECT data FROM question WHERE (readable(data) ->> 'run') COLLATE \"C\" = $1 ORDER BY asked, id"
)

// EventsOf implements [store.Reader].
func (r *reader) EventsOf(run string, after int64, limit int) ([]store.Event, error) {
	return r.events(eventsOf, run, after, limit)
}

// QuestionsOf implements [store.Reader].
func (r *reader) QuestionsOf(run string) ([]store.Question, error) {
	return many[store.Question](r, questionsOf, run)
}
