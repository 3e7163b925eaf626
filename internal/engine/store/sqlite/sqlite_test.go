package sqlite_test

import (
	"path/filepath"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/engine/store/storetest"
)

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Database {
		path := filepath.Join(t.TempDir(), "state", "gaffer.db")
		return storetest.Database{Open: func(t *testing.T) store.Store { return open(t, path) }}
	})
}
