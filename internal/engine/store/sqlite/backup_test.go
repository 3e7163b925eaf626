package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
)

var when = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// withWorker creates a database at path that contains one worker with the name worker.
func withWorker(t *testing.T, path, worker string) string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		tx.PutWorker(store.Worker{ID: worker})
		tx.Append(store.Event{Kind: "worker.changed"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// workers returns the names of the workers in the database at path.
func workers(t *testing.T, path string) (names []string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = s.Read(t.Context(), func(r store.Reader) error {
		all, err := r.Workers()
		for _, w := range all {
			names = append(names, w.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func files(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestABackupIsOneMomentOfADatabaseThatIsWrittenTo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gaffer.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := countTwo(s); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := countTwo(s); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	last := int64(-1)
	for i := range 5 {
		to := filepath.Join(dir, fmt.Sprint("copy-", i))
		c, err := sqlite.Backup(t.Context(), path, to, false, nil)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 || info.Size() != c.Bytes {
			t.Errorf("the file: %v, %v", info, err)
		}
		seen := checkTwo(t, to)
		if seen < last || c.Last != seen {
			t.Errorf("copy %d has %d, said %d, and the one before it has %d", i, seen, c.Last, last)
		}
		last = seen
	}
	stop()
	wg.Wait()
}

// countTwo increments a counter in each of two rows and appends an event, in one transaction.
func countTwo(s store.Store) error {
	return s.Write(context.Background(), func(tx *store.Tx) error {
		for _, id := range []string{"a", "b"} {
			w, err := tx.Worker(id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			w.ID = id
			w.Slots++
			tx.PutWorker(w)
		}
		tx.Append(store.Event{Kind: "counted"})
		return nil
	})
}

func checkTwo(t *testing.T, path string) (count int64) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = s.Read(t.Context(), func(r store.Reader) error {
		all, err := r.Workers()
		last, err2 := r.LastSeq()
		if len(all) != 2 || all[0].Slots != all[1].Slots || int64(all[0].Slots) != last {
			t.Errorf("half of a change: %v, %d events", all, last)
		}
		count = last
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Error(err)
	}
	return count
}

func TestAFileThatIsThereIsReplacedOnlyWithForce(t *testing.T) {
	dir := t.TempDir()
	path := withWorker(t, filepath.Join(dir, "gaffer.db"), "w")
	to := filepath.Join(dir, "copy")
	if err := os.WriteFile(to, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	exists := (*sqlite.ExistsError)(nil)
	if _, err := sqlite.Backup(t.Context(), path, to, false, nil); !errors.As(err, &exists) {
		t.Errorf("error is %v", err)
	}
	if text, _ := os.ReadFile(to); string(text) != "precious" {
		t.Errorf("the file is %q", text)
	}
	if _, err := sqlite.Backup(t.Context(), path, path, true, nil); err == nil {
		t.Error("the database was overwritten with itself")
	}
	if _, err := sqlite.Backup(t.Context(), path, to, true, nil); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(workers(t, to)); got != "[w]" {
		t.Errorf("the copy has %s", got)
	}
}

func TestWhatIsNoWholeDatabaseIsNeitherBackedUpNorRestored(t *testing.T) {
	dir := t.TempDir()
	path := withWorker(t, filepath.Join(dir, "gaffer.db"), "w")
	bad := filepath.Join(t.TempDir(), "bad")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := append([]byte{}, whole...)
	clear(torn[len(torn)/2:])
	for name, content := range map[string][]byte{
		"file is not a database": []byte(strings.Repeat("no database ", 1000)),
		"it is too small":        []byte("x"),
		"malformed":              torn,
	} {
		if err := os.WriteFile(bad, content, 0o600); err != nil {
			t.Fatal(err)
		}
		before := files(t, dir)
		_, err := sqlite.Backup(t.Context(), bad, filepath.Join(dir, "copy"), false, nil)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: backup: %v", name, err)
		}
		_, err = sqlite.Restore(t.Context(), bad, path, when, nil)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: restore: %v", name, err)
		}
		if after := files(t, dir); after != before {
			t.Errorf("%s: files were %s and are %s", name, before, after)
		}
	}
	if got := fmt.Sprint(workers(t, path)); got != "[w]" {
		t.Errorf("the database has %s", got)
	}
}

func TestABackupThatIsInterruptedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := withWorker(t, filepath.Join(dir, "gaffer.db"), "w")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	to := t.TempDir()
	if _, err := sqlite.Backup(ctx, path, filepath.Join(to, "copy"), false, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left := files(t, to); left != "" {
		t.Errorf("left is %s", left)
	}
}

func TestARestoreKeepsTheDatabaseBeforeBesideIt(t *testing.T) {
	dir := t.TempDir()
	path := withWorker(t, filepath.Join(dir, "gaffer.db"), "old")
	backup := withWorker(t, filepath.Join(t.TempDir(), "backup"), "new")
	var kept []string
	for range 2 { // two restores within a second must keep the previous databases under different names
		r, err := sqlite.Restore(t.Context(), backup, path, when, nil)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, r.Before)
	}
	if got := fmt.Sprint(workers(t, path), workers(t, kept[0]), workers(t, kept[1])); got != "[new] [old] [new]" {
		t.Errorf("%s of %v", got, kept)
	}
	if filepath.Base(kept[0]) != "gaffer.db.before-20260301-120000" {
		t.Errorf("it is called %s", kept[0])
	}
	r, err := sqlite.Restore(t.Context(), kept[0], path, when, nil) // restore the database that was there before the restore
	if err != nil || fmt.Sprint(workers(t, path)) != "[old]" || r.Last != 1 {
		t.Errorf("undone: %v, %+v", err, r)
	}
}

func TestARestoreWorksWhereNothingOrADamagedFileIs(t *testing.T) {
	backup := withWorker(t, filepath.Join(t.TempDir(), "backup"), "new")
	path := filepath.Join(t.TempDir(), "sub", "gaffer.db")
	if r, err := sqlite.Restore(t.Context(), backup, path, when, nil); err != nil || r.Before != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	garbage := strings.Repeat("garbage ", 1000)
	for _, file := range []string{path, path + "-wal"} {
		if err := os.WriteFile(file, []byte(garbage), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := sqlite.Restore(t.Context(), backup, path, when, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{r.Before, r.Before + "-wal"} {
		if text, err := os.ReadFile(file); err != nil || string(text) != garbage {
			t.Errorf("kept is %.20q, %v", text, err)
		}
	}
	if got := fmt.Sprint(workers(t, path)); got != "[new]" {
		t.Errorf("the database has %s", got)
	}
}

// An interrupted restore, or somebody who has deleted the database by hand, leaves a write-ahead log
// without its database. A process that opened a copy and was killed leaves one beside the copy.
func TestALogThatIsLeftOverIsNotAppliedToARestoredDatabaseOrABackup(t *testing.T) {
	backup := withWorker(t, filepath.Join(t.TempDir(), "backup"), "new")
	path := filepath.Join(t.TempDir(), "gaffer.db")
	for name, write := range map[string]func() error{
		"restore": func() error {
			_, err := sqlite.Restore(t.Context(), backup, path, when, nil)
			return err
		},
		"backup": func() error {
			_, err := sqlite.Backup(t.Context(), backup, path, true, nil)
			return err
		},
	} {
		leaveLog(t, path)
		if err := write(); err != nil {
			t.Fatal(name, err)
		}
		if got := fmt.Sprint(workers(t, path)); got != "[new]" {
			t.Errorf("after %s the database has %s", name, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// leaveLog writes the write-ahead log of another database, without that database.
func leaveLog(t *testing.T, path string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		tx.PutWorker(store.Worker{ID: "old"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatalf("there is no log: %v", err)
	}
	if err := errors.Join(s.Close(), os.Remove(path), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A killed process leaves a write-ahead log with committed changes. The log belongs to the previous
// database, so SQLite must not apply it to the restored one.
func TestARestoreRefusesADatabaseThatIsInUse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gaffer.db")
	backup := withWorker(t, filepath.Join(t.TempDir(), "backup"), "new")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childOf+"="+path)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 20 {
		lines.Scan()
	}
	inUse := (*sqlite.InUseError)(nil)
	if _, err := sqlite.Restore(t.Context(), backup, path, when, nil); !errors.As(err, &inUse) || inUse.PID != child.Process.Pid {
		t.Errorf("while process %d has it: %v", child.Process.Pid, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Fatalf("there is no log: %v", err)
	}
	r, err := sqlite.Restore(t.Context(), backup, path, when, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(workers(t, path)); got != "[new]" {
		t.Errorf("the database has %s", got)
	}
	c, err := sqlite.Check(t.Context(), r.Before)
	if err != nil || c.Last < 20 {
		t.Errorf("the one before has %d events, %v", c.Last, err)
	}
}
