package docview

import (
	"slices"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// TeamMessage is a message from one role of a team to another.
type TeamMessage struct {
	ID    string    `json:"id"`
	From  string    `json:"from"`
	To    string    `json:"to"`
	Type  string    `json:"type"`
	Text  string    `json:"text"`
	Body  []string  `json:"body,omitempty"` // further lines of the message, in addition to Text
	At    time.Time `json:"at,omitzero"`
	Read  bool      `json:"read"`
	Group string    `json:"group"`
}

// TeamDecision is a decision of a role, for example the tech lead, and its reason.
type TeamDecision struct {
	At    time.Time `json:"at,omitzero"`
	Who   string    `json:"who"`
	What  string    `json:"what"`
	Why   string    `json:"why"`
	Group string    `json:"group,omitempty"`
}

// messageDocuments lists the documents that contain messages between roles. from, to and kind are
// the defaults for messages that name no sender, receiver or type.
var messageDocuments = []struct {
	doc      team.Document
	from, to team.Role
	kind     string
}{
	{team.DevToQADoc, team.Developer, team.QAExpert, "handoff"},
	{team.QAToTechLeadDoc, team.QAExpert, team.TechLead, "test_report"},
	{team.TechLeadToDevDoc, team.TechLead, team.Developer, "review"},
}

// messages returns the latest messages of all documents, the oldest first.
func (t *Team) messages(l limits) []TeamMessage {
	var list dated[TeamMessage]
	for _, w := range messageDocuments {
		list.next()
		items := t.value(w.doc)
		if items.Kind() == jsontree.Object {
			items = items.Get("messages")
		}
		for _, v := range items.Items() {
			if m, ok := message(v, l); ok {
				m.From, m.To, m.Type = orRole(m.From, w.from), orRole(m.To, w.to), orRole(m.Type, team.Role(w.kind))
				list.add(m.At, m)
			}
		}
	}
	return last(list.sorted(), l.items)
}

func orRole(text string, role team.Role) string {
	if text != "" {
		return text
	}
	return string(role)
}

func message(v jsontree.Value, l limits) (TeamMessage, bool) {
	if text, ok := v.Str(); ok {
		return TeamMessage{Text: l.cut(text)}, text != ""
	}
	read, _ := v.Get("read").Bool()
	m := TeamMessage{
		ID: l.cut(first(v, "id")), From: l.cut(first(v, "from")), To: l.cut(first(v, "to")), Type: l.cut(first(v, "type")),
		Text: l.cut(first(v, "subject", "text", "message", "summary")), Body: body(v, l),
		At: parseTime(first(v, "timestamp", "time", "at")), Read: read, Group: l.cut(first(v, "group_id", "group")),
	}
	return m, v.Kind() == jsontree.Object
}

// body returns the parts of a message that the page shows below the main text, for example the
// result of a test. Each part is one string.
func body(v jsontree.Value, l limits) []string {
	var lines []string
	for _, path := range []string{
		"status", "result", "decision", "feedback", "notes", "context.unit_tests_status", "context.notes",
		"test_results.integration_tests", "test_results.contract_tests", "test_results.e2e_tests", "developer_context.implementation_summary",
	} {
		at, parts := v, strings.Split(path, ".")
		for _, name := range parts[:len(parts)-1] {
			at = at.Get(name)
		}
		if text := first(at, parts[len(parts)-1]); text != "" {
			lines = append(lines, l.cut(text))
		}
	}
	for _, issue := range v.Get("issues").Items() {
		if text := first(issue, "title", "description"); text != "" {
			lines = append(lines, l.cut(strings.TrimSpace(first(issue, "priority")+" "+text)))
		}
	}
	lines = append(lines, l.cutAll(texts(v.Get("actionable_items")))...)
	return lines[:min(len(lines), l.items)]
}

// decisions returns the decisions of the project manager, the orchestrator and the tech lead,
// sorted by time, the oldest first.
func (t *Team) decisions(s teamState, l limits) []TeamDecision {
	var list dated[TeamDecision]
	if s.pm.Mode != "" {
		start := representable(s.orchestrator.StartTime.Time)
		list.add(start, TeamDecision{At: start, Who: string(team.PM), What: l.cut("mode " + string(s.pm.Mode)), Why: l.cut(s.pm.ModeReasoning)})
	}
	list.next()
	for _, v := range t.value(team.OrchestratorDoc).Get("decisions_log").Items() {
		addDecision(&list, decision(v, "orchestrator", "", l))
	}
	for id, g := range t.value(team.GroupStatusDoc).Members() {
		list.next()
		for _, v := range g.Get("tech_lead_feedback").Items() {
			addDecision(&list, decision(v, string(team.TechLead), l.cut(id), l))
		}
	}
	return last(list.sorted(), l.items)
}

// addDecision adds a decision to the list. If both its What and its Why are empty, it adds nothing.
func addDecision(list *dated[TeamDecision], d TeamDecision) {
	if d.What+d.Why != "" {
		list.add(d.At, d)
	}
}

func decision(v jsontree.Value, who, group string, l limits) TeamDecision {
	if text, ok := v.Str(); ok {
		return TeamDecision{Who: who, What: l.cut(text), Group: group}
	}
	if other := first(v, "who", "agent", "role"); other != "" {
		who = other
	}
	return TeamDecision{
		At: parseTime(first(v, "timestamp", "time", "at")), Who: l.cut(who), What: l.cut(first(v, "decision", "what", "action")),
		Why: l.cut(first(v, "reasoning", "why", "reason", "feedback")), Group: group,
	}
}

// dated collects entries of several documents, for example messages, and sorts them by time. An
// entry without a time gets the time of the previous entry of the same document.
type dated[T any] struct {
	list  []T
	times []time.Time
	since time.Time
}

// next must be called before the entries of another document are added. Without it, an entry
// without a time could get the time of an entry of the previous document.
func (d *dated[T]) next() { d.since = time.Time{} }

func (d *dated[T]) add(at time.Time, item T) {
	if at.IsZero() {
		at = d.since
	}
	d.since = at
	d.list, d.times = append(d.list, item), append(d.times, at)
}

func (d *dated[T]) sorted() []T {
	order := make([]int, len(d.list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return d.times[a].Compare(d.times[b]) })
	list := make([]T, len(order))
	for i, at := range order {
		list[i] = d.list[at]
	}
	return list
}
