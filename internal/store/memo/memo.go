// Package memo is what a session remembers of the rows that it has looked up.
// Nobody else changes them while it is open, and the many requests of one
// session ask for the same rows again and again.
package memo

import (
	"errors"
	"slices"

	"gaffer/internal/store"
)

// Rows remembers rows of one kind, and which are not there.
type Rows[K comparable, V any] struct {
	byKey   map[K]V
	missing map[K]struct{}
}

// Put remembers a row.
func (m *Rows[K, V]) Put(key K, row V) {
	if m.byKey == nil {
		m.byKey = map[K]V{}
	}
	m.byKey[key] = row
}

// Missing remembers that those of keys which are not known are not there.
func (m *Rows[K, V]) Missing(keys ...K) {
	if m.missing == nil {
		m.missing = map[K]struct{}{}
	}
	for _, key := range keys {
		if _, there := m.byKey[key]; !there {
			m.missing[key] = struct{}{}
		}
	}
}

// Known returns a row if it has been seen.
func (m *Rows[K, V]) Known(key K) (V, bool) {
	row, ok := m.byKey[key]
	return row, ok
}

// Get returns the row that is remembered, or else looks it up.
func (m *Rows[K, V]) Get(key K, look func(K) (V, error)) (V, error) {
	if row, ok := m.byKey[key]; ok {
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
