package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/testkit/testenv"
)

func TestSimulatedFleetsOnSQLiteKeepAllInvariants(t *testing.T) {
	dir, n := t.TempDir(), 0
	simulateRuns(t, runCount(testenv.Count(20, 100, 1000)), func(*world) store.Store {
		n++
		s, err := sqlite.Open(context.Background(), filepath.Join(dir, fmt.Sprintf("%d.db", n)))
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
