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

// fake is a database that stores nothing and records the calls of its methods.
type fake struct {
	Reader
	writer *Writer
	full   int // how many requests must wait before the first transaction begins

	runs         map[string]Run
	dependents   []Task
	looked       int // how many times Dependents was called
	last         int64
	transactions int
	committed    []Changes
	refuse       func(Changes) error
	commit       error
}

func newFake() *fake {
	f := &fake{full: 1}
	f.writer = &Writer{Open: f.begin}
	return f
}

// begin waits until f.full requests are waiting, so that they share the transaction.
func (f *fake) begin(context.Context) (Transaction, error) {
	for f.transactions == 0 && f.writer.queue.Waiting() < f.full {
		runtime.Gosched()
	}
	f.transactions++
	return f, nil
}

func (f *fake) LastSeq() (int64, error)                   { return f.last, nil }
func (f *fake) Worker(string) (Worker, error)             { return Worker{}, ErrNotFound }
func (f *fake) ClaimableTasks(ClaimQuery) ([]Task, error) { return nil, nil }
func (f *fake) LabelSets() ([]string, error)              { return nil, nil }
func (f *fake) Rollback() error                           { return nil }

func (f *fake) Run(id string) (Run, error) {
	if run, ok := f.runs[id]; ok {
		return run, nil
	}
	return Run{}, ErrNotFound
}

func (f *fake) Dependents(TaskKey) ([]Task, error) {
	f.looked++
	return f.dependents, nil
}

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

