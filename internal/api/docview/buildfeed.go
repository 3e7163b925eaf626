package docview

import (
	"fmt"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// BuildFeed is an event of a build's feed.
type BuildFeed struct {
	Kind    string           `json:"kind"`
	Filter  string           `json:"filter"` // chunks, scenarios, tools, verification, context or other
	Chunk   string           `json:"chunk,omitempty"`
	Section string           `json:"section,omitempty"`
	At      time.Time        `json:"at,omitzero"`
	Text    string           `json:"text,omitempty"`
	Attempt int              `json:"attempt,omitempty"`
	Checks  []workflow.Check `json:"checks,omitempty"`
}

// BuildAlert is what a person should not miss.
type BuildAlert struct {
	Kind  string    `json:"kind"`  // of the event, or what it is about: chunk, run, context
	Level string    `json:"level"` // warning or critical
	Text  string    `json:"text"`
	Chunk string    `json:"chunk,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// maxFeed is how many events a feed shows.
const maxFeed = 50

func feed(state workflow.State, l limits) []BuildFeed {
	list := []BuildFeed{}
	for _, e := range last(workflow.Events(state.BuildEvents), maxFeed) {
		attempt, _ := e.Raw.Get("attempt").Int()
		list = append(list, BuildFeed{
			Kind: l.cut(e.Kind), Filter: filterOf(e.Kind), Chunk: l.cut(e.Chunk), Section: l.cut(first(e.Raw, "section")),
			At: moment(e.Timestamp), Text: l.cut(textOf(e)), Attempt: int(max(attempt, 0)), Checks: checks(e.Checks, l),
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

// textOf is what an event says for itself.
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

// alerts are what went wrong and was not put right since, and what waits for a
// person.
func alerts(p BuildPicture, state workflow.State, l limits) []BuildAlert {
	list := []BuildAlert{}
	if p.Context.Level == contextWarning || p.Context.Level == contextCritical {
		list = append(list, BuildAlert{Kind: "context", Level: p.Context.Level, Text: fmt.Sprintf("the context is used to %.0f %%", *p.Context.Usage)})
	}
	if awaits(p.Status) {
		list = append(list, BuildAlert{Kind: "run", Level: contextWarning, Text: "the build is " + p.Status})
	}
	for _, c := range p.Chunks {
		if awaits(c.Status) {
			list = append(list, BuildAlert{Kind: "chunk", Level: contextWarning, Text: "the chunk is " + c.Status, Chunk: c.Name})
		}
	}
	list = list[:min(len(list), l.items)]
	return append(list, open(workflow.Events(state.BuildEvents), l)...)
}

// awaits knows the words of other programs for what waits for a person.
func awaits(status string) bool {
	return status == "awaiting-user" || status == "blocked" || status == "paused"
}

// open are the events that are alerts and that nothing has answered since.
func open(events []workflow.Event, l limits) []BuildAlert {
	var list []BuildAlert
	answered := map[string]bool{}
	for i := len(events) - 1; i >= 0 && len(list) < l.items; i-- {
		e := events[i]
		switch level := severity(e); {
		case level == "":
		case !answered[e.Chunk]:
			answered[e.Chunk] = answered[e.Chunk] || e.Chunk != "" // one for each chunk
			list = append(list, BuildAlert{l.cut(e.Kind), level, l.cut(textOf(e)), l.cut(e.Chunk), moment(e.Timestamp)})
		}
		if answers(e.Kind) {
			answered[e.Chunk] = true
		}
	}
	return list
}

// severity says whether an event is an alert.
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

// answers says whether what came before of a chunk is history.
func answers(kind string) bool {
	switch kind {
	case workflow.ChunkStarted, workflow.ChunkRetrying, workflow.ChunkCompleted, workflow.ChunkVerified:
		return true
	}
	return false
}
