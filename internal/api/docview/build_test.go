package docview_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gaffer/internal/api/docview"
	"gaffer/internal/flow/spec"
)

func picture(b *docview.Build) docview.BuildPicture {
	return b.Picture(spec.Spec{}, time.Date(2026, 2, 17, 16, 0, 0, 0, time.UTC))
}

func buildOf(t *testing.T, state string) docview.BuildPicture {
	t.Helper()
	var b docview.Build
	b.SetState([]byte(state), nil)
	p := picture(&b)
	shown(t, "build", p)
	return p
}

// graph returns a short text that describes a build's chunks, for comparison.
func graph(p docview.BuildPicture) string {
	var list []string
	for _, c := range p.Chunks {
		list = append(list, fmt.Sprintf("%d:%s %s %v", c.Layer, c.ID, c.Status, c.DependsOn))
	}
	return strings.Join(list, ", ")
}

func TestEveryWildStateIsShown(t *testing.T) {
	want := map[string]string{
		"chunk-id-string":    "0:11a completed [], 1:MANUAL planned [11a]",
		"chunk-id-missing":   "0:1 completed [], 1:2 planned [1]",
		"chunks-under-plan":  "0:1 completed [], 1:2 planned [1]",
		"deps":               "0:1 completed [], 1:2 planned [1]",
		"blocked-by":         "0:1 completed [], 1:2 planned [1]",
		"run-id-as-id":       "0:1 completed [], 0:2 planned []",
		"run-status-paused":  "0:1 completed [], 0:2 planned []",
		"chunk-statuses":     "0:1 completed [], 0:2 running [], 0:3 completed-partial [], 0:4 awaiting-user [], 0:5 blocked []",
		"half-written":       "",
		"array-with-content": "",
		"null":               "",
	}
	for name, text := range wild(t, "workflow") {
		if strings.HasPrefix(name, "inbox") {
			var b docview.Build
			b.SetInbox([]byte(text), nil)
			if p := picture(&b); len(p.Inbox) == 0 {
				t.Errorf("%s: no items", name)
			}
			continue
		}
		p := buildOf(t, text)
		if chunks, ok := want[name]; ok && graph(p) != chunks {
			t.Errorf("%s: %s, want %s", name, graph(p), chunks)
		}
		if p.Found && len(p.Chunks) > 0 && p.Progress.Total == 0 {
			t.Errorf("%s: no progress", name)
		}
	}
	if p := buildOf(t, wild(t, "workflow")["chunk-statuses"]); len(p.Alerts) != 2 || p.Alerts[0].Text != "the chunk is awaiting-user" {
		t.Errorf("alerts %+v", p.Alerts)
	}
	for _, form := range []string{"string", "object"} {
		if p := buildOf(t, wild(t, "workflow")["chunk-progress-"+form]); p.Progress.Total == 0 {
			t.Errorf("%s: progress %+v", form, p.Progress)
		}
	}
}

const building = `{"activeSection": "#core-flow", "activeSectionNumber": "2.2", "scenarioScore": {"satisfied": 5, "total": 8}, "nextStep": "go on",
	"contextState": {"usage": 91}, "currentCommand": "execute",
	"buildRun": {"runId": "run-1", "status": "running", "startedAt": "2026-02-17T14:00:00Z", "convergencePhase": "core", "plan": {"totalChunks": 4, "specVersion": "1.0"}, "chunks": [
		{"id": 1, "name": "Base", "status": "completed", "sections": ["#a"], "scenarios": ["S1"], "dependsOn": [], "attempt": 2, "startedAt": "2026-02-17T14:00:00Z", "completedAt": "2026-02-17T14:10:00Z"},
		{"id": 2, "name": "Core", "status": "retrying", "sections": ["#core-flow"], "dependsOn": [1], "attempt": 3},
		{"id": 3, "name": "Top", "status": "planned", "dependsOn": [2, 1]},
		{"id": 4, "name": "Side", "status": "failed", "dependsOn": [], "failedAt": "2026-02-17T14:20:00Z"}]},
	"buildEvents": [
		{"kind": "chunk-failed", "chunk": "Core", "reason": "red", "timestamp": "2026-02-17T14:12:00Z"},
		{"kind": "chunk-retrying", "chunk": "Core", "attempt": 3, "reason": "again", "timestamp": "2026-02-17T14:13:00Z"},
		{"kind": "scenario-evaluated", "scenario": "S1", "result": "satisfied", "timestamp": "2026-02-17T14:14:00Z"},
		{"kind": "tool-call", "tool": "Edit"},
		{"kind": "context-checkpointed", "chunk": "Core", "timestamp": "2026-02-17T14:15:00Z"},
		{"kind": "context-boundary", "chunk": "Core", "isolationMode": "full"},
		{"kind": "verification-failed", "chunk": "Core", "summary": "1/2 checks passed", "checks": [{"name": "build", "result": "fail"}], "timestamp": "2026-02-17T14:18:00Z"},
		{"kind": "chunk-failed", "chunk": "Side", "reason": "no way", "timestamp": "2026-02-17T14:20:00Z"},
		{"kind": "escalation-emitted", "reason": "which one?", "timestamp": "2026-02-17T14:21:00Z"},
		{"kind": "something-new"}]}`

