package workflow

import (
	"fmt"
	"slices"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// CheckState lists the violations of the workflow protocol in the content v of a state.json.
func CheckState(path string, v jsontree.Value) []statefile.Finding {
	in := &inspection{path: path}
	if !in.kind("not-an-object", v, jsontree.Object) {
		return in.found
	}
	state, mismatches := Read(v)
	in.mismatches(mismatches, "")
	if v.Get("lastUpdated").Absent() {
		in.irregular("missing-last-updated", "lastUpdated", "is missing; every write sets it")
	}
	in.time("lastUpdated", state.LastUpdated)
	if c := state.CurrentCommand; c != "" && !slices.Contains(Commands(), c) {
		in.irregular("unknown-command", "currentCommand", "%q; the protocol has %s", shorten(string(c)), joinWords(Commands(), "and"))
	}
	in.steps(state)
	in.readiness(v)
	for i, c := range state.UntrackedChanges {
		in.time(fmt.Sprintf("untrackedChanges[%d].timestamp", i), c.Timestamp)
	}
	in.run(v.Get("buildRun"), state.BuildRun)
	in.feed(v.Get("buildEvents"))
	return in.found
}

func (in *inspection) steps(state State) {
	unknown := func(at string, s Step) {
		if s != "" && checkStep(s) != nil {
			in.irregular("unknown-step", at, "%q; the protocol has %s", shorten(string(s)), joinWords(Steps(), "and"))
		}
	}
	unknown("workflowStep", state.WorkflowStep)
	for i, s := range state.CompletedSteps {
		unknown(fmt.Sprintf("completedSteps[%d]", i), s)
	}
}

func (in *inspection) readiness(v jsontree.Value) {
	for name, count := range v.Get("readinessSummary").Members() {
		if _, ok := count.Int(); !ok {
			in.irregular("readiness-value-form", "readinessSummary."+name, "is %s where a count should be", describe(count))
		}
	}
	if !v.Get("sectionReadiness").Absent() {
		in.irregular("section-readiness-in-state", "sectionReadiness", "is not in the protocol")
	}
	for name, section := range v.Get("sectionReadiness").Members() {
		if section.Kind() == jsontree.Object || section.Kind() == jsontree.Null {
			in.irregular("section-readiness-form", "sectionReadiness."+name, "is %s where a word such as aligned should be", describe(section))
		}
	}
}

func (in *inspection) run(v jsontree.Value, run *BuildRun) {
	if v.Kind() != jsontree.Object {
		return
	}
	if !v.Get("id").Absent() {
		in.irregular("run-id-as-id", "buildRun.id", "should be called runId")
	}
	if !v.Get("chunkProgress").Absent() {
		in.irregular("chunk-progress-in-build-run", "buildRun.chunkProgress", "belongs to the state, beside buildRun")
	}
	if s := run.Status; s != "" && !s.Known() {
		in.irregular("unknown-run-status", "buildRun.status", "%q; the protocol has running, completed and partial", shorten(string(s)))
	}
	in.time("buildRun.startedAt", run.StartedAt)
	in.time("buildRun.lastCheckpoint", run.LastCheckpoint)
	at, chunks := "buildRun.chunks", v.Get("chunks")
	if nested := v.Get("plan").Get("chunks"); !nested.Absent() {
		in.irregular("chunks-under-plan", "buildRun.plan.chunks", "should stand in buildRun.chunks")
		if chunks.Len() == 0 {
			at, chunks = "buildRun.plan.chunks", nested
		}
	}
	in.chunks(at, chunks, run.Chunks)
}

func (in *inspection) chunks(at string, v jsontree.Value, chunks []Chunk) {
	ids := map[ID]bool{}
	for _, c := range chunks {
		ids[c.ID] = true
	}
	seen := map[ID]bool{}
	for i, item := range v.Items() {
		if item.Kind() != jsontree.Object {
			continue // already reported as a value of the wrong type
		}
		c, at := chunks[i], fmt.Sprintf("%s[%d]", at, i)
		in.chunkForm(at, item)
		if seen[c.ID] && c.ID != "" {
			in.invalid("duplicate-chunk-id", at+".id", "%q is another chunk's id", c.ID)
		}
		seen[c.ID] = true
		if s := c.Status; s != "" && !s.Known() {
			in.irregular("unknown-chunk-status", at+".status", "%q; the protocol has planned, active, retrying, completed and failed", shorten(string(s)))
		}
		for _, id := range c.DependsOn {
			if !ids[id] {
				in.irregular("dangling-dependency", at, "depends on %q, which is not the id of a chunk", shorten(string(id)))
			}
		}
		in.time(at+".startedAt", c.StartedAt)
		in.time(at+".completedAt", c.CompletedAt)
		in.time(at+".failedAt", c.FailedAt)
	}
}

// chunkForm adds a finding for each of these deviations of a chunk from the workflow protocol: a
// missing id, an id that is a string, and the field names deps and blockedBy.
func (in *inspection) chunkForm(at string, v jsontree.Value) {
	switch id := v.Get("id"); {
	case id.Absent():
		in.irregular("chunk-id-missing", at, "has no id; its position in the list is used as the id")
	case id.Kind() == jsontree.String:
		in.irregular("chunk-id-string", at+".id", "is %s where a number should be", describe(id))
	}
	if !v.Get("deps").Absent() {
		in.irregular("deps-for-depends-on", at+".deps", "should be called dependsOn")
	}
	if !v.Get("blockedBy").Absent() {
		in.irregular("blocked-by-for-depends-on", at+".blockedBy", "should be called dependsOn")
	}
}

// feed adds findings for the events in the state. The protocol does not define where events are
// stored; gaffer and other programs store them in the state.
func (in *inspection) feed(v jsontree.Value) {
	if v.Absent() {
		return
	}
	if v.Kind() != jsontree.Array {
		in.invalid("wrong-type", "buildEvents", "%s where a list should be", describe(v))
	}
	for i, event := range v.Items() {
		at := fmt.Sprintf("buildEvents[%d]", i)
		if event.Kind() != jsontree.Object {
			in.invalid("wrong-type", at, "%s where an object should be", describe(event))
			continue
		}
		in.event(at, event)
	}
}

func (in *inspection) event(at string, v jsontree.Value) {
	kind := v.Get("kind").Text()
	if _, known := kinds[kind]; kind == "" {
		in.irregular("event-kind-missing", at, "has no kind")
	} else if !known {
		in.irregular("unknown-event-kind", at+".kind", "%q is another program's; 'gaffer emit --help' lists those that are known", shorten(kind))
	}
	for name, field := range v.Members() {
		if form, ok := formOf(kind, name); ok && !form.ok(field) {
			in.irregular("event-field-form", at+"."+name, "is %s where %s should be", describe(field), form.want)
		}
	}
}
