package memory

import (
	"sort"

	"gaffer/internal/engine/store"
)

// EventsOf implements [store.Reader].
func (d *data) EventsOf(run string, after int64, limit int) (list []store.Event, err error) {
	from := sort.Search(len(d.events), func(i int) bool { return d.events[i].Seq > after })
	for _, e := range d.events[from:] {
		if len(list) == limit {
			break
		}
		if e.Run == run && run != "" {
			list = append(list, e)
		}
	}
	return list, nil
}

// QuestionsOf implements [store.Reader].
func (d *data) QuestionsOf(run string) ([]store.Question, error) {
	return some(d.questions, func(q store.Question) bool { return q.Run == run }, byAsking)
}
