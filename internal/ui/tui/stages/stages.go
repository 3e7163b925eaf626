// Package stages determines the stage of each task of a run, and orders the tasks by stage. Stage 1
// contains the tasks that depend on no other task. The tasks of each later stage depend on tasks of
// the stages before. A plan can also set the stages of its tasks itself.
package stages

import (
	"slices"

	"gaffer/fleet"
)

// Of returns the stage of each task. If the plan sets the field Wave of a task, Wave is the stage.
// Otherwise the stage is one more than the highest stage of the tasks that the task depends on, or
// 1 if it depends on none.
func Of(tasks []fleet.Task) []int {
	at := make(map[string]int, len(tasks))
	for i, t := range tasks {
		at[t.ID] = i
	}
	stages := make([]int, len(tasks))
	var find func(i int) int
	find = func(i int) int {
		if stages[i] > 0 {
			return stages[i]
		}
		// Set a value before the recursion, so that the recursion ends even if the dependencies in
		// the plan have a cycle.
		stages[i] = max(tasks[i].Wave, 1)
		if tasks[i].Wave > 0 {
			return stages[i]
		}
		n := 1
		for _, id := range tasks[i].After {
			if j, ok := at[id]; ok {
				n = max(n, find(j)+1)
			}
		}
		stages[i] = n
		return n
	}
	for i := range tasks {
		find(i)
	}
	return stages
}

// Order returns the indexes of tasks, sorted by stage. The parameter stages holds the stage of each
// task. Tasks of the same stage keep their order.
func Order(stages []int) []int {
	order := make([]int, len(stages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return stages[a] - stages[b] })
	return order
}

// Count returns the number of different stages.
func Count(stages []int) int {
	seen := map[int]bool{}
	for _, n := range stages {
		seen[n] = true
	}
	return len(seen)
}
