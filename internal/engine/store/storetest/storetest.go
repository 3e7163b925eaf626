// Package storetest contains the tests that every implementation of a store must pass.
package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/engine/store"
)

// Database is an empty database that was created for one test.
type Database struct {
	// Open opens a store on the database. Each call returns a separate store, as if another process
	// had opened it. The test closes the store.
	Open func(t *testing.T) store.Store
}

// Run runs all tests of a store. It calls the function create for each test. create must return a
// new, empty database.
func Run(t *testing.T, create func(t *testing.T) Database) {
	for _, suite := range []map[string]func(*testing.T, Database){rows, lists, queues, texts, transactions, events, items, gone, crowds} {
		for name, test := range suite {
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) { test(t, create(t)) })
		}
	}
}

func open(t *testing.T, db Database) store.Store {
	t.Helper()
	s := db.Open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// write runs the function change in a transaction. The test fails if the transaction returns an
// error. write may be called in any goroutine.
func write(t *testing.T, s store.Store, change func(tx *store.Tx)) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		change(tx)
		return nil
	})
	if err != nil {
		t.Errorf("write: %v", err)
	}
}

// inTx calls the function fn in a transaction of [store.Store.Write]. Then it rolls the transaction
// back, by returning an error to Write, and checks that Write returns this error.
func inTx(t *testing.T, s store.Store, fn func(tx *store.Tx)) {
	t.Helper()
	stop := errors.New("only looking")
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		fn(tx)
		return stop
	})
	if !errors.Is(err, stop) {
		t.Fatalf("the error of a change is %v, want it as it is", err)
	}
}

func read(t *testing.T, s store.Store, look func(r store.Reader)) {
	t.Helper()
	err := s.Read(t.Context(), func(r store.Reader) error {
		look(r)
		return nil
	})
	if err != nil {
		t.Errorf("read: %v", err)
	}
}

func same[V any](t *testing.T, what string, got V, err error, want V) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// at returns the time that is the given number of seconds after a fixed time.
func at(seconds int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func names[V any](rows []V, name func(V) string) string {
	var list []string
	for _, row := range rows {
		list = append(list, name(row))
	}
	return strings.Join(list, " ")
}

func taskName(t store.Task) string         { return t.Task }
func runName(r store.Run) string           { return r.ID }
func attemptName(a store.Attempt) string   { return a.ID }
func questionName(q store.Question) string { return q.ID }
