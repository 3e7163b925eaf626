package plan

import "slices"

// Graph is the dependency graph of a plan's tasks.
//
// A plan may assign tasks to numbered groups, which are called waves. A task of a wave waits for
// all tasks of the waves with lower numbers.
//
// The first nodes of the graph are the tasks. After them, there is one gate for each wave except
// the last. A gate is a node without a task. It waits for the tasks of its wave and for the
// previous gate, and the tasks of the next wave wait for it. So for two waves with thousands of
// tasks, the graph needs thousands of edges and not millions.
type Graph struct {
	tasks []Task
	index map[string]int // for each task id: index of the first task with this id
	gates []int          // numbers of the waves that have a gate, in ascending order
	waves map[int][]int  // by wave number: indexes of the tasks of the wave
	needs [][]int        // for each node: the nodes that it waits for, without duplicates
}

// Graph returns the dependency graph of the plan. It ignores references to tasks that do not exist.
func (p Plan) Graph() *Graph {
	g := &Graph{tasks: p.Tasks, index: make(map[string]int, len(p.Tasks)), waves: map[int][]int{}}
	for i, t := range p.Tasks {
		if _, taken := g.index[t.ID]; !taken {
			g.index[t.ID] = i
		}
		if t.Wave > 0 {
			g.waves[t.Wave] = append(g.waves[t.Wave], i)
		}
	}
	g.addGates()
	g.needs = make([][]int, len(p.Tasks)+len(g.gates))
	for i := range p.Tasks {
		g.needs[i] = g.taskNeeds(i)
	}
	for k, wave := range g.gates {
		gate := len(p.Tasks) + k
		g.needs[gate] = g.waves[wave]
		if k > 0 {
			g.needs[gate] = append(slices.Clip(g.waves[wave]), gate-1)
		}
	}
	return g
}

func (g *Graph) addGates() {
	for wave := range g.waves {
		g.gates = append(g.gates, wave)
	}
	slices.Sort(g.gates)
	if len(g.gates) > 0 {
		g.gates = g.gates[:len(g.gates)-1]
	}
}

func (g *Graph) taskNeeds(i int) []int {
	t := g.tasks[i]
	needs := make([]int, 0, len(t.After)+1)
	seen := make(map[int]bool, len(t.After))
	for _, id := range t.After {
		if j, ok := g.index[id]; ok && !seen[j] {
			seen[j] = true
			needs = append(needs, j)
		}
	}
	if gate, ok := g.gateBefore(t.Wave); ok {
		needs = append(needs, gate)
	}
	return needs
}

// gateBefore returns the gate that the tasks of a wave wait for. The result ok is false if the
// tasks wait for no gate.
func (g *Graph) gateBefore(wave int) (node int, ok bool) {
	k, _ := slices.BinarySearch(g.gates, wave) // gates[:k] are the waves with lower numbers
	return len(g.tasks) + k - 1, wave > 0 && k > 0
}

func (g *Graph) isGate(node int) bool { return node >= len(g.tasks) }

// Needs returns the ids of the tasks for which a task waits directly; see [Plan.Needs].
func (g *Graph) Needs(id string) []string {
	i, ok := g.index[id]
	if !ok {
		return nil
	}
	var ids []string
	named := map[int]bool{}
	for _, need := range g.needs[i] {
		if !g.isGate(need) {
			named[need] = true
			ids = append(ids, g.tasks[need].ID)
		}
	}
	if gate, ok := g.gateBefore(g.tasks[i].Wave); ok {
		for _, j := range g.waves[g.gates[gate-len(g.tasks)]] {
			if !named[j] {
				ids = append(ids, g.tasks[j].ID)
			}
		}
	}
	return ids
}

// Waves returns the ids of the tasks, divided into layers; see [Plan.Waves]. It leaves out tasks on
// a dependency cycle, and tasks that wait for them.
func (g *Graph) Waves() [][]string {
	var waves [][]string
	levels := g.levels()
	for i, t := range g.tasks {
		if levels[i] == 0 {
			continue
		}
		for len(waves) < levels[i] {
			waves = append(waves, nil)
		}
		waves[levels[i]-1] = append(waves[levels[i]-1], t.ID)
	}
	return waves
}

// levels returns the level of each node. The level of a task that waits for nothing is 1. The level
// of any other task is one more than the highest level of the nodes that it waits for. The level of
// a gate is the highest level in its wave. Nodes on a cycle, and nodes that wait for a node on a
// cycle, have level 0.
func (g *Graph) levels() []int {
	levels := make([]int, len(g.needs))
	for _, node := range g.order() {
		for _, need := range g.needs[node] {
			levels[node] = max(levels[node], levels[need])
		}
		if !g.isGate(node) {
			levels[node]++
		}
	}
	return levels
}

// order returns the nodes in topological order. It leaves out nodes on a cycle, and nodes that wait
// for them.
func (g *Graph) order() []int {
	waiting := make([]int, len(g.needs)) // for each node: how many of the nodes that it waits for are not in the result yet
	opens := make([][]int, len(g.needs)) // for each node: the nodes that wait for it
	var order []int
	for node, needs := range g.needs {
		waiting[node] = len(needs)
		for _, need := range needs {
			opens[need] = append(opens[need], node)
		}
		if len(needs) == 0 {
			order = append(order, node)
		}
	}
	for at := 0; at < len(order); at++ {
		for _, node := range opens[order[at]] {
			if waiting[node]--; waiting[node] == 0 {
				order = append(order, node)
			}
		}
	}
	return order
}
