// Package memo is what sessions remember of the rows that they have looked up
// and written. Nobody else changes them while a session is open, nor between two
// sessions if nobody has written meanwhile, and the many requests of one session
// ask for the same rows again and again.
package memo

import (
	"cmp"
	"errors"
	"slices"

	"gaffer/internal/engine/store"
)

// Rows remembers rows of one kind, and which are not there. The zero value is
// ready.
type Rows[K comparable, V any] struct {
	// Limit is about how many are remembered: when there are as many, those
	// that nobody has asked for since the last time are forgotten.
	// DefaultLimit if zero.
	Limit int

	young, old map[K]V
	missing    map[K]struct{}
}

// DefaultLimit is how many rows of a kind are remembered.
const DefaultLimit = 16384

// Put remembers a row.
func (m *Rows[K, V]) Put(key K, row V) {
	if len(m.young) >= cmp.Or(m.Limit, DefaultLimit) {
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[key] = row
}

// Missing remembers that those of keys which are not known are not there.
func (m *Rows[K, V]) Missing(keys ...K) {
	if m.missing == nil {
		m.missing = map[K]struct{}{}
	}
	for _, key := range keys {
		if _, there := m.Known(key); !there {
			m.missing[key] = struct{}{}
		}
	}
}

// Known returns a row if it has been seen.
func (m *Rows[K, V]) Known(key K) (V, bool) {
	if row, ok := m.young[key]; ok {
		return row, true
	}
	row, ok := m.old[key]
	if ok {
		m.Put(key, row)
	}
	return row, ok
}

// Has reports whether a row has been seen.
func (m *Rows[K, V]) Has(key K) bool {
	_, known := m.Known(key)
	return known
}

// Forget forgets a row, or that it is not there.
func (m *Rows[K, V]) Forget(key K) {
	delete(m.young, key)
	delete(m.old, key)
	delete(m.missing, key)
}

// Get returns the row that is remembered, or else looks it up.
func (m *Rows[K, V]) Get(key K, look func(K) (V, error)) (V, error) {
	if row, ok := m.Known(key); ok {
		return row, nil
	}
	if _, ok := m.missing[key]; ok {
		var none V
		return none, store.ErrNotFound
	}
	row, err := look(key)
	switch {
	case err == nil:
		m.Put(key, row)
	case errors.Is(err, store.ErrNotFound):
		m.Missing(key)
	}
	return row, err
}

// List remembers a list.
type List[V any] struct {
	rows  []V
	known bool
}

// Put remembers the list.
func (l *List[V]) Put(rows []V) { l.rows, l.known = rows, true }

// Known reports whether the list is remembered.
func (l *List[V]) Known() bool { return l.known }

// Forget forgets the list.
func (l *List[V]) Forget() { l.rows, l.known = nil, false }

// Get returns a copy of the list that is remembered, or else looks it up.
func (l *List[V]) Get(look func() ([]V, error)) ([]V, error) {
	if !l.known {
		rows, err := look()
		if err != nil {
			return nil, err
		}
		l.Put(rows)
	}
	return slices.Clone(l.rows), nil
}
