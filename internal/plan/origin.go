package plan

import "slices"

// Origin says from which work the worktree of a task starts. That is the work of earlier tasks: the
// tasks that the task waits for, directly or indirectly. The zero value means that the worktree
// starts without the work of other tasks.
type Origin struct {
	// Tasks holds the earlier tasks that have a worktree, as indexes in [Plan.Tasks], in ascending
	// order. It leaves out a task if the work of another task in the list already includes its
	// work.
	Tasks []int
	// Checkout is true if the worktree also starts from the work of an earlier task that has no
	// worktree. Such a task works in the project's folder itself.
	Checkout bool
}

// HasWorktree reports whether the task works in a git worktree.
func (t Task) HasWorktree() bool { return t.Worktree || t.Branch != "" || t.SharedWorktree != "" }

// Origins returns where the worktree of each task starts, in the order of [Plan.Tasks]. The
// function inRepo reports whether a task works in the repository for which the caller needs the
// origins. Origins leaves out the work of all other tasks. If inRepo is nil, Origins includes the
// work of all tasks. The Tasks slices of several origins may be the same slice, so callers must not
// modify them.
func (p Plan) Origins(inRepo func(Task) bool) []Origin {
	o := origins{graph: p.Graph(), inRepo: inRepo}
	if inRepo == nil {
		o.inRepo = func(Task) bool { return true }
	}
	order := o.graph.order()
	o.position = make([]int, len(o.graph.needs))
	for at, node := range order {
		o.position[node] = at
	}
	o.nearest = make([][]int, len(o.graph.needs))
	all := make([]Origin, len(o.graph.needs))
	for _, node := range order {
		needs := o.graph.needs[node]
		// A task that picks the result of one of several candidates starts from the same work as
		// the candidates.
		if node < len(p.Tasks) && p.Tasks[node].Pick != nil && len(p.Tasks[node].Pick.Candidates) > 0 {
			needs = o.graph.needs[o.graph.index[p.Tasks[node].Pick.Candidates[0]]]
		}
		// If the node waits only for a gate between two waves, it has the same origin as the gate,
		// and shares its slices.
		if len(needs) == 1 && o.graph.isGate(needs[0]) {
			o.nearest[node], all[node] = o.nearest[needs[0]], all[needs[0]]
			continue
		}
		o.nearest[node] = o.find(needs)
		for _, task := range o.nearest[node] {
			if p.Tasks[task].HasWorktree() {
				all[node].Tasks = append(all[node].Tasks, task)
			} else {
				all[node].Checkout = true
			}
		}
	}
	return all[:len(p.Tasks)]
}

// origins finds the nearest earlier tasks of each node in a graph. Earlier tasks are those for
// which the node waits, directly or indirectly. The nearest ones are those whose work is not
// included in the work of another earlier task.
type origins struct {
	graph    *Graph
	inRepo   func(Task) bool
	position []int   // for each node: its position in the topological order
	nearest  [][]int // for each node: indexes of the nearest earlier tasks, in ascending order
}

// find returns the nearest earlier tasks of a node; see [origins]. The parameter needs holds the
// nodes for which that node waits directly. The caller must already have set the elements of
// o.nearest for these nodes.
func (o *origins) find(needs []int) []int {
	var found []int
	for _, need := range needs {
		own := !o.graph.isGate(need) && o.inRepo(o.graph.tasks[need])
		if own {
			found = append(found, need)
		}
		if !own || !o.graph.tasks[need].HasWorktree() {
			found = append(found, o.nearest[need]...)
		}
	}
	slices.Sort(found)
	return o.reduce(slices.Compact(found))
}

// reduce removes each task from the list found whose work is included in the work of another task
// in the list. A task with a worktree includes the work of all tasks that it waits for. A task
// without a worktree works in the project's folder. So it includes the work of those tasks that it
// waits for and that have no worktree either.
func (o *origins) reduce(found []int) []int {
	if len(found) < 2 {
		return found
	}
	first := len(o.position)
	var trees, others []int
	for _, task := range found {
		first = min(first, o.position[task])
		if o.graph.tasks[task].HasWorktree() {
			trees = append(trees, task)
		} else {
			others = append(others, task)
		}
	}
	inTrees, inOthers := o.before(trees, first), o.before(others, first)
	return slices.DeleteFunc(found, func(task int) bool {
		return inTrees[task] || inOthers[task] && !o.graph.tasks[task].HasWorktree()
	})
}

// before returns the set of nodes for which the given nodes wait, directly or indirectly. It
// ignores nodes whose position in the topological order is lower than minPosition.
func (o *origins) before(nodes []int, minPosition int) map[int]bool {
	seen := map[int]bool{}
	for stack := slices.Clone(nodes); len(stack) > 0; {
		node := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, need := range o.graph.needs[node] {
			if !seen[need] && o.position[need] >= minPosition {
				seen[need] = true
				stack = append(stack, need)
			}
		}
	}
	return seen
}
