package memory

import (
	"maps"
	"slices"

	"gaffer/internal/engine/store"
)

func (d *data) deleteRows(g store.Deletions) {
	deleteKeys(d.runs, g.Runs)
	for _, key := range g.Tasks {
		d.readyTasks.move(d.tasks[key], store.Task{})
		delete(d.tasks, key)
		maps.DeleteFunc(d.attempts, func(_ string, a store.Attempt) bool { return a.Key() == key })
	}
	deleteKeys(d.questions, g.Questions)
	deleteKeys(d.workers, g.Workers)
	deleteKeys(d.idempotencyRecords, g.IdempotencyKeys)
	deleteKeys(d.cursors, g.Cursors)
	for _, l := range g.Lists {
		maps.DeleteFunc(d.items, func(_ store.ItemKey, i store.Item) bool { return i.Kind == l.Kind && i.Parent == l.Parent })
	}
	d.events = slices.DeleteFunc(d.events, func(e store.Event) bool { return e.Seq < d.last && slices.Contains(g.Events, e.Seq) })
}

func deleteKeys[V any](from map[string]V, keys []string) {
	for _, key := range keys {
		delete(from, key)
	}
}
