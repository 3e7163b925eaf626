package plan

// beadOrder computes the dependencies of beads. A container, such as an epic, only groups
// beads, so no agent works on it. A bead that waits for a container waits for all parts of
// the container, and for every bead that the container waits for. The parts of a container
// wait for those beads, too. A bead is identified by its index in the draft.
type beadOrder struct {
	*beadReader
	index   map[string]int  // index of the first bead with each id
	waits   [][]wait        // by bead: its references as written in the file
	parts   [][]int         // by bead: the beads that are parts of it
	wholes  [][]int         // by bead: the beads that it is a part of
	missing []string        // ids that issues wait for but that are not in the file
	noted   map[string]bool // ids that are in missing
	steps   int             // work done so far, limited by maxSteps
}

// wait is a reference to a bead that another bead waits for. bead is -1 if the bead is not
// in the file.
type wait struct {
	bead int
	id   string
	at   position
}

// maxSteps limits the work of replacing containers by their parts.
const maxSteps = 2_000_000

func newBeadOrder(b *beadReader) *beadOrder {
	n := len(b.draft.Tasks)
	o := &beadOrder{
		beadReader: b,
		index:      make(map[string]int, n), noted: map[string]bool{},
		waits: make([][]wait, n), parts: make([][]int, n), wholes: make([][]int, n),
	}
	for i, t := range b.draft.Tasks {
		if _, taken := o.index[t.ID]; !taken {
			o.index[t.ID] = i
		}
	}
	for i, t := range b.draft.Tasks {
		for k, id := range t.After {
			o.waits[i] = append(o.waits[i], o.wait(id, b.draft.positions[i].reference(k)))
		}
	}
	for _, l := range b.links {
		o.link(l)
	}
	return o
}

func (o *beadOrder) wait(id string, at position) wait {
	if i, ok := o.index[id]; ok {
		return wait{i, id, at}
	}
	return wait{-1, id, at}
}

func (o *beadOrder) link(l link) {
	from, ok := o.index[l.from]
	if !ok {
		return
	}
	to := o.wait(l.to, l.at)
	switch {
	case l.kind == blocks || l.kind == waitsFor:
		o.waits[from] = append(o.waits[from], to)
	case l.kind == parentChild && to.bead >= 0 && to.bead != from:
		o.wholes[from] = append(o.wholes[from], to.bead)
		o.parts[to.bead] = append(o.parts[to.bead], from)
	}
}

// setDependencies sets After of each task, and marks beads that need no work as done.
func (o *beadOrder) setDependencies() {
	tasks := o.draft.Tasks
	for i := range tasks {
		if issue := o.issues[i]; issue != nil && issue.closed() {
			tasks[i].Done, tasks[i].After = true, nil
		}
	}
	for i := range tasks {
		if !tasks[i].Done && o.steps <= maxSteps {
			tasks[i].After, o.draft.positions[i].after = o.needs(i)
		}
	}
	if o.steps > maxSteps {
		o.report(position{}, "the epics stand for more than %d waits, which is too much for one plan", maxSteps)
	}
	o.holdBack()
	o.warnAll()
	for i := range tasks {
		if issue := o.issues[i]; issue != nil && issue.container() {
			tasks[i].Done = true
		}
		if tasks[i].Done {
			tasks[i].After = nil
		}
	}
}

// needs returns the ids of the beads that a bead waits for, each once, and the
// positions of the references.
func (o *beadOrder) needs(i int) ([]string, []position) {
	above, within := o.containersOf(i)
	l := needList{order: o, bead: i, within: within, seen: map[string]bool{}}
	for _, w := range o.waits[i] {
		l.follow(w)
	}
	for _, whole := range above {
		for _, w := range o.waits[whole] {
			if w.bead != i && !o.isPart(w.bead, whole) {
				l.follow(w)
			}
		}
	}
	return l.ids, l.at
}

// needList collects the beads that one bead waits for.
type needList struct {
	order  *beadOrder
	bead   int
	within map[int]bool // the containers that the bead belongs to
	seen   map[string]bool
	ids    []string
	at     []position
}

func (l *needList) follow(w wait) {
	o := l.order
	switch {
	case w.bead < 0:
		o.absent(l, w)
	case l.within[w.bead]: // ignore references of a bead to its own container
	case o.isContainer(w.bead):
		for _, part := range o.expandContainer(w.bead) {
			if part != l.bead {
				l.add(o.draft.Tasks[part].ID, w.at)
			}
		}
	case !o.draft.Tasks[w.bead].Done:
		l.add(w.id, w.at)
	}
}

func (l *needList) add(id string, at position) {
	if l.order.steps++; !l.seen[id] && l.order.steps <= maxSteps {
		l.seen[id] = true
		l.ids, l.at = append(l.ids, id), append(l.at, at)
	}
}

// absent handles a reference to a bead that is not in the file. In gaffer's own format,
// draft.check reports it as a problem. In an export it is allowed: the bead may be closed
// and deleted, or in another project.
func (o *beadOrder) absent(l *needList, w wait) {
	switch {
	case o.unreadable[w.id]: // the line of this bead was already reported
	case o.issues[l.bead] == nil:
		l.add(w.id, w.at)
	case !o.noted[w.id]:
		o.noted[w.id] = true
		o.missing = append(o.missing, w.id)
	}
}

// containersOf returns the containers that a bead is a part of, directly or indirectly, as
// a list and as a set. It leaves out containers that are done.
func (o *beadOrder) containersOf(i int) ([]int, map[int]bool) {
	seen := map[int]bool{}
	queue := []int{i}
	for at := 0; at < len(queue) && o.steps <= maxSteps; at++ {
		for _, whole := range o.wholes[queue[at]] {
			if o.steps++; whole != i && !seen[whole] && o.isContainer(whole) && !o.draft.Tasks[whole].Done {
				seen[whole] = true
				queue = append(queue, whole)
			}
		}
	}
	return queue[1:], seen
}

func (o *beadOrder) isPart(i, whole int) bool {
	if i < 0 {
		return false
	}
	_, within := o.containersOf(i)
	return within[whole]
}

// expandContainer returns the beads that replace a reference to a container: its parts and
// the beads that it waits for, without beads that are done.
func (o *beadOrder) expandContainer(container int) []int {
	var found []int
	seen := map[int]bool{container: true}
	queue := []int{container}
	visit := func(i int) {
		if o.steps++; i < 0 || seen[i] || o.draft.Tasks[i].Done {
			return
		}
		seen[i] = true
		if o.isContainer(i) {
			queue = append(queue, i)
		} else {
			found = append(found, i)
		}
	}
	for at := 0; at < len(queue) && o.steps <= maxSteps; at++ {
		if o.draft.Tasks[queue[at]].Done {
			continue
		}
		for _, part := range o.parts[queue[at]] {
			visit(part)
		}
		for _, w := range o.waits[queue[at]] {
			visit(w.bead)
		}
	}
	return found
}

// isContainer reports whether references to a bead are replaced by references to its
// parts. A container that the tracker holds back is not replaced, so that beads that wait
// for it are held back too.
func (o *beadOrder) isContainer(i int) bool {
	return o.issues[i] != nil && o.issues[i].container() && o.issues[i].holdReason() == ""
}
