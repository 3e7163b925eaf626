package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"gaffer/internal/store"
	"gaffer/internal/store/sqlite"
)

func TestSimulatedFleetsOnSQLiteKeepEveryPromise(t *testing.T) {
	dir, n := t.TempDir(), 0
	simulateRuns(t, min(*want, 200), func(*world) store.Store {
		n++
		s, err := sqlite.Open(context.Background(), filepath.Join(dir, fmt.Sprintf("%d.db", n)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
