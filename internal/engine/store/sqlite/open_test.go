package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
)

// run executes SQL statements in the database at path.
func run(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func made(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gaffer.db")
	s := open(t, path)
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		for i := range int64(2000) {
			tx.PutTask(store.Task{TaskKey: taskKey(i), Seq: i, Status: store.Queued, Ready: true})
		}
		return nil
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func refused(t *testing.T, path string, words ...string) error {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err == nil {
		_ = s.Close()
		t.Fatal("the database was opened")
	}
	for _, word := range append(words, path) {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
	return err
}

func TestANewDatabaseIsItsOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "gaffer.db")
	s := open(t, path)
	defer func() { _ = s.Close() }()
	for name, want := range map[string]fs.FileMode{path: 0o600, path + "-wal": 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestADatabaseOfANewerGafferIsRefused(t *testing.T) {
	path := made(t)
	run(t, path, "PRAGMA user_version = 99")
	err := refused(t, path, "version 99", "up to 4")
	var newer *store.NewerError
	if !errors.As(err, &newer) || newer.Hint() == "" {
		t.Errorf("error is %T, want a NewerError with a hint", err)
	}
	run(t, path, "PRAGMA user_version = 4") // with its old version, the database must open: the failed open must not have changed it
	if err := open(t, path).Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileThatIsNotADatabaseIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"text":  strings.Repeat("this is not a database\n", 1000),
		"short": "x",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "gaffer.db")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			var damaged *sqlite.DamagedError
			if err := refused(t, path, "not a gaffer database"); !errors.As(err, &damaged) || damaged.Hint() == "" {
				t.Errorf("error is %T, want a DamagedError with a hint", err)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != content {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

func TestADatabaseOfAnotherProgramIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	run(t, path, "CREATE TABLE notes (text)")
	_ = refused(t, path, "another program")
}

func TestADamagedDatabaseIsReported(t *testing.T) {
	path := made(t)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	junk := []byte(strings.Repeat("junk", 1024))
	for at := int64(4096); at < info.Size(); at += 4096 { // overwrite all pages except the first
		if _, err := file.WriteAt(junk, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path)
	if err == nil {
		err = s.Read(t.Context(), func(r store.Reader) error {
			_, err := r.Tasks("r")
			return err
		})
		_ = s.Close()
	}
	var damaged *sqlite.DamagedError
	if !errors.As(err, &damaged) || damaged.Path != path {
		t.Errorf("error is %v, want a DamagedError about %s", err, path)
	}
}

func TestAClosedDatabaseIsOneFile(t *testing.T) {
	path := made(t)
	for _, left := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + left); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path+left, err)
		}
	}
}

func TestAFolderIsNotADatabase(t *testing.T) {
	_ = refused(t, t.TempDir())
}

func TestAClosedStoreSaysSo(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "gaffer.db"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"read":  s.Read(t.Context(), func(store.Reader) error { return nil }),
		"write": s.Write(t.Context(), func(*store.Tx) error { return nil }),
		"wait":  s.Wait(t.Context(), 0),
	} {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Programs such as sqlite3 do not use the queue of gaffer's writers. A store must wait for them
// too.
func TestAForeignWriterIsWaitedFor(t *testing.T) {
	path := made(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	defer func() { _ = s.Close() }()
	done := make(chan error)
	go func() {
		done <- s.Write(context.Background(), func(tx *store.Tx) error {
			tx.Append(store.Event{Kind: "k"})
			return nil
		})
	}()
	select {
	case err := <-done:
		t.Fatalf("written beside another writer: %v", err)
	default:
	}
	if _, err := db.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestADeletedOrReplacedDatabaseIsNotWritten(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, path string) (giveBack func()){
		"its folder is moved": func(t *testing.T, path string) func() {
			dir := filepath.Dir(path)
			move(t, dir, dir+"-aside")
			return func() { move(t, dir+"-aside", dir) }
		},
		"its file is moved": func(t *testing.T, path string) func() {
			move(t, path, path+"-aside")
			return func() { move(t, path+"-aside", path) }
		},
		"another takes its place": func(t *testing.T, path string) func() {
			move(t, path, path+"-aside")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return func() { move(t, path+"-aside", path) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state", "gaffer.db")
			s := open(t, path)
			defer func() { _ = s.Close() }()
			putRun(t, s, "before", store.Running, time.Now())
			last := lastSeq(t, s)
			giveBack := take(t, path)
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				tx.PutRun(store.Run{ID: "meanwhile", Status: store.Running, Created: time.Now(), Plan: []byte(`{}`)})
				return nil
			})
			var gone *sqlite.GoneError
			if !errors.As(err, &gone) || gone.Path != path || gone.Hint() == "" {
				t.Errorf("write: %v, want a GoneError", err)
			}
			if err := s.Wait(t.Context(), last); !errors.As(err, &gone) {
				t.Errorf("wait: %v, want a GoneError", err)
			}
			giveBack()
			putRun(t, s, "after", store.Running, time.Now())
			if got := runsSeen(t, path, time.Time{}); len(got) != 2 {
				t.Errorf("stored are %v, want before and after", got)
			}
		})
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func lastSeq(t *testing.T, s store.Store) (last int64) {
	t.Helper()
	err := s.Read(t.Context(), func(r store.Reader) (err error) {
		last, err = r.LastSeq()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return last
}
