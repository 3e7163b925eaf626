package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// fake is a database that only records its calls.
type fake struct {
	Reader
	writer *Writer
	full   int // number of requests to wait for before the first session begins

	last      int64
	sessions  int
	needs     []Need
	committed []Changes
	refuse    func(Changes) error
	commit    error
}

func newFake() *fake {
	f := &fake{full: 1}
	f.writer = &Writer{Open: f.begin}
	return f
}

// begin waits until enough requests are waiting, so that they share the session.
func (f *fake) begin(context.Context) (Session, error) {
	for f.sessions == 0 && f.writer.group.Waiting() < f.full {
		runtime.Gosched()
	}
	f.sessions++
	return f, nil
}

func (f *fake) Prefetch(n Need) error              { f.needs = append(f.needs, n); return nil }
func (f *fake) LastSeq() (int64, error)            { return f.last, nil }
func (f *fake) Worker(string) (Worker, error)      { return Worker{}, ErrNotFound }
func (f *fake) Claimable(Claim) ([]Task, error)    { return nil, nil }
func (f *fake) LabelSets() ([]string, error)       { return nil, nil }
func (f *fake) Rollback() error                    { return nil }
func (f *fake) Dependents(TaskKey) ([]Task, error) { return nil, nil }

func (f *fake) Commit(c Changes) error {
	if f.refuse != nil {
		if err := f.refuse(c); err != nil {
			return err
		}
	}
	if f.commit != nil {
		return &CommitError{f.commit}
	}
	f.committed = append(f.committed, c)
	f.last += int64(len(c.Events))
	return nil
}

// together makes changes concurrently and returns their errors.
func (f *fake) together(changes ...func(*Tx) error) []error {
	f.full = len(changes)
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	for i, change := range changes {
		for f.writer.group.Waiting() < i { // keep their order
			runtime.Gosched()
		}
		wg.Go(func() { errs[i] = f.writer.Write(context.Background(), Need{Claims: 1}, change) })
	}
	wg.Wait()
	return errs
}

func event(kind string) func(*Tx) error {
	return func(tx *Tx) error {
		tx.Append(Event{Kind: kind})
		return nil
	}
}

func TestRequestsThatWaitAtTheSameTimeShareACommit(t *testing.T) {
	f := newFake()
	if err := errors.Join(f.together(event("a"), event("b"), event("c"))...); err != nil {
		t.Fatal(err)
	}
	if len(f.committed) != 1 || f.needs[0].Claims != 3 {
		t.Fatalf("%d commits, needs %v; want 1 commit for 3 claims", len(f.committed), f.needs)
	}
	for i, e := range f.committed[0].Events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has number %d", i+1, e.Seq)
		}
	}
}

func TestARequestSeesWhatTheOnesBeforeItHavePut(t *testing.T) {
	f := newFake()
	add := func(tx *Tx) error {
		w, err := tx.Worker("n")
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		w.ID = "n"
		w.Slots++
		tx.PutWorker(w)
		return nil
	}
	stop := errors.New("no")
	fail := func(tx *Tx) error { return errors.Join(add(tx), stop) }
	errs := f.together(add, fail, add)
	if errs[0] != nil || !errors.Is(errs[1], stop) || errs[2] != nil {
		t.Fatal(errs)
	}
	if got := f.committed[0].Workers; len(got) != 1 || got[0].Slots != 2 {
		t.Errorf("workers are %v, want one that was counted twice", got)
	}
}

func TestTasksOfEarlierRequestsAreInTheLists(t *testing.T) {
	f := newFake()
	put := func(id string, seq int64, ready bool, needs ...string) func(*Tx) error {
		return func(tx *Tx) error {
			tx.PutTask(Task{TaskKey: TaskKey{"r", id}, Seq: seq, Status: Queued, Ready: ready, Labels: "x", Needs: needs})
			return nil
		}
	}
	errs := f.together(put("b", 2, true), put("a", 1, true, "b"), put("b", 2, false), func(tx *Tx) error {
		_ = put("c", 3, true, "b")(tx)
		list, err := tx.Claimable(Claim{Labels: []string{"x"}, Limit: 9})
		if got := fmt.Sprint(keys(list)); got != "[a c]" {
			t.Errorf("claimable are %s", got)
		}
		below, err2 := tx.Dependents(TaskKey{"r", "b"})
		if got := fmt.Sprint(keys(below)); got != "[a c]" {
			t.Errorf("dependents are %s", got)
		}
		sets, err3 := tx.LabelSets()
		if !slices.Equal(sets, []string{"x"}) {
			t.Errorf("label sets are %v", sets)
		}
		return errors.Join(err, err2, err3)
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func keys(tasks []Task) (ids []string) {
	for _, t := range tasks {
		ids = append(ids, t.Task)
	}
	return ids
}

func TestOneThatTheDatabaseRefusesDoesNotSpoilTheOthers(t *testing.T) {
	f := newFake()
	refused := errors.New("refused")
	f.refuse = func(c Changes) error {
		if slices.ContainsFunc(c.Events, func(e Event) bool { return e.Kind == "bad" }) {
			return refused
		}
		return nil
	}
	errs := f.together(event("a"), event("bad"), event("c"))
	if errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] != nil {
		t.Errorf("errors are %v, want that of the second alone", errs)
	}
	if f.last != 2 {
		t.Errorf("%d events, want 2", f.last)
	}
}

func TestABadKeyIsTheErrorOfItsRequestAlone(t *testing.T) {
	f := newFake()
	errs := f.together(event("a"), func(tx *Tx) error { tx.PutRun(Run{ID: "\x00"}); return nil }, event("c"))
	var bad *KeyError
	if errs[0] != nil || !errors.As(errs[1], &bad) || errs[2] != nil || f.sessions != 1 {
		t.Errorf("errors are %v in %d sessions, want that of the second alone in one", errs, f.sessions)
	}
}

func TestNothingIsCommittedWhenAllFail(t *testing.T) {
	f := newFake()
	stop := errors.New("no")
	fail := func(*Tx) error { return stop }
	for _, err := range f.together(fail, fail) {
		if !errors.Is(err, stop) {
			t.Errorf("error is %v", err)
		}
	}
	if len(f.committed) != 0 {
		t.Errorf("%d commits, want none", len(f.committed))
	}
}
