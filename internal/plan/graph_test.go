package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func task(id string, wave int, after ...string) Task { return Task{ID: id, Wave: wave, After: after} }

func TestTasksOfAWaveWaitForAllLowerWaves(t *testing.T) {
	p := Plan{Tasks: []Task{
		task("free", 0), task("a", 1), task("b", 1), task("late", 5), task("c", 3, "free"), task("chained", 3, "c"),
	}}
	want := [][]string{{"free", "a", "b"}, {"c"}, {"chained"}, {"late"}}
	if diff := cmp.Diff(want, p.Waves()); diff != "" {
		t.Error(diff)
	}
	for id, want := range map[string][]string{
		"free": nil, "a": nil, "c": {"free", "a", "b"}, "chained": {"c", "a", "b"}, "late": {"c", "chained"}, "nobody": nil,
	} {
		if diff := cmp.Diff(want, p.Needs(id)); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

func TestACycleIsPrintedAsTheShortestOne(t *testing.T) {
	for want, tasks := range map[string][]Task{
		"a → b → a": {task("a", 0, "c", "b"), task("b", 0, "a"), task("c", 0, "d"), task("d", 0, "a")},
		"b → c → b (c is of wave 2, which waits for all lower waves)": {task("a", 1), task("b", 1, "c"), task("c", 2)},
	} {
		g := Plan{Tasks: tasks}.Graph()
		found := g.cycles()
		if len(found) != 1 || g.text(found[0]) != want {
			t.Errorf("got %v, want %s", found, want)
		}
	}
}

func TestALongCycleIsShortened(t *testing.T) {
	var tasks []Task
	for i := range 5000 {
		tasks = append(tasks, task(fmt.Sprint("t", i), 0, fmt.Sprint("t", (i+1)%5000)))
	}
	g := Plan{Tasks: tasks}.Graph()
	if text := g.text(g.cycles()[0]); len(text) > 300 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// acyclic returns a random plan without cycles. Each task waits only for tasks before it in a
// random order, and the waves agree with that order.
func acyclic(t *rapid.T) Plan {
	n := rapid.IntRange(0, 30).Draw(t, "tasks")
	files := []string{"a", "a/b", "a/b/c.go", "a/*.go", "d", "d/**/x.go", "d/e/x.go", "f?.go", "f1.go", "**/z", "."}
	var tasks []Task
	wave := 1
	for i := range n {
		tk := Task{ID: fmt.Sprint("t", i)}
		if rapid.Bool().Draw(t, "waved") {
			wave += rapid.IntRange(0, 1).Draw(t, "next")
			tk.Wave = wave
		}
		for range rapid.IntRange(0, min(i, 3)).Draw(t, "needs") {
			tk.After = append(tk.After, fmt.Sprint("t", rapid.IntRange(0, i-1).Draw(t, "need")))
		}
		tk.Files = rapid.SliceOfN(rapid.SampledFrom(files), 0, 2).Draw(t, "files")
		tasks = append(tasks, tk)
	}
	return Plan{Tasks: rapid.Permutation(tasks).Draw(t, "order")}
}

func layerOf(p Plan) map[string]int {
	layer := map[string]int{}
	for i, wave := range p.Waves() {
		for _, id := range wave {
			layer[id] = i
		}
	}
	return layer
}

func TestWavesAreALayeringOfAnyAcyclicPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := acyclic(t)
		layer := layerOf(p)
		if len(layer) != len(p.Tasks) || len(p.Graph().cycles()) > 0 {
			t.Fatalf("%d of %d tasks in waves", len(layer), len(p.Tasks))
		}
		for _, task := range p.Tasks {
			deepest := -1
			for _, need := range p.Needs(task.ID) {
				deepest = max(deepest, layer[need])
			}
			if layer[task.ID] != deepest+1 {
				t.Errorf("%s is in wave %d, and what it needs ends in %d", task.ID, layer[task.ID], deepest)
			}
			for _, other := range p.Tasks {
				if other.Wave > 0 && other.Wave < task.Wave && layer[other.ID] >= layer[task.ID] {
					t.Errorf("%s of wave %d does not wait for %s of wave %d", task.ID, task.Wave, other.ID, other.Wave)
				}
			}
			for _, id := range task.After {
				if !slices.Contains(p.Needs(task.ID), id) {
					t.Errorf("%s does not need %s", task.ID, id)
				}
			}
		}
	})
}

