// Package memo caches the rows that sessions have read and written. Nothing else
// changes these rows while a session is open, nor between two sessions if no other
// process has written. The many requests of one session look up the same rows again and
// again.
package memo

import (
	"cmp"
	"errors"
	"slices"

	"gaffer/internal/engine/store"
)

// Rows caches rows of one kind, and which rows are missing. The zero value is ready to
// use.
type Rows[K comparable, V any] struct {
	// Limit is the approximate maximum number of cached rows. When it is reached, rows
	// that were not used since the last time are removed. DefaultLimit if zero.
	Limit int

	young, old map[K]V
	missing    map[K]struct{}
}

// DefaultLimit is the default number of cached rows of a kind.
const DefaultLimit = 16384

// Put caches a row.
func (m *Rows[K, V]) Put(key K, row V) {
	if len(m.young) >= cmp.Or(m.Limit, DefaultLimit) {
		m.old, m.young = m.young, nil
	}
	if m.young == nil {
		m.young = map[K]V{}
	}
	m.young[key] = row
}

// Missing records that the given rows do not exist, except those that are cached.
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

// Known returns a row if it is cached.
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

// Has reports whether a row is cached.
func (m *Rows[K, V]) Has(key K) bool {
	_, known := m.Known(key)
	return known
}

// Forget removes a row from the cache, or the record that it is missing.
func (m *Rows[K, V]) Forget(key K) {
	delete(m.young, key)
	delete(m.old, key)
	delete(m.missing, key)
}

// Get returns a row from the cache, or else looks it up.
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

// List caches a list.
type List[V any] struct {
	rows  []V
	known bool
}

// Put caches the list.
func (l *List[V]) Put(rows []V) { l.rows, l.known = rows, true }

// Known reports whether the list is cached.
func (l *List[V]) Known() bool { return l.known }

// Forget clears the cache.
func (l *List[V]) Forget() { l.rows, l.known = nil, false }

// Get returns a copy of the cached list, or else looks it up.
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
