package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/statefile/host"
)

// If a process opens a database while its file is replaced, the process must get the new file.
// Changes that it writes to the old file would be lost.
func TestAStoreThatIsOpenedWhileItsFileIsReplacedUsesTheNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaffer.db")
	old := named(t, path, "old")
	other := named(t, filepath.Join(filepath.Dir(path), "other"), "new")
	queue := queueOf(old)
	turn, err := queue.wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type opened struct {
		*Store
		err error
	}
	done := make(chan opened)
	go func() {
		s, err := Open(context.WithoutCancel(t.Context()), path)
		done <- opened{s, err}
	}()
	for waiting := false; !waiting; { // repeat until the store waits for its turn
		soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		next, err := host.OS().Lock(soon, opNext, queue.next)
		if waiting = errors.Is(err, context.DeadlineExceeded); err == nil {
			_ = next.Unlock()
		}
		cancel()
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if err := turn.Unlock(); err != nil {
		t.Fatal(err)
	}
	s := <-done
	if s.err != nil {
		t.Fatal(s.err)
	}
	defer func() { _ = s.Close() }()
	err = s.Read(t.Context(), func(r store.Reader) error {
		_, err := r.Worker("new")
		return err
	})
	if err != nil {
		t.Errorf("the database that was opened has no worker of the new one: %v", err)
	}
}

func named(t *testing.T, path, worker string) string {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err == nil {
		err = errors.Join(s.Write(t.Context(), func(tx *store.Tx) error {
			tx.PutWorker(store.Worker{ID: worker})
			return nil
		}), s.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestABackupOfAnOlderGafferIsRestoredAndOneOfANewerIsNot(t *testing.T) {
	steps, err := readMigrations(schemas)
	if err != nil {
		t.Fatal(err)
	}
	newer := append(append([]string{}, steps...), "CREATE TABLE extra (x)")
	path := filepath.Join(t.TempDir(), "gaffer.db")
	for version, of := range map[int][]string{1: steps[:1], len(newer): newer} {
		backup := filepath.Join(t.TempDir(), "backup")
		if err := versioned(t, backup, of); err != nil {
			t.Fatal(err)
		}
		r, err := Restore(t.Context(), backup, path, time.Now(), nil)
		tooNew := (*store.NewerError)(nil)
		if version > len(steps) {
			if !errors.As(err, &tooNew) || tooNew.Found != version {
				t.Errorf("version %d: %v", version, err)
			}
			continue
		}
		if err != nil || r.Version != version {
			t.Errorf("version %d: %+v, %v", version, r, err)
		}
		now, err := Open(t.Context(), path)
		if err != nil {
			t.Errorf("version %d: %v", version, err)
			continue
		}
		if got, err := now.write.version(); err != nil || got != len(steps) {
			t.Errorf("version %d became %d, %v", version, got, err)
		}
		_ = now.Close()
	}
}

// versioned creates a database at path and runs the given schema migrations.
func versioned(t *testing.T, path string, steps []string) error {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	c, err := connect(t.Context(), db, path)
	if err != nil {
		return err
	}
	return errors.Join(c.migrate(0, steps), c.close(), db.Close())
}
