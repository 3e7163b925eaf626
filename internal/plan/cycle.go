package plan

import (
	"fmt"
	"slices"
	"strings"
)

// cycle is a list of tasks in which each task waits for the next task, and the last task waits for
// the first. A task waits for another task because it names that task, or because of its wave: a
// task waits for all tasks of waves with lower numbers. The field note says which task waits
// because of its wave. If several tasks do, it names only the first. If no task does, it is empty.
type cycle struct {
	tasks []int
	note  string
}

// cycles returns one cycle for each strongly connected component of the graph: a shortest cycle
// through the component's first task. It ignores tasks that wait for themselves.
func (g *Graph) cycles() []cycle {
	var found []cycle
	for _, component := range g.components() {
		found = append(found, g.cycleIn(component))
	}
	return found
}

// text returns a cycle as text, for example a → b → c → a.
func (g *Graph) text(c cycle) string {
	ids := make([]string, 0, len(c.tasks)+1)
	for _, i := range append(slices.Clip(c.tasks), c.tasks[0]) {
		ids = append(ids, g.tasks[i].ID)
	}
	const most = 20
	if len(ids) > most {
		ids = append(append(slices.Clip(ids[:most-1]), fmt.Sprintf("… %d more …", len(ids)-most)), ids[len(ids)-1])
	}
	return strings.Join(ids, " → ") + c.note
}

// cycleIn returns a shortest cycle through the first task of a strongly connected component. It
// uses a breadth-first search.
func (g *Graph) cycleIn(component []int) cycle {
	inside := make(map[int]bool, len(component))
	for _, node := range component {
		inside[node] = true
	}
	// The node with the lowest index is a task. The other nodes, the gates between waves, have
	// higher indexes, and gates alone form no cycle.
	start := slices.Min(component)
	from := map[int]int{}
	queue := []int{start}
	for at := 0; at < len(queue); at++ {
		for _, need := range g.needs[queue[at]] {
			if need == start && queue[at] != start {
				return g.trace(from, start, queue[at])
			}
			if _, seen := from[need]; inside[need] && !seen && need != start {
				from[need] = queue[at]
				queue = append(queue, need)
			}
		}
	}
	panic("plan: a component without a cycle")
}

func (g *Graph) trace(from map[int]int, start, last int) cycle {
	path := []int{last}
	for node := last; node != start; {
		node = from[node]
		path = append(path, node)
	}
	slices.Reverse(path)
	var c cycle
	for i, node := range path {
		if !g.isGate(node) {
			c.tasks = append(c.tasks, node)
		} else if c.note == "" {
			c.note = g.gateNote(path[i-1])
		}
	}
	return c
}

// gateNote returns a text that says: this task waits for all lower waves. The parameter node is the
// index of the task.
func (g *Graph) gateNote(node int) string {
	t := g.tasks[node]
	return fmt.Sprintf(" (%s is of wave %d, which waits for all lower waves)", t.ID, t.Wave)
}

// components returns the strongly connected components that have two or more nodes. It uses
// Tarjan's algorithm without recursion, because a chain of tasks may be very long.
func (g *Graph) components() [][]int {
	s := componentSearch{graph: g, number: make([]int, len(g.needs)), low: make([]int, len(g.needs)), open: make([]bool, len(g.needs))}
	for node := range g.needs {
		if s.number[node] == 0 {
			s.from(node)
		}
	}
	slices.SortFunc(s.found, func(a, b []int) int { return slices.Min(a) - slices.Min(b) })
	return s.found
}

type componentSearch struct {
	graph *Graph
	count int
	// number and low hold the index and the low link of each node in Tarjan's algorithm. An index
	// of 0 means that the node was not visited yet.
	number, low []int
	open        []bool
	stack       []int
	found       [][]int
}

type visit struct{ node, next int }

func (s *componentSearch) from(root int) {
	calls := []visit{s.enter(root)}
	for len(calls) > 0 {
		top := &calls[len(calls)-1]
		if top.next < len(s.graph.needs[top.node]) {
			need := s.graph.needs[top.node][top.next]
			top.next++
			if s.number[need] == 0 {
				calls = append(calls, s.enter(need))
			} else if s.open[need] {
				s.low[top.node] = min(s.low[top.node], s.number[need])
			}
			continue
		}
		node := top.node
		calls = calls[:len(calls)-1]
		s.leave(node)
		if len(calls) > 0 {
			caller := calls[len(calls)-1].node
			s.low[caller] = min(s.low[caller], s.low[node])
		}
	}
}

func (s *componentSearch) enter(node int) visit {
	s.count++
	s.number[node], s.low[node], s.open[node] = s.count, s.count, true
	s.stack = append(s.stack, node)
	return visit{node: node}
}

func (s *componentSearch) leave(node int) {
	if s.low[node] != s.number[node] {
		return
	}
	at := len(s.stack) - 1
	for s.stack[at] != node {
		at--
	}
	component := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, member := range component {
		s.open[member] = false
	}
	if len(component) > 1 {
		s.found = append(s.found, component)
	}
}

// Cycles returns texts such as "a → b → a", which describe cycles among the tasks. Of several
// cycles that share tasks, it describes only one.
func (g *Graph) Cycles() (texts []string) {
	for _, c := range g.cycles() {
		texts = append(texts, g.text(c))
	}
	return texts
}
