package credential

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Memory stores tokens in memory. The zero value is empty.
type Memory struct {
	mu   sync.Mutex
	rows []Row
}

// List implements [Rows].
func (m *Memory) List(context.Context) ([]Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rows), nil
}

// Put implements [Rows].
func (m *Memory) Put(_ context.Context, row Row) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(row.ID)
	m.rows = append(m.rows, row)
	return nil
}

// Drop implements [Rows].
func (m *Memory) Drop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(id)
	return nil
}

// Touch implements [Rows].
func (m *Memory) Touch(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.rows {
		if m.rows[i].ID == id {
			m.rows[i].Used = at
		}
	}
	return nil
}

func (m *Memory) drop(id string) {
	m.rows = slices.DeleteFunc(m.rows, func(r Row) bool { return r.ID == id })
}

var _ Rows = (*Memory)(nil)
