package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gaffer/internal/engine/store"
)

func (d *data) takeAway(g store.Deletions) {
	drop(d.runs, g.Runs)
	for _, key := range g.Tasks {
		d.ready.move(d.tasks[key], store.Task{})
		delete(d.tasks, key)
		maps.DeleteFunc(d.attempts, func(_ string, a store.Attempt) bool { return a.Key() == key })
	}
	drop(d.questions, g.Questions)
	drop(d.workers, g.Workers)
	drop(d.promises, g.IdempotencyKeys)
	drop(d.cursors, g.Cursors)
	for _, l := range g.Lists {
		maps.DeleteFunc(d.items, func(_ store.ItemKey, i store.Item) bool { return i.Kind == l.Kind && i.Parent == l.Parent })
	}
	d.events = slices.DeleteFunc(d.events, func(e store.Event) bool { return e.Seq < d.last && slices.Contains(g.Events, e.Seq) })
}

func drop[V any](from map[string]V, keys []string) {
	for _, key := range keys {
		delete(from, key)
	}
}

func (d *data) EventsWithoutRows(after int64, limit int) ([]store.Event, error) {
	list, err := d.Events(after, limit)
	for i := range list {
		list[i].Row, list[i].AttemptRow = nil, nil
	}
	return list, err
}

func (d *data) RunsBefore(created time.Time) ([]store.Run, error) {
	list, err := some(d.runs, func(r store.Run) bool { return r.Created.Before(created) }, byCreation)
	for i := range list {
		list[i].Plan = nil
	}
	return list, err
}

func (d *data) IdempotencyRecords(made time.Time, after string, limit int) ([]store.IdempotencyRecord, error) {
	list, err := some(d.promises, func(p store.IdempotencyRecord) bool { return p.Key > after && p.Made.Before(made) },
		func(a, b store.IdempotencyRecord) int { return cmp.Compare(a.Key, b.Key) })
	return list[:min(limit, len(list))], err
}
