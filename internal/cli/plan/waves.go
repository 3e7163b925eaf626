package plan

import (
	"fmt"
	"slices"

	"gaffer/internal/plan"
)

// lowerWaves determines which lower wave a task waits for because of its own wave number. A task
// waits for all tasks of the next lower wave that occurs in the plan.
type lowerWaves struct {
	numbers []int       // wave numbers that occur in the plan, in ascending order
	size    map[int]int // number of tasks, by wave
	drawn   bool        // each stage contains exactly the tasks of the wave with its number
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

// unnamed describes the next lower wave, such as "all of stage 1". It returns "" if the task has no
// wave, if there is no lower wave, or if the task already names all tasks of that wave in after.
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
