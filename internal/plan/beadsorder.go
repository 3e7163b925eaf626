package plan

// beadOrder computes which beads (a bead is a work item) each bead waits for. No agent works on a
// container, such as an epic: it only groups other beads, which are called its parts. A bead that
// waits for a container waits for all parts of the container, and for every bead that the container
// waits for. The parts of a container also wait for the beads that the container waits for. Each
// bead is identified by the index of its task in the draft.
type beadOrder struct {
	*beadReader
	index   map[string]int  // for each id: the index of the first bead with this id
	waits   [][]wait        // for each bead: the beads that it waits for, as written in the file
	parts   [][]int         // for each bead: the indexes of its parts
	wholes  [][]int         // for each bead: the indexes of the beads that it is a part of
	missing []string        // ids of beads that issues wait for, but that are not in the file
	noted   map[string]bool // the same ids as in missing, as a set
	steps   int             // number of references between beads that were followed so far
}

// wait is a reference to a bead for which another bead waits. The field bead is the index of the
// bead that is waited for, or -1 if that bead is not in the file.
type wait struct {
	bead int
	id   string
	at   position
}

// maxSteps limits how many references between beads are followed. A file that needs more is
// rejected, for example because many beads wait for containers with many parts.
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

// setDependencies sets the field After of each task: the ids of the tasks that it waits for. It
// sets the field Done of each task on which no agent works, for example because the bead is closed.
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

// needs returns the ids of the beads that bead i waits for, without duplicates. The second result
// has, for each of these ids, the position in the file of the reference to it.
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

// needList collects the beads for which the bead with the index bead waits.
type needList struct {
	order  *beadOrder
	bead   int
	within map[int]bool // set of the containers that the bead is a part of
	seen   map[string]bool
	ids    []string
	at     []position
}

func (l *needList) follow(w wait) {
	o := l.order
	switch {
	case w.bead < 0:
		o.absent(l, w)
	case l.within[w.bead]: // a bead does not wait for a container that it is a part of
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

// absent handles the reference w to a bead that is not in the file. If the bead that waits is in
// gaffer's own format, absent keeps the reference, and draft.check later reports a problem. If the
// bead that waits is in the issue tracker's format, the missing bead may have been closed and
// deleted, or be in another project. In this case absent drops the reference, and adds the id to
// o.missing, so that the user gets a warning.
func (o *beadOrder) absent(l *needList, w wait) {
	switch {
	case o.unreadable[w.id]: // do nothing: the bead's line was already reported as not valid
	case o.issues[l.bead] == nil:
		l.add(w.id, w.at)
	case !o.noted[w.id]:
		o.noted[w.id] = true
		o.missing = append(o.missing, w.id)
	}
}

// containersOf returns the containers that bead i is a part of, directly or through other
// containers. The results are the same containers as a list and as a set. They leave out containers
// that are done, and containers on whose parts the issue tracker allows no work now.
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

// expandContainer returns the beads for which a bead waits instead of a container: the parts of the
// container, and the beads that the container waits for. Beads that are done are left out.
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

// isContainer reports whether bead i is a container and agents may work on its parts. If the issue
// tracker does not allow work on the container now, isContainer returns false. Then beads that wait
// for it wait for the container itself, as for any other bead, and [beadOrder.holdBack] leaves them
// out together with it.
func (o *beadOrder) isContainer(i int) bool {
	return o.issues[i] != nil && o.issues[i].container() && o.issues[i].holdReason() == ""
}
