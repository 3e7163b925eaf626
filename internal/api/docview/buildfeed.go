package docview

import (
	"fmt"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// BuildFeed is one event in the feed of a build, which is the list of the build's latest events.
type BuildFeed struct {
	Kind string `json:"kind"`
	// Filter is the event's category, by which the page can filter events: chunks, scenarios,
	// tools, verification, context or other.
	Filter  string           `json:"filter"`
	Chunk   string           `json:"chunk,omitempty"`
	Section string           `json:"section,omitempty"`
	At      time.Time        `json:"at,omitzero"`
	Text    string           `json:"text,omitempty"`
	Attempt int              `json:"attempt,omitempty"`
	Checks  []workflow.Check `json:"checks,omitempty"`
}

// BuildAlert is a problem that the user should not miss.
type BuildAlert struct {
	// If an event caused the alert, Kind is the kind of this event. Otherwise Kind says what the
	// alert is about: chunk, run (the whole build) or context (the context window).
	Kind  string    `json:"kind"`
	Level string    `json:"level"` // warning or critical
	Text  string    `json:"text"`
	Chunk string    `json:"chunk,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// maxFeed is how many of a build's latest events are shown at most.
const maxFeed = 50

func feed(state workflow.State, l limits) []BuildFeed {
	list := []BuildFeed{}
	for _, e := range last(workflow.Events(state.BuildEvents), maxFeed) {
		attempt, _ := e.Raw.Get("attempt").Int()
		list = append(list, BuildFeed{
			Kind: l.cut(e.Kind), Filter: filterOf(e.Kind), Chunk: l.cut(e.Chunk), Section: l.cut(first(e.Raw, "section")),
			At: parseTime(e.Timestamp), Text: l.cut(textOf(e)), Attempt: int(max(attempt, 0)), Checks: checks(e.Checks, l),
		})
	}
	return list
}

func checks(list []workflow.Check, l limits) []workflow.Check {
	var all []workflow.Check
	for _, c := range list[:min(len(list), l.items)] {
		all = append(all, workflow.Check{Name: l.cut(c.Name), Result: l.cut(c.Result), Retried: c.Retried})
	}
	return all
}

// textOf returns the text that describes an event to the user.
func textOf(e workflow.Event) string {
	if e.Summary != "" {
		return e.Summary
	}
	if scenario := first(e.Raw, "scenario"); scenario != "" {
		return strings.TrimSuffix(scenario+": "+first(e.Raw, "result"), ": ")
	}
	if e.IsolationMode != "" {
		return e.IsolationMode
	}
	return first(e.Raw, "reason", "message", "text", "tool", "section")
}

func filterOf(kind string) string {
	switch kind {
	case workflow.ChunkVerified, workflow.VerificationFailed:
		return "verification"
	case workflow.CheckpointSaved:
		return "context"
	}
	for prefix, filter := range map[string]string{
		"chunk-": "chunks", "section-": "chunks", "scenario-": "scenarios", "tool": "tools", "verif": "verification", "context-": "context",
	} {
		if strings.HasPrefix(kind, prefix) {
			return filter
		}
	}
	return "other"
}

// alerts returns the build's alerts for these problems:
//   - a nearly full context window
//   - a build, or a chunk of it, that waits for the user
//   - failures and other problems that no later event has resolved
func alerts(p BuildPicture, state workflow.State, l limits) []BuildAlert {
	list := []BuildAlert{}
	if p.Context.Level == contextWarning || p.Context.Level == contextCritical {
		list = append(list, BuildAlert{Kind: "context", Level: p.Context.Level, Text: fmt.Sprintf("the context is used to %.0f %%", *p.Context.Usage)})
	}
	if waitsForUser(p.Status) {
		list = append(list, BuildAlert{Kind: "run", Level: contextWarning, Text: "the build is " + p.Status})
	}
	for _, c := range p.Chunks {
		if waitsForUser(c.Status) {
			list = append(list, BuildAlert{Kind: "chunk", Level: contextWarning, Text: "the chunk is " + c.Status, Chunk: c.Name})
		}
	}
	list = list[:min(len(list), l.items)]
	return append(list, openAlerts(workflow.Events(state.BuildEvents), l)...)
}

// waitsForUser reports whether a status of a build or chunk means that it waits for the user.
// Different programs use different words for this.
func waitsForUser(status string) bool {
	return status == "awaiting-user" || status == "blocked" || status == "paused"
}

// openAlerts returns alerts for events with a problem that no later event has resolved. For each
// chunk it returns at most one alert, the latest.
func openAlerts(events []workflow.Event, l limits) []BuildAlert {
	var list []BuildAlert
	answered := map[string]bool{}
	for i := len(events) - 1; i >= 0 && len(list) < l.items; i-- {
		e := events[i]
		switch level := severity(e); {
		case level == "":
		case !answered[e.Chunk]:
			// The loop begins with the latest event. Once it has found an alert of a chunk, skip
			// the older alerts of this chunk. An alert that belongs to no chunk hides no other
			// alerts.
			answered[e.Chunk] = answered[e.Chunk] || e.Chunk != ""
			list = append(list, BuildAlert{l.cut(e.Kind), level, l.cut(textOf(e)), l.cut(e.Chunk), parseTime(e.Timestamp)})
		}
		if resolvesAlerts(e.Kind) {
			answered[e.Chunk] = true
		}
	}
	return list
}

// severity returns the level of the alert that an event causes, or "" if the event causes none.
func severity(e workflow.Event) string {
	switch {
	case e.Kind == workflow.ChunkFailed, e.Kind == workflow.EscalationEmitted:
		return contextCritical
	case e.Kind == workflow.VerificationFailed, strings.Contains(e.Kind, "loop"):
		return contextWarning
	case e.Raw.Get("alert").Kind() == jsontree.Bool:
		if alert, _ := e.Raw.Get("alert").Bool(); alert {
			return contextWarning
		}
	}
	return ""
}

// resolvesAlerts reports whether an event of this kind resolves the earlier alerts of the chunk
// that the event names.
func resolvesAlerts(kind string) bool {
	switch kind {
	case workflow.ChunkStarted, workflow.ChunkRetrying, workflow.ChunkCompleted, workflow.ChunkVerified:
		return true
	}
	return false
}
