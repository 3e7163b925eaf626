package plan

import (
	"fmt"
	"slices"
)

// holdBack finds the beads on which no agent may work now, and warns about them. It sets the field
// Done of their tasks, so that the plan leaves them out. These are the beads on which the issue
// tracker does not allow work now, their parts, and all beads that wait for any of these.
func (o *beadOrder) holdBack() {
	tasks := o.draft.Tasks
	waiting := map[int][]int{}
	for i, t := range tasks {
		for _, id := range t.After {
			if need, ok := o.index[id]; ok {
				waiting[need] = append(waiting[need], i)
			}
		}
	}
	var queue []int
	for i, issue := range o.issues {
		if issue != nil && !tasks[i].Done && issue.holdReason() != "" {
			tasks[i].Done = true
			queue = append(queue, i)
		}
	}
	first := len(queue)
	for at := 0; at < len(queue); at++ {
		for _, i := range slices.Concat(waiting[queue[at]], o.partsOf(queue[at])) {
			if !tasks[i].Done {
				tasks[i].Done = true
				queue = append(queue, i)
			}
		}
	}
	o.warnHeld(queue[:first], queue[first:])
}

func (o *beadOrder) partsOf(i int) []int {
	if o.issues[i] == nil || !o.issues[i].container() {
		return nil
	}
	return o.parts[i]
}

func (o *beadOrder) warnHeld(held, others []int) {
	if len(held) == 0 {
		return
	}
	words := make([]string, len(held))
	for k, i := range held {
		words[k] = fmt.Sprintf("%s (%.40s)", o.draft.Tasks[i].ID, o.issues[i].holdReason())
	}
	text := andList(words) + ": left out"
	if len(others) > 0 {
		text += ", and with that what waits for it or is a part of it: " + andList(o.names(others))
	}
	o.warn(o.lineOf(held[0]), "%s", text)
}

// warnAll adds warnings about beads in the issue tracker's format, if gaffer does something with
// them that users may not expect. For example, no agent works on an epic itself.
func (o *beadOrder) warnAll() {
	var taken, containers []int
	for i, issue := range o.issues {
		switch {
		case issue == nil || o.draft.Tasks[i].Done:
		case issue.container():
			containers = append(containers, i)
		case issue.inProgress():
			taken = append(taken, i)
		}
	}
	o.warnAbout(containers, "%s: an epic is not run, only the beads that are its parts; what waits for it waits for those")
	o.warnAbout(taken, "%s: in progress in the tracker, so someone may already work on it")
	if len(o.missing) > 0 {
		o.warn(position{}, "%s: not in this file and taken as closed, so nothing waits for it", andList(o.missing))
	}
}

func (o *beadOrder) warnAbout(beads []int, format string) {
	if len(beads) > 0 {
		o.warn(o.lineOf(beads[0]), format, andList(o.names(beads)))
	}
}

func (o *beadOrder) names(beads []int) []string {
	names := make([]string, len(beads))
	for k, i := range beads {
		names[k] = o.draft.Tasks[i].ID
	}
	return names
}

func (o *beadOrder) lineOf(i int) position { return position{line: o.draft.Tasks[i].Line} }
