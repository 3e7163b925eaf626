package watch

import (
	"fmt"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// confirmation is an action that requires the user's confirmation.
type confirmation struct {
	text string // the question to the user, which names the action and its object
	yes  string
	do   any
}

func (m Model) ask(c confirmation) Model {
	m.mode, m.confirm = confirming, c
	return m
}

// confirmed handles a key in the confirming mode. Only y performs the action.
func (m Model) confirmed(k Key) (Model, []any) {
	c := m.confirm
	m.mode, m.confirm = browsing, confirmation{}
	if k.Name != "y" {
		return m.tell("nothing was done"), nil
	}
	if a, ok := c.do.(Answer); ok {
		m.sending = a.Question
	}
	return m, []any{c.do}
}

func (m Model) tell(text string) Model {
	m.note, m.noted = Said{Text: text}, m.now
	return m
}

func (m Model) deny(q fleet.Question, reason string) Model {
	text := "Deny what " + display.Line(q.Name, 50) + of(m.runName(q.Run)) + " asks for?"
	if reason != "" {
		text = fmt.Sprintf("Deny what %s%s asks for, because %q?", display.Line(q.Name, 50), of(m.runName(q.Run)), phrase.Line(reason))
	}
	return m.ask(confirmation{text, "y denies", Answer{Question: q.ID, Name: q.Name, Text: reason, Deny: true}})
}

func of(name string) string {
	if name == "" {
		return ""
	}
	return " of " + name
}

// cancelRun asks for confirmation before it cancels a run.
func (m Model) cancelRun(r fleet.Run) Model {
	if r.ID == "" {
		return m
	}
	if r.Status.Final() {
		return m.tell("run " + nameOf(r) + " has ended already, it is " + string(r.Status))
	}
	text := fmt.Sprintf("Cancel run %s (%s)? %s ended, %s will not start.", nameOf(r), display.Printable(r.ID),
		phrase.Count(r.Counts.Running, "agent")+be(r.Counts.Running), phrase.Count(r.Counts.Queued, "task"))
	return m.ask(confirmation{text, "y cancels the run", Cancel{Run: r.ID, Name: "run " + nameOf(r)}})
}

func be(n int) string {
	if n == 1 {
		return " is"
	}
	return " are"
}

// cancelTask asks for confirmation before it cancels a task.
func (m Model) cancelTask(t fleet.Task) Model {
	if t.ID == "" {
		return m
	}
	name := display.Line(t.ID, 40) + of(m.runName(t.Run))
	if t.Status.Final() {
		return m.tell("task " + name + " has ended already, it is " + string(t.Status))
	}
	text := "Cancel task " + name + "? What waits for it is cancelled too."
	if t.Status == fleet.Running {
		text = "Cancel task " + name + "? Its agent is ended, and what waits for it is cancelled too."
	}
	return m.ask(confirmation{text, "y cancels the task", Cancel{Run: t.Run, Task: t.ID, Name: "task " + name}})
}
