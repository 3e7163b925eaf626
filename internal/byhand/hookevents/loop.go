package hookevents

import "fmt"

// LoopAfter is how many calls of a tool in a row count as a loop, if all of them have the same
// input or all of them fail.
const LoopAfter = 3

// countRepeats counts how often in a row an agent has called a tool with the same input, and how
// often in a row the tool has failed. It sets s.Loop to a description of the loop that the agent is
// in, or to "" if there is none. It returns a NotifyLoop action when a loop begins, and each time
// the length of the loop has doubled.
func (s *Session) countRepeats(e Event, failed bool) []Action {
	if e.Tool == "" {
		return nil
	}
	t := s.repeatsOf(e.Agent)
	if t.Tool != e.Tool {
		*t = RepeatedCall{Agent: e.Agent, Tool: e.Tool}
	}
	if t.Input != e.Input {
		t.Input, t.Same = e.Input, 0
	}
	t.Same++
	if t.Failed++; !failed {
		t.Failed = 0
	}
	s.Loop = t.loop(e.Doing)
	if s.Loop == "" || !notifiesAt(t.Same) && !notifiesAt(t.Failed) {
		return nil
	}
	return []Action{{Kind: NotifyLoop, Text: s.Loop}}
}

func (t RepeatedCall) loop(doing string) string {
	what := t.Tool
	if doing != "" {
		what += " (" + doing + ")"
	}
	switch {
	case t.Same >= LoopAfter && t.Failed >= LoopAfter:
		return fmt.Sprintf("%s failed %d times in a row, the same each time", what, t.Failed)
	case t.Same >= LoopAfter:
		return fmt.Sprintf("%s was called %d times in a row with the same input", what, t.Same)
	case t.Failed >= LoopAfter:
		return fmt.Sprintf("%s failed %d times in a row", t.Tool, t.Failed)
	}
	return ""
}

// notifiesAt reports whether the user is notified of a loop with n calls: 3, 6, 12, 24 …
func notifiesAt(n int) bool {
	for step := LoopAfter; step <= n; step *= 2 {
		if step == n {
			return true
		}
	}
	return false
}
