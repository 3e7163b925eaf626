package team

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// noon is the time at which most tests take place.
var noon = time.Date(2025, 1, 6, 12, 0, 0, 0, time.UTC)

func openAt(t *testing.T, root string, now time.Time) *Store {
	t.Helper()
	return Open(root, Options{Now: func() time.Time { return now }})
}

// seedFolder returns a folder with the protocol's examples.
func seedFolder(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "coordination")
	for _, d := range Documents() {
		put(t, root, d, seed(t, d))
	}
	return root
}

func seed(t testing.TB, d Document) []byte {
	t.Helper()
	return readFile(t, filepath.Join("testdata", "seed", filepath.Base(d.Path())))
}

// freeC returns the orchestrator's document from the protocol's example, changed so that the tech
// lead is on group B instead of C. So an agent can start on C.
func freeC(t *testing.T) string {
	t.Helper()
	return strings.Replace(string(seed(t, OrchestratorDoc)), `"group_id": "C"`, `"group_id": "B"`, 1)
}

func put(t *testing.T, root string, d Document, data []byte) {
	t.Helper()
	path := filepath.Join(root, d.Path())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
