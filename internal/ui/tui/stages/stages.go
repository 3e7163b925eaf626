// Package stages orders the tasks of a run by stage.
package stages

import (
	"slices"

	"gaffer/fleet"
)

// Of returns the stage of each task: the wave that the plan sets, else one more than
// the highest stage of the tasks that it depends on.
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
		// Plans have no cycles. If there were one, the recursion would end here.
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

// Order returns the indexes of tasks with these stages, by stage, and within a stage
// in the order of the plan.
func Order(stages []int) []int {
	order := make([]int, len(stages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return stages[a] - stages[b] })
	return order
}

// Count returns the number of stages.
func Count(stages []int) int {
	seen := map[int]bool{}
	for _, n := range stages {
		seen[n] = true
	}
	return len(seen)
}
