package sqlite_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
)

// runsSeen reads the runs since a time with QuickRead, and returns their ids.
func runsSeen(t *testing.T, path string, since time.Time) (ids []string) {
	t.Helper()
	err := sqlite.QuickRead(t.Context(), path, func(r store.Reader) error {
		runs, err := r.(sqlite.QuickReader).RunsSince(since)
		for _, run := range runs {
			ids = append(ids, run.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	return ids
}

func putRun(t *testing.T, s store.Store, id string, status store.Status, created time.Time) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.PutRun(store.Run{ID: id, Status: status, Created: created, Plan: []byte(`{}`)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestQuickReadReadsWhileAnotherProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaffer.db")
	s := open(t, path)
	defer func() { _ = s.Close() }()
	noon := time.Date(2026, 2, 17, 12, 0, 0, 0, time.UTC)
	putRun(t, s, "old", store.Complete, noon.Add(-time.Hour))
	putRun(t, s, "old and running", store.Running, noon.Add(-time.Hour))
	putRun(t, s, "new", store.Failed, noon)
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		tx.PutRun(store.Run{ID: "on its way", Status: store.Running, Created: noon})
		if got := runsSeen(t, path, noon); !slices.Equal(got, []string{"new", "old and running"}) {
			t.Errorf("seen %q", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := runsSeen(t, path, noon); !slices.Equal(got, []string{"new", "old and running", "on its way"}) {
		t.Errorf("seen afterwards %q", got)
	}
}

// A killed process leaves a write-ahead log. QuickRead must read the changes in the log, but must
// not copy them into the database file.
func TestQuickReadReadsTheLogOfAKilledProcessAndChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaffer.db")
	s := open(t, path)
	defer func() { _ = s.Close() }()
	putRun(t, s, "a", store.Running, time.Now())
	left := filepath.Join(t.TempDir(), "gaffer.db")
	before := map[string][]byte{}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err == nil {
			err = os.WriteFile(left+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		before[left+suffix] = data
	}
	if got := runsSeen(t, left, time.Time{}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("seen %q", got)
	}
	for name, data := range before {
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, data) {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
}

func TestQuickReadCreatesNoDatabaseAndRefusesOtherFiles(t *testing.T) {
	none := func(store.Reader) error { t.Error("looked"); return nil }
	dir := t.TempDir()
	if err := sqlite.QuickRead(t.Context(), filepath.Join(dir, "sub", "gaffer.db"), none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for name, content := range map[string]string{"empty": "", "text": strings.Repeat("not a database\n", 1000)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var damaged *sqlite.DamagedError
		if err := sqlite.QuickRead(t.Context(), file, none); !errors.As(err, &damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	newer := made(t)
	run(t, newer, "PRAGMA user_version = 99")
	if err := sqlite.QuickRead(t.Context(), newer, none); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("newer: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left %v, %v", entries, err)
	}
}
