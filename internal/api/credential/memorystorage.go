package credential

import (
	"context"
	"slices"
	"sync"
	"time"
)

// MemoryStorage is a [Storage] in memory. The zero value is empty and ready to use.
type MemoryStorage struct {
	mu   sync.Mutex
	rows []Token
}

// List implements [Storage].
func (m *MemoryStorage) List(context.Context) ([]Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows), nil
}

// Put implements [Storage].
func (m *MemoryStorage) Put(_ context.Context, row Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(row.ID)
	m.rows = append(m.rows, row)
	return nil
}

// Drop implements [Storage].
func (m *MemoryStorage) Drop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(id)
	return nil
}

// Touch implements [Storage].
func (m *MemoryStorage) Touch(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.rows {
		if m.rows[i].ID == id {
			m.rows[i].Used = at
		}
	}
	return nil
}

func (m *MemoryStorage) drop(id string) {
	m.rows = slices.DeleteFunc(m.rows, func(r Token) bool { return r.ID == id })
}

var _ Storage = (*MemoryStorage)(nil)
