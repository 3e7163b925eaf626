package plan

import (
	"fmt"
	"slices"

	"gaffer/internal/plan"
)

// lowerWaves determines which lower wave a task waits for. The author of a plan can give wave
// numbers to tasks. A task with a wave number waits for all tasks of the next lower wave that
// occurs in the plan.
type lowerWaves struct {
	numbers []int       // wave numbers that occur in the plan, in ascending order
	size    map[int]int // number of tasks, by wave number
	drawn   bool        // true if, for each N, stage N of the drawing consists of exactly the tasks with wave number N
}

func newLowerWaves(tasks map[string]plan.Task, waves [][]string) lowerWaves {
	l := lowerWaves{size: map[int]int{}, drawn: true}
	for i, ids := range waves {
		for _, id := range ids {
			wave := tasks[id].Wave
			l.drawn = l.drawn && wave == i+1
			if wave > 0 {
				l.size[wave]++
			}
		}
	}
	for wave := range l.size {
		l.numbers = append(l.numbers, wave)
	}
	slices.Sort(l.numbers)
	return l
}

// unnamed describes the tasks that task t waits for because of its wave number, such as "all of
// stage 1". It returns "" in three cases: t has no wave number, no task has a lower wave number, or
// t.After already names all tasks of the next lower wave.
func (l lowerWaves) unnamed(t plan.Task, tasks map[string]plan.Task) string {
	at, _ := slices.BinarySearch(l.numbers, t.Wave)
	if t.Wave == 0 || at == 0 {
		return ""
	}
	below := l.numbers[at-1]
	named := 0
	for _, id := range t.After {
		if tasks[id].Wave == below {
			named++
		}
	}
	switch {
	case named >= l.size[below]:
		return ""
	case l.drawn:
		return fmt.Sprintf("all of stage %d", below)
	}
	return fmt.Sprintf("all with wave: %d", below)
}
