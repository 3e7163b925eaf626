// Package waves puts the tasks of a run in the order that a person thinks of.
package waves

import (
	"slices"

	"gaffer/fleet"
)

// Of gives each task its wave: the plan's if it has waves, else one more than the
// highest of those it waits for.
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

// wave finds the wave of one task. In a cycle, which no plan has, it ends where
// it began.
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

// Order is the places of tasks with these waves, by wave, and within one as the
// plan has them.
func Order(waves []int) []int {
	order := make([]int, len(waves))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return waves[a] - waves[b] })
	return order
}

// Count is how many waves there are.
func Count(waves []int) int {
	seen := map[int]bool{}
	for _, n := range waves {
		seen[n] = true
	}
	return len(seen)
}