func TestABuildIsShownWithEverythingThatMissionControlNeeds(t *testing.T) {
	p := buildOf(t, building)
	if got := graph(p); got != "0:1 completed [], 1:2 retrying [1], 2:3 planned [2 1], 0:4 failed []" {
		t.Errorf("graph %s", got)
	}
	if c := p.Chunks[0]; c.Attempt != 2 || fmt.Sprint(c.Sections, c.Scenarios) != "[#a] [S1]" || c.Ended.Sub(c.Started) != 10*time.Minute {
		t.Errorf("chunk %+v", c)
	}
	if p.Progress != (docview.BuildProgress{Current: 2, Total: 4, Completed: 1, Active: 1, Failed: 1}) || *p.Score != (docview.BuildScore{Satisfied: 5, Total: 8}) {
		t.Errorf("%+v %+v", p.Progress, p.Score)
	}
	if *p.Section != (docview.BuildSection{Alias: "#core-flow", Number: "2.2"}) || p.Next != "go on" || p.Command != "execute" || p.Phase != "core" {
		t.Errorf("%+v", p)
	}
	if c := p.Context; *c.Usage != 91 || c.Level != "critical" || c.Isolation != "full" || c.LastCheckpoint.IsZero() {
		t.Errorf("context %+v", c)
	}
	var feed, pinned []string
	for _, f := range p.Feed {
		feed = append(feed, f.Filter+": "+f.Text)
	}
	if got := strings.Join(feed, "; "); got != "chunks: red; chunks: again; scenarios: S1: satisfied; tools: Edit; context: ; context: full; verification: 1/2 checks passed; chunks: no way; other: which one?; other: " {
		t.Errorf("feed %s", got)
	}
	for _, a := range p.Alerts {
		pinned = append(pinned, a.Level+" "+a.Kind+" "+a.Chunk)
	}
	if got := strings.Join(pinned, "; "); got != "critical context ; critical escalation-emitted ; critical chunk-failed Side; warning verification-failed Core" {
		t.Errorf("alerts %s", got)
	}
}

func TestAnAlertIsTakenDownWhenItWasAnswered(t *testing.T) {
	for _, later := range []string{"chunk-started", "chunk-retrying", "chunk-completed", "chunk-verified"} {
		p := buildOf(t, `{"buildEvents": [{"kind": "chunk-failed", "chunk": "A"}, {"kind": "verification-failed", "chunk": "A"}, {"kind": "`+later+`", "chunk": "A"}]}`)
		if len(p.Alerts) != 0 {
			t.Errorf("%s: %+v", later, p.Alerts)
		}
	}
}

func TestTheContextWarnsFrom70AndIsCriticalFrom90(t *testing.T) {
	for usage, want := range map[string]string{
		"69.9": "ok", "70": "warning", "89.9": "warning", "90": "critical", `"92%"`: "critical", `{"percentage": 70}`: "warning", "null": "unknown", `"much"`: "unknown", "-1": "unknown",
	} {
		if p := buildOf(t, `{"contextState": `+usage+`}`); p.Context.Level != want {
			t.Errorf("%s: %+v", usage, p.Context)
		}
	}
}