// reaches reports whether task a waits for task b, directly or indirectly. seen holds tasks that
// were visited.
func reaches(g *Graph, a, b string, seen map[string]bool) bool {
	if seen[a] {
		return false
	}
	seen[a] = true
	for _, need := range g.Needs(a) {
		if need == b || reaches(g, need, b, seen) {
			return true
		}
	}
	return false
}

func TestSeparatedTasksShareNoFilesAndKeepWhatTheyWaitFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := acyclic(t)
		s := p.Separate()
		g := s.Graph()
		if left := s.Overlaps(); len(left) > 0 {
			t.Errorf("still overlapping: %v", left)
		}
		if again := s.Separate(); !cmp.Equal(s.Tasks, again.Tasks) {
			t.Error("separating twice changes the plan again")
		}
		layer := layerOf(s)
		if len(layer) != len(p.Tasks) {
			t.Fatalf("%d of %d tasks in waves", len(layer), len(p.Tasks))
		}
		var m matcher
		for i, a := range s.Tasks {
			for _, id := range p.Needs(a.ID) {
				if !slices.Contains(g.Needs(a.ID), id) {
					t.Errorf("%s waits no more for %s", a.ID, id)
				}
			}
			for _, b := range s.Tasks[i+1:] {
				for _, fa := range a.Files {
					for _, fb := range b.Files {
						if m.overlap(newPattern(fa), newPattern(fb)) && !reaches(g, a.ID, b.ID, map[string]bool{}) && !reaches(g, b.ID, a.ID, map[string]bool{}) {
							t.Errorf("%s (%s) and %s (%s) can run at the same time", a.ID, fa, b.ID, fb)
						}
					}
				}
			}
		}
	})
}

func TestAPlanWithoutOverlapsIsSeparateAlready(t *testing.T) {
	p := Plan{Tasks: []Task{
		{ID: "a", Files: []string{"x"}}, {ID: "b", Files: []string{"y"}}, {ID: "c", Files: []string{"x"}, After: []string{"a"}},
	}}
	if s := p.Separate(); !cmp.Equal(p.Tasks, s.Tasks) || len(p.Overlaps()) > 0 {
		t.Errorf("changed to %+v", s.Tasks)
	}
}

// Each of these plans takes one or two seconds of CPU time. With an algorithm of quadratic time, it
// would take many minutes.
func TestTenThousandTasksTakeNoTime(t *testing.T) {
	const n = 10_000
	for name, c := range map[string]struct {
		n     int
		shape func(i int) Task
	}{
		"one chain": {n, func(i int) Task { return task(fmt.Sprint(i), 0, fmt.Sprint(i+1)) }},
		"two waves": {n, func(i int) Task { return task(fmt.Sprint(i), 1+i/(n/2)) }},
		"n waves":   {n, func(i int) Task { return task(fmt.Sprint(i), 1+i) }},
		"own files": {n, func(i int) Task { return Task{ID: fmt.Sprint(i), Files: []string{fmt.Sprintf("src/%d/x.go", i)}} }},
		// The files of all tasks overlap, so the result has quadratic size; use fewer tasks.
		"one file":   {n / 4, func(i int) Task { return Task{ID: fmt.Sprint(i), Files: []string{"go.mod"}} }},
		"one folder": {n / 4, func(i int) Task { return Task{ID: fmt.Sprint(i), Files: []string{fmt.Sprintf("a/*x%d", i)}} }},
		"hard globs": {n / 10, func(i int) Task { return Task{ID: fmt.Sprint(i), Files: []string{fmt.Sprintf("*a*%d*b*c*d*e*", i)}} }},
	} {
		t.Run(name, func(t *testing.T) {
			p := Plan{}
			for i := range c.n {
				p.Tasks = append(p.Tasks, c.shape(i))
			}
			start := cpuTime(t)
			p.Waves()
			p.Graph().cycles()
			p.Overlaps()
			p.Separate()
			if took := cpuTime(t) - start; took > slow {
				t.Errorf("took %v", took)
			}
		})
	}
}
