package memo_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
)

func TestARowIsLookedUpOnce(t *testing.T) {
	var rows memo.Rows[string, int]
	looks := 0
	look := func(key string) (int, error) {
		looks++
		if key == "none" {
			return 0, fmt.Errorf("row %s: %w", key, store.ErrNotFound)
		}
		return 7, nil
	}
	for range 3 {
		if n, err := rows.Get("a", look); n != 7 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		if _, err := rows.Get("none", look); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("error is %v", err)
		}
	}
	if looks != 2 {
		t.Errorf("looked %d times, want 2", looks)
	}
	bad := errors.New("bad")
	if _, err := rows.Get("b", func(string) (int, error) { return 0, bad }); !errors.Is(err, bad) {
		t.Errorf("error is %v", err)
	}
	if n, err := rows.Get("b", look); n != 7 || err != nil {
		t.Errorf("after an error: %d, %v", n, err)
	}
}

// lists is a database of lists that counts the tasks that it has returned.
type lists struct {
	byName  map[string][]store.Task
	fetched int
}

func (l *lists) fetch(name string, limit int) ([]store.Task, error) {
	list := l.byName[name]
	list = list[:min(limit, len(list))]
	l.fetched += len(list)
	return slices.Clone(list), nil
}

func TestListsAreMergedInTheOrderOfClaims(t *testing.T) {
	db := &lists{byName: map[string][]store.Task{}}
	var all []store.Task
	for i := range 300 {
		name := fmt.Sprint(i % 3)
		task := store.Task{TaskKey: store.TaskKey{Run: name, Task: fmt.Sprint(i)}, Seq: int64(i), Priority: i * 7 % 5}
		db.byName[name] = append(db.byName[name], task)
		all = append(all, task)
	}
	for _, list := range db.byName {
		slices.SortFunc(list, store.ByPriority)
	}
	slices.SortFunc(all, store.ByPriority)
	for _, limit := range []int{0, 1, 10, 299, 300, 1000} {
		heads := memo.Heads[string]{Fetch: db.fetch}
		got, err := heads.First([]string{"0", "1", "2"}, limit, func(*store.Task) bool { return true })
		want := all[:min(limit, len(all))]
		if err != nil || !slices.EqualFunc(got, want, func(a, b store.Task) bool { return a.Seq == b.Seq }) {
			t.Errorf("the first %d: %d tasks, %v", limit, len(got), err)
		}
	}
}

func TestManyRequestsFetchAListOnce(t *testing.T) {
	db := &lists{byName: map[string][]store.Task{}}
	for i := range 100_000 {
		db.byName["a"] = append(db.byName["a"], store.Task{Seq: int64(i)})
	}
	heads := memo.Heads[string]{Fetch: db.fetch, AtLeast: 64}
	for taken := range int64(64) { // each call skips the tasks that earlier calls took
		got, err := heads.First([]string{"a"}, 1, func(t *store.Task) bool { return t.Seq >= taken })
		if err != nil || got[0].Seq != taken {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	if db.fetched != 64 {
		t.Errorf("%d tasks were fetched, want 64", db.fetched)
	}
}

func TestPlansAreForgottenBeforeTheyFillTheMemory(t *testing.T) {
	var plans memo.Plans
	big := make(json.RawMessage, 10<<20)
	looks := 0
	for range 2 {
		for run := range 20 {
			plan, err := plans.Get(fmt.Sprint(run), func(string) (json.RawMessage, error) { looks++; return big, nil })
			if err != nil || len(plan) != len(big) {
				t.Fatal(err)
			}
		}
	}
	if looks != 40 {
		t.Errorf("looked %d times at 200 MB of plans, want 40", looks)
	}
	if _, err := plans.Get("19", nil); err != nil {
		t.Error(err)
	}
}

func TestTheBeginningsOfListsAreRememberedUnlessThereIsTooMuchOfThem(t *testing.T) {
	for _, test := range []struct{ lists, atLeast, fetches int }{{3, 64, 3}, {3, 5000, 6}, {100, 64, 200}} {
		fetches := 0
		var seen memo.Seen
		seen.Ready.AtLeast = test.atLeast
		seen.Ready.Fetch = func(list memo.ReadyList, limit int) ([]store.Task, error) {
			fetches++
			tasks := make([]store.Task, limit)
			for i := range tasks {
				tasks[i] = store.Task{TaskKey: store.TaskKey{Run: list.Lane, Task: fmt.Sprint(i)}, Seq: int64(i), Ready: true, Lane: list.Lane}
			}
			return tasks, nil
		}
		for range 2 {
			for i := range test.lists {
				if _, err := seen.Ready.First([]memo.ReadyList{{Lane: fmt.Sprint(i)}}, 1, func(*store.Task) bool { return true }); err != nil {
					t.Fatal(err)
				}
			}
			seen.EndSession()
		}
		if fetches != test.fetches {
			t.Errorf("%d lists of which %d tasks are worth it were fetched %d times in two sessions, want %d", test.lists, test.atLeast, fetches, test.fetches)
		}
	}
}
