package plan

import (
	"strings"
)

// issue is a bead (a work item) in the export format of the issue tracker "beads".
type issue struct {
	id, title, description, design, criteria, notes string

	status   string
	kind     string
	priority int

	template, pinned bool
	conditional      bool // the tracker wants work on this issue only if another issue fails
}

// link is a relation between two beads. The issue tracker calls it a dependency.
type link struct {
	from, to, kind string
	at             position
}

// issueKeys returns the keys of an exported issue whose values are stored in the type issue. The
// key "dependencies" is not among them, because addLinks reads it separately.
func issueKeys() []keySpec[issue] {
	return []keySpec[issue]{
		newKey("id", text(), func(i *issue) *string { return &i.id }, "its name", `"id": "bd-a1"`).require(),
		newKey("title", text(), func(i *issue) *string { return &i.title }, "what is to be done", `"title": "Fix the login"`).require(),
		newKey("description", optionalText(), func(i *issue) *string { return &i.description }, "", ""),
		newKey("design", optionalText(), func(i *issue) *string { return &i.design }, "", ""),
		newKey("acceptance_criteria", optionalText(), func(i *issue) *string { return &i.criteria }, "", ""),
		newKey("notes", optionalText(), func(i *issue) *string { return &i.notes }, "", ""),
		newKey("status", optionalText(), func(i *issue) *string { return &i.status }, "", ""),
		newKey("issue_type", optionalText(), func(i *issue) *string { return &i.kind }, "", ""),
		newKey("priority", number(0, lowestPriority), func(i *issue) *int { return &i.priority }, "", ""),
		newKey("is_template", boolean(), func(i *issue) *bool { return &i.template }, "", ""),
		newKey("pinned", boolean(), func(i *issue) *bool { return &i.pinned }, "", ""),
	}
}

// optionalText is the value type of a text that may be empty.
func optionalText() valueType[string] {
	return valueType[string]{schema{Type: "string"}, func(r *reporter, name string, n *node) (string, bool) {
		if n.kind == list || n.kind == mapping {
			r.report(n.position, "%s: found %s, want a text", name, n.kind)
			return "", false
		}
		return n.text, true
	}}
}

// addIssue adds a task for a line in the export format of the issue tracker. It skips lines that
// are not issues: the tracker also exports other objects, for example memories of agents.
func (b *beadReader) addIssue(n *node) {
	if t := n.get("_type"); t != nil && t.text != "issue" {
		return
	}
	i := &issue{priority: normalPriority}
	given := readMapping(b.reporter, "an issue", onlyKeys(n, issueKeys()), issueKeys(), rejected, i)
	at := taskPositions{id: n.position, prompt: n.position}
	if p, ok := given["id"]; ok {
		at.id = p.value.withPosition(p.at).position
	}
	b.addLinks(i, n.get("dependencies"))
	b.issues = append(b.issues, i)
	t := b.newTask(n)
	t.ID, t.Name, t.Prompt, t.Priority = i.id, firstLine(strings.TrimSpace(i.title)), i.prompt(), -i.priority
	t.Dispatch.Bead = i.id
	b.draft.add(t, at)
}

// onlyKeys returns a copy of the mapping n that has only the keys in the parameter keys. It also
// leaves out keys whose value is null.
func onlyKeys[T any](n *node, keys []keySpec[T]) *node {
	kept := *n
	kept.pairs = nil
	for _, f := range keys {
		for _, p := range n.pairs {
			if p.key == f.name && p.value.kind != nothing {
				kept.pairs = append(kept.pairs, p)
			}
		}
	}
	return &kept
}

// prompt returns the prompt for an issue: its title, and its other texts such as the description,
// each under a heading.
func (i *issue) prompt() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(i.title))
	for _, part := range []struct{ heading, text string }{
		{"Description", i.description},
		{"Design", i.design},
		{"Acceptance criteria", i.criteria},
		{"Notes", i.notes},
	} {
		if text := strings.TrimSpace(part.text); text != "" {
			b.WriteString("\n\n## " + part.heading + "\n\n" + text)
		}
	}
	return b.String() + "\n"
}

// addLinks reads the dependencies of an issue and adds them to b.links.
func (b *beadReader) addLinks(i *issue, n *node) {
	if n == nil || n.kind == nothing {
		return
	}
	if n.kind != list {
		b.report(n.position, "dependencies: found %s, want a list", n.kind)
		return
	}
	keys := []keySpec[link]{
		newKey("issue_id", text(), func(l *link) *string { return &l.from }, "", ""),
		newKey("depends_on_id", text(), func(l *link) *string { return &l.to }, "", `"depends_on_id": "bd-a1"`).require(),
		newKey("type", text(), func(l *link) *string { return &l.kind }, "", ""),
	}
	for _, item := range n.items {
		l := link{from: i.id, kind: blocks, at: item.position}
		if readMapping(b.reporter, "a dependency", onlyKeys(item, keys), keys, rejected, &l); l.to == "" {
			continue // not a valid link; readMapping has reported the problem
		}
		if l.kind == conditional && l.from == i.id {
			i.conditional = true
		}
		b.links = append(b.links, l)
	}
}

// The types of links between beads that decide on which beads agents work, and in which order.
// Links of other types are ignored.
const (
	blocks      = "blocks"
	waitsFor    = "waits-for"
	parentChild = "parent-child" // the bead link.from is a part of the bead link.to
	conditional = "conditional-blocks"
)

// closed reports whether the issue is finished or deleted, according to its status in the tracker.
func (i *issue) closed() bool { return i.status == "closed" || i.status == "tombstone" }

// container reports whether the issue only groups other beads, as an epic does. Agents work on the
// beads in the group, and not on the issue itself.
func (i *issue) container() bool {
	switch i.kind {
	case "epic", "milestone", "molecule", "convoy":
		return true
	}
	return false
}

// holdReason returns why no agent may work on an open issue now, or "" if an agent may work on it.
func (i *issue) holdReason() string {
	switch i.status {
	case "", "open", "in_progress", "blocked", "hooked":
	default:
		return i.status
	}
	switch i.kind {
	case "gate", "message", "event", "agent", "role", "rig", "slot", "merge-request":
		return i.kind
	}
	switch {
	case i.template:
		return "template"
	case i.pinned:
		return "pinned"
	case i.conditional:
		return conditional
	}
	return ""
}

// inProgress reports whether someone already works on the issue, according to its status in the
// tracker.
func (i *issue) inProgress() bool { return i.status == "in_progress" || i.status == "hooked" }