func TestAnIncompleteBuildAsksHowToGoOn(t *testing.T) {
	r := buildOf(t, building).Resume
	want := "Found incomplete build (1/4 chunks done, started 2 hours ago).\n\nCompleted:\n  Chunk 1: Base\n\nRemaining:\n  Chunk 2: Core (retrying)\n" +
		"  Chunk 3: Top (depends on Chunk 2)\n  Chunk 4: Side (failed)\n\n(1) Resume from Chunk 2 (recommended)\n(2) Start fresh with a new plan\n(3) Cancel\n"
	if r == nil || r.Text != want || r.Next != "2" {
		t.Fatalf("%+v", r)
	}
	var commands []string
	for _, c := range r.Choices {
		commands = append(commands, fmt.Sprint(c.Number, " ", c.Command))
	}
	if got := strings.Join(commands, "; "); got != "1 gaffer build resume --yes; 2 gaffer build resume --fresh; 3 gaffer build resume --cancel" {
		t.Errorf("commands %s", got)
	}
	for _, state := range []string{`{}`, strings.Replace(building, `"runId": "run-1", "status": "running"`, `"runId": "run-1", "status": "completed"`, 1)} {
		if p := buildOf(t, state); p.Resume != nil {
			t.Errorf("%.40s: %+v", state, p.Resume)
		}
	}
}

func TestAChunkWhoseSpecHasChangedOffersChoices(t *testing.T) {
	var b docview.Build
	b.SetState([]byte(strings.Replace(building, `"id": 1,`, `"id": 1, "specVersionAtBuild": "1.0",`, 1)), nil)
	r := b.Picture(spec.Parse([]byte("---\nversion: 2.0\n---\n# Demo\n")), time.Now()).Resume
	if r == nil || len(r.Stale) != 1 || r.Stale[0].Choices[0].Command != "gaffer build resume --rebuild 1" || r.Stale[0].Choices[1].Command != "gaffer build resume --keep 1" ||
		r.Stale[0].Built != "1.0" || !strings.Contains(r.Stale[0].Text, "(2) Keep old result") {
		t.Errorf("%+v", r)
	}
	b.SetState([]byte(strings.NewReplacer(`"id": 1,`, `"id": "1; rm -rf /", "specVersionAtBuild": "1.0",`, `[1]`, `[]`, `[2, 1]`, `[2]`).Replace(building)), nil)
	r = b.Picture(spec.Parse([]byte("---\nversion: 2.0\n---\n# Demo\n")), time.Now()).Resume
	if r == nil || len(r.Stale) != 1 || r.Stale[0].Choices[0].Command != "" {
		t.Errorf("an id that is no word is in a command: %+v", r)
	}
}

func TestTheInboxIsShownWithWhatWasFoundOut(t *testing.T) {
	var b docview.Build
	b.SetInbox([]byte(`[{"id": "i1", "type": "evolve", "content": "faster", "status": "processed", "timestamp": "2026-02-17T14:00:00Z", "analysis": {"affectedSections": ["#a"], "summary": "names it"}, "consumedBy": {"run": 7}},
		{"id": "i2", "type": "idea", "content": "x", "status": "incorporated", "analysis": "a mere text"}, "odd", {"id": 7, "status": "approved"}]`), nil)
	p := picture(&b)
	if len(p.Inbox) != 3 || p.Inbox[0].Analysis.Summary != "names it" || fmt.Sprint(p.Inbox[0].Analysis.AffectedSections) != "[#a]" || p.Inbox[0].ConsumedBy != `{"run": 7}` ||
		p.Inbox[1].Analysis.Summary != "a mere text" || p.Inbox[1].Status != "incorporated" || p.Inbox[2].ID != "7" {
		t.Errorf("%+v", p.Inbox)
	}
}

func TestChunksThatWaitForEachOtherAreShownBelowTheOthers(t *testing.T) {
	p := buildOf(t, `{"buildRun": {"chunks": [{"id": 1}, {"id": 2, "dependsOn": [3, 1]}, {"id": 3, "dependsOn": [2]}, {"id": 4, "dependsOn": [4, 99]}]}}`)
	if got := graph(p); got != "0:1 planned [], 1:2 planned [3 1], 1:3 planned [2], 0:4 planned [4 99]" {
		t.Errorf("%s", got)
	}
}
