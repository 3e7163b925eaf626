package plan

import (
	"cmp"
	"slices"
)

// Overlap is a pair of tasks that may run at the same time and declare that they change the same
// files.
type Overlap struct {
	// First and Second are the ids of the tasks. Second comes later than First if the tasks are
	// sorted by their layers in [Plan.Waves], and within a layer by their order in the plan.
	First, Second         string
	FirstFile, SecondFile string // the file patterns of First and Second that overlap
}

// Overlaps returns pairs of tasks that may run at the same time and declare the same files. Each
// task is the Second of one pair at most. If several earlier tasks overlap that task, First is the
// one that comes first in the plan.
func (p Plan) Overlaps() []Overlap {
	var found []Overlap
	s := newSeparation(p)
	s.inOrder(s.graph.levels(), func(task int, hits []int) {
		for _, other := range hits {
			if !s.waits[task].has(other) {
				found = append(found, s.overlap(other, task))
				return
			}
		}
	})
	return found
}

// overlap returns the Overlap of the tasks with the indexes i and j, with their first two patterns
// that overlap.
func (s *separation) overlap(i, j int) Overlap {
	o := Overlap{First: s.graph.tasks[i].ID, Second: s.graph.tasks[j].ID}
	var m matcher
	for _, a := range s.files[i] {
		for _, b := range s.files[j] {
			if m.overlap(a, b) {
				o.FirstFile, o.SecondFile = a.text, b.text
				return o
			}
		}
	}
	return o
}

// Separate returns the plan with additional dependencies, so that tasks with overlapping files
// never run at the same time: one of them waits for the other. Separate assigns the tasks to
// layers, one task after the other. Tasks of one layer may run at the same time. A task gets the
// first layer that comes after the layers of all its dependencies and in which no task has
// overlapping files yet. Existing dependencies stay.
func (p Plan) Separate() Plan {
	s := newSeparation(p)
	levels := s.assignLevels()
	p.Tasks = slices.Clone(p.Tasks)
	s.inOrder(levels, func(task int, hits []int) {
		// Add the dependency on the task in the highest layer first: it often waits for the others,
		// and then no dependencies on them are needed.
		slices.SortFunc(hits, func(a, b int) int { return cmp.Or(cmp.Compare(levels[b], levels[a]), cmp.Compare(b, a)) })
		for _, other := range hits {
			if s.waits[task].has(other) {
				continue
			}
			p.Tasks[task].After = append(slices.Clip(p.Tasks[task].After), p.Tasks[other].ID)
			s.waits[task].add(other)
			s.waits[task].addAll(s.waits[other])
		}
	})
	return p
}

// separation holds the file patterns of each task. For each node of the dependency graph, it also
// holds the tasks that the node waits for, directly or indirectly.
type separation struct {
	graph *Graph
	files [][]*pattern
	waits []taskSet
}

func newSeparation(p Plan) *separation {
	s := &separation{graph: p.Graph(), files: make([][]*pattern, len(p.Tasks))}
	for i, t := range p.Tasks {
		for _, file := range t.Files {
			s.files[i] = append(s.files[i], newPattern(file))
		}
	}
	return s
}

// inOrder goes through the tasks level by level. The parameter levels has the level of each node of
// the dependency graph. inOrder calls the function visit for each task whose files overlap the
// files of tasks that come before it in this order. The argument hits has the indexes of those
// earlier tasks. If no task declares files, inOrder does nothing.
func (s *separation) inOrder(levels []int, visit func(task int, hits []int)) {
	if !s.any() {
		return
	}
	s.waits = make([]taskSet, len(s.graph.needs))
	before := newFileIndex(len(s.graph.tasks))
	for _, node := range s.byLevel(levels) {
		s.inherit(node)
		if s.graph.isGate(node) || len(s.files[node]) == 0 {
			continue
		}
		if hits := before.overlaps(s.files[node]); len(hits) > 0 {
			visit(node, hits)
		}
		before.add(node, s.files[node])
	}
}

func (s *separation) any() bool {
	return slices.ContainsFunc(s.files, func(p []*pattern) bool { return len(p) > 0 })
}

// byLevel returns the nodes of the dependency graph sorted by level, so that each node comes after
// the nodes that it waits for. Within a level, tasks come first, in the order of the plan. Gates,
// the nodes between two waves, come last. Tasks that are on a cycle, or wait for a task on a cycle,
// are left out.
func (s *separation) byLevel(levels []int) []int {
	nodes := make([]int, 0, len(levels))
	for node, level := range levels {
		if level > 0 || s.graph.isGate(node) {
			nodes = append(nodes, node)
		}
	}
	slices.SortStableFunc(nodes, func(a, b int) int { return cmp.Compare(levels[a], levels[b]) })
	return nodes
}

func (s *separation) inherit(node int) {
	s.waits[node] = newTaskSet(len(s.graph.tasks))
	for _, need := range s.graph.needs[node] {
		s.waits[node].addAll(s.waits[need])
		if !s.graph.isGate(need) {
			s.waits[node].add(need)
		}
	}
}

// assignLevels returns a level for each node of the dependency graph. The level of a task is the
// lowest level that is higher than the levels of all nodes that the task waits for, and in which no
// earlier task has overlapping files.
func (s *separation) assignLevels() []int {
	levels := make([]int, len(s.graph.needs))
	placed := newFileIndex(len(s.graph.tasks))
	// takenBy[l] == node+1 means that the files of node overlap those of a task on the level l.
	takenBy := make([]int, len(s.graph.tasks)+2)
	for _, node := range s.byLevel(s.graph.levels()) {
		for _, need := range s.graph.needs[node] {
			levels[node] = max(levels[node], levels[need])
		}
		if s.graph.isGate(node) {
			continue
		}
		for _, other := range placed.overlaps(s.files[node]) {
			takenBy[levels[other]] = node + 1
		}
		levels[node]++
		for takenBy[levels[node]] == node+1 {
			levels[node]++
		}
		placed.add(node, s.files[node])
	}
	return levels
}

// taskSet is a set of indexes of tasks. It has one bit for each index.
type taskSet []uint64

func newTaskSet(n int) taskSet { return make(taskSet, (n+63)/64) }

func (b taskSet) add(i int)      { b[i/64] |= 1 << (i % 64) }
func (b taskSet) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b taskSet) addAll(other taskSet) {
	for i, word := range other {
		b[i] |= word
	}
}
