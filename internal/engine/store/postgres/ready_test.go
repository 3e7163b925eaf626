package postgres

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
)

// The cached first tasks must match the real lists, whatever is written and however
// little was fetched.
func TestReadyListsAreRememberedAsTheyAre(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		tasks := map[store.TaskKey]store.Task{}
		limit := 1 + rng.IntN(12)
		var known ready
		for step := range 300 {
			changed := randomTasks(rng, int64(step))
			for _, task := range changed {
				tasks[task.TaskKey] = task
			}
			known.applied(changed)
			if rng.IntN(40) == 0 {
				known.put(fetch(tasks, limit), limit)
			}
			if problem := compare(&known, tasks); problem != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, problem)
			}
		}
	}
}

// randomTasks returns a few tasks that might be written together.
func randomTasks(rng *rand.Rand, step int64) (changed []store.Task) {
	for i := range rng.IntN(4) {
		changed = append(changed, store.Task{
			TaskKey: store.TaskKey{Run: "r", Task: fmt.Sprint(rng.IntN(30))}, Seq: 10*step + int64(i), Ready: rng.IntN(3) > 0,
			Priority: rng.IntN(3), Labels: []string{"", "gpu"}[rng.IntN(2)], Lane: []string{"", "a"}[rng.IntN(2)],
		})
	}
	return changed
}

// lists returns all ready lists, each in its order.
func lists(tasks map[store.TaskKey]store.Task) map[memo.ReadyList][]spot {
	all := map[memo.ReadyList][]spot{}
	for _, t := range tasks {
		if t.Ready {
			all[spotOf(t).list] = append(all[spotOf(t).list], spotOf(t))
		}
	}
	for _, list := range all {
		slices.SortFunc(list, spot.order)
	}
	return all
}

// fetch returns what the database would return.
func fetch(tasks map[store.TaskKey]store.Task, limit int) (spots []spot) {
	for _, list := range lists(tasks) {
		spots = append(spots, list[:min(limit, len(list))]...)
	}
	return spots
}

func compare(known *ready, tasks map[store.TaskKey]store.Task) string {
	if !known.known {
		return ""
	}
	want := lists(tasks)
	for name, list := range want {
		l := known.lists[name]
		if l == nil {
			return fmt.Sprintf("the list %v is not known", name)
		}
		if n := len(l.spots); n > len(list) || !slices.Equal(l.spots, list[:n]) || l.whole && n != len(list) {
			return fmt.Sprintf("the list %v is %v, want %v", name, l.spots, list)
		}
	}
	for _, name := range known.names() {
		if l := known.lists[name]; len(want[name]) == 0 && (l.whole || len(l.spots) > 0) {
			return fmt.Sprintf("the list %v is remembered and empty", name)
		}
	}
	return ""
}

func TestALongListIsRememberedOnlyAtItsBeginning(t *testing.T) {
	var known ready
	known.put(nil, 1)
	for i := range 3 * maxSpots {
		known.applied([]store.Task{{TaskKey: store.TaskKey{Task: fmt.Sprint(i)}, Seq: int64(i), Ready: true}})
	}
	l := known.lists[memo.ReadyList{}]
	if len(l.spots) != maxSpots || l.whole || len(known.spots) != maxSpots {
		t.Errorf("%d tasks are remembered, whole: %v", len(l.spots), l.whole)
	}
}