// together runs the changes as concurrent requests, and returns the error of each.
func (f *fake) together(changes ...func(*Tx) error) []error {
	f.full = len(changes)
	errs := make([]error, len(changes))
	var wg sync.WaitGroup
	for i, change := range changes {
		for f.writer.queue.Waiting() < i { // start each request after the one before it waits, to keep their order
			runtime.Gosched()
		}
		wg.Go(func() { errs[i] = f.writer.Write(context.Background(), change) })
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
	if len(f.committed) != 1 {
		t.Fatalf("%d commits, want 1", len(f.committed))
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
		list, err := tx.ClaimableTasks(ClaimQuery{Labels: []string{"x"}, Limit: 9})
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

func TestDependentsAreReadOnceInATransactionAndShowItsChanges(t *testing.T) {
	f := newFake()
	f.dependents = []Task{{TaskKey: TaskKey{"r", "b"}, Needs: []string{"a"}, Seq: 1}, {TaskKey: TaskKey{"r", "c"}, Needs: []string{"a"}, Seq: 2}}
	err := f.writer.Write(t.Context(), func(tx *Tx) error {
		first, err := tx.Dependents(TaskKey{"r", "a"})
		if err != nil {
			return err
		}
		changed := first[1]
		changed.Blockers = 7
		tx.PutTask(changed)
		again, err := tx.Dependents(TaskKey{"r", "a"})
		if !slices.Equal(keys(again), []string{"b", "c"}) || again[1].Blockers != 7 || f.looked != 1 {
			t.Errorf("found %v after %d lookups", again, f.looked)
		}
		return err
	})
	if err != nil {
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
	if errs[0] != nil || !errors.As(errs[1], &bad) || errs[2] != nil || f.transactions != 1 {
		t.Errorf("errors are %v in %d transactions, want that of the second alone in one", errs, f.transactions)
	}
}

func TestThePlanOfARunThatWasReadIsKnownToBeStored(t *testing.T) {
	f := newFake()
	f.runs = map[string]Run{"stored": {ID: "stored", Plan: []byte("{}")}, "bare": {ID: "bare"}}
	err := f.writer.Write(t.Context(), func(tx *Tx) error {
		for _, id := range []string{"stored", "bare"} {
			run, err := tx.Run(id)
			if err != nil {
				return err
			}
			run.Plan = []byte("{}")
			tx.PutRun(run)
		}
		tx.PutRun(Run{ID: "new", Plan: []byte("{}")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"stored": true, "bare": false, "new": false} {
		if got := f.committed[0].HasPlan(id); got != want {
			t.Errorf("the plan of run %s is stored: %t, want %t", id, got, want)
		}
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

// busy is the error of a database that is busy. After this error, the writer must not repeat
// requests.
type busy struct{}

func (busy) Error() string { return "busy" }
func (busy) Busy() bool    { return true }

func TestABusyDatabaseIsNotTriedByEachAlone(t *testing.T) {
	f := newFake()
	f.refuse = func(Changes) error { return busy{} }
	for _, err := range f.together(event("a"), event("b")) {
		if !errors.Is(err, busy{}) {
			t.Errorf("the error is %v", err)
		}
	}
	if f.transactions != 1 {
		t.Errorf("%d transactions, want 1", f.transactions)
	}
}

// remote is a database that implements Loader: the results of lookups must be loaded first.
type remote struct {
	*fake
	loaded, wanted map[string]bool
	missed, each   bool
	loads          int
}

func newRemote() *remote {
	r := &remote{fake: newFake(), loaded: map[string]bool{}, wanted: map[string]bool{}}
	r.writer.Open = func(ctx context.Context) (Transaction, error) {
		_, err := r.begin(ctx)
		return r, err
	}
	return r
}

func (r *remote) Worker(id string) (Worker, error) {
	if r.wanted[id] = true; r.each {
		_ = r.Load()
	}
	if !r.loaded[id] {
		r.missed = true
		return Worker{}, ErrNotLoaded
	}
	return Worker{ID: id}, nil
}

func (r *remote) Missed() bool {
	missed := r.missed
	r.missed = false
	return missed
}

func (r *remote) Load() error {
	r.loads++
	for id := range r.wanted {
		r.loaded[id] = true
	}
	return nil
}

func (r *remote) LoadEach() error {
	r.each = true
	return r.Load()
}

// chain returns a request that looks up the workers with these ids, one after the other.
func chain(ids ...string) func(*Tx) error {
	return func(tx *Tx) error {
		for _, id := range ids {
			w, err := tx.Worker(id)
			if err != nil {
				return err
			}
			w.Slots++
			tx.PutWorker(w)
		}
		tx.Append(Event{Kind: fmt.Sprint(ids)})
		return nil
	}
}

func TestLookupsOfManyRequestsAreLoadedTogether(t *testing.T) {
	r := newRemote()
	errs := r.together(chain("a", "b"), chain("c"), chain("a", "d"), chain("e", "a"))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if r.loads != 2 {
		t.Errorf("%d loads, want 2: one for each step of a request", r.loads)
	}
	c := r.committed[0]
	slots := map[string]int{}
	for _, w := range c.Workers {
		slots[w.ID] = w.Slots
	}
	if fmt.Sprint(slots) != "map[a:3 b:1 c:1 d:1 e:1]" || len(r.committed) != 1 {
		t.Errorf("counts are %v in %d commits", slots, len(r.committed))
	}
	for i, e := range c.Events {
		if e.Seq != int64(i+1) || e.Kind != []string{"[a b]", "[c]", "[a d]", "[e a]"}[i] {
			t.Errorf("event %d is %d %s", i+1, e.Seq, e.Kind)
		}
	}
}

func TestARequestThatNeverFindsWhatWasLoadedEnds(t *testing.T) {
	r := newRemote()
	n := 0
	random := func(tx *Tx) error {
		n++
		return chain(fmt.Sprint("random", n))(tx)
	}
	if err := errors.Join(r.together(random, chain("a"))...); err != nil {
		t.Fatal(err)
	}
	if len(r.committed) != 1 || len(r.committed[0].Events) != 2 {
		t.Errorf("committed %v", r.committed)
	}
}

func TestARequestThatDeletesRowsGetsATransactionOfItsOwn(t *testing.T) {
	f := newFake()
	take := func(tx *Tx) error { tx.DeleteRows(Deletions{Runs: []string{"r"}}); return nil }
	if err := errors.Join(f.together(event("a"), take, event("b"))...); err != nil {
		t.Fatal(err)
	}
	if len(f.committed) != 2 || len(f.committed[0].Events) != 2 || !f.committed[0].Deletions.Empty() || len(f.committed[1].Deletions.Runs) != 1 {
		t.Errorf("committed %+v", f.committed)
	}
}
