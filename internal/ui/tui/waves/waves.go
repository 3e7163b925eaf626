// Package waves orders the tasks of a run by stage.
package waves

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
	found := make([]int, len(tasks))
	for i := range tasks {
		wave(tasks, at, found, i)
	}
	return found
}

// wave returns the stage of one task. Plans have no cycles; if there were one, the
// recursion would end where it began.
func wave(tasks []fleet.Task, at map[string]int, found []int, i int) int {
	if found[i] > 0 {
		return found[i]
	}
	found[i] = max(tasks[i].Wave, 1)
	if tasks[i].Wave > 0 {
		return found[i]
	}
	n := 1
	for _, id := range tasks[i].After {
		if j, ok := at[id]; ok {
			n = max(n, wave(tasks, at, found, j)+1)
		}
	}
	found[i] = n
	return n
}

// Order returns the indexes of tasks with these stages, by stage, and within a stage
// in the order of the plan.
func Order(waves []int) []int {
	order := make([]int, len(waves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return waves[a] - waves[b] })
	return order
}

// Count returns the number of stages.
func Count(waves []int) int {
	seen := map[int]bool{}
	for _, n := range waves {
		seen[n] = true
	}
	return len(seen)
}
