package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/session"
	"gaffer/statefile/jsontree"
)

const seedID = "20260201-143022-abc12345"

func TestAnUpdateThatChangesNothingKeepsEveryByteOfTheSeedsExamples(t *testing.T) {
	for _, name := range []string{"running", "completed", "failed", "cancelled"} {
		t.Run(name, func(t *testing.T) {
			s, before := newStore(t, start()), golden(t, "seed/"+name+".json")
			plant(t, s, seedID, before)
			must(t, s.Update(t.Context(), seedID, func(*jsontree.Node) error { return nil }))
			if diff := cmp.Diff(string(before), string(document(t, s, seedID))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheSeedsExamplesAreValid(t *testing.T) {
	for _, name := range []string{"running", "completed", "failed", "cancelled"} {
		s := newStore(t, start())
		plant(t, s, seedID, golden(t, "seed/"+name+".json"))
		for f := range s.Validate() {
			t.Errorf("%s: %s", name, f)
		}
	}
}

func TestTheTypesHaveEveryFieldOfTheSeedInItsOrder(t *testing.T) {
	examples := map[any][]byte{
		&session.Status{}:  outline(t),
		&session.Agent{}:   golden(t, "seed/agent.json"),
		&session.Summary{}: golden(t, "seed/summary.json"),
		&session.Wave{}:    golden(t, "seed/wave.json"),
	}
	for into, want := range examples {
		t.Run(fmt.Sprintf("%T", into), func(t *testing.T) {
			doc, err := jsontree.Parse(want)
			must(t, err)
			if found := jsontree.Decode(doc.Value(), into); len(found) > 0 {
				t.Fatal(found)
			}
			text, err := json.Marshal(into)
			must(t, err)
			if diff := cmp.Diff(compact(t, want), compact(t, text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// outline returns the first example document of the protocol's specification, the seed. That
// example omits its lists, so outline adds the agent, summary and wave that the seed shows
// elsewhere.
func outline(t *testing.T) []byte {
	t.Helper()
	example := func(name string) string { return strings.TrimSpace(string(golden(t, "seed/"+name+".json"))) }
	filled := strings.NewReplacer(
		`"agents": [...]`, `"agents": [`+example("agent")+`]`,
		`"summary": {...}`, `"summary": `+example("summary"),
		`"waves": [...]`, `"waves": [`+example("wave")+`]`,
	).Replace(string(golden(t, "seed/outline.txt")))
	return []byte(filled)
}

func TestEndingAnAgentChangesOnlyRelatedMembers(t *testing.T) {
	c := start()
	s, before := newStore(t, c), outline(t)
	plant(t, s, seedID, before)
	c.now = time.Date(2026, 2, 1, 14, 45, 18, 0, time.UTC)
	must(t, s.CompleteAgent(t.Context(), seedID, "001", 0))
	want := []string{
		`"completed_at": "2026-02-01T14:45:18Z",`, // the session's end
		`"status": "complete",`,
		`"status": "complete",`, // the agent's status
		`"completed_at": "2026-02-01T14:45:18Z",`,
		`"duration_seconds": 893,`,
		`"exit_code": 0,`,
		`"pid": null,`,
		`"total": 1,`, // this document has one agent; the seed's has five
		`"queued": 0,`,
		`"running": 0,`,
		`"status": "complete",`, // the wave's status
	}
	if diff := cmp.Diff(want, changed(t, before, document(t, s, seedID))); diff != "" {
		t.Error(diff)
	}
}

func compact(t *testing.T, data []byte) string {
	t.Helper()
	var b bytes.Buffer
	must(t, json.Compact(&b, data))
	return b.String()
}

func TestCompletingAnAgentChangesOnlyThatAgentTheSummaryAndItsWave(t *testing.T) {
	c := start()
	s, before := newStore(t, c), golden(t, "seed/running.json")
	plant(t, s, seedID, before)
	c.now = time.Date(2026, 2, 1, 14, 35, 34, 0, time.UTC)
	must(t, s.CompleteAgent(t.Context(), seedID, "002", 0))
	want := []string{
		`{"id": "002", "name": "status-writer", "status": "complete", "started_at": "2026-02-01T14:33:00Z", ` +
			`"completed_at": "2026-02-01T14:35:34Z", "duration_seconds": 154, "exit_code": 0},`,
		`"summary": {"total": 5, "queued": 1, "running": 1, "complete": 3, "failed": 0, "cancelled": 0},`,
	}
	if diff := cmp.Diff(want, changed(t, before, document(t, s, seedID))); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastAgentEndsItsWaveAndTheSession(t *testing.T) {
	c := start()
	s, before := newStore(t, c), golden(t, "seed/running.json")
	plant(t, s, seedID, before)
	c.now = time.Date(2026, 2, 1, 14, 45, 18, 0, time.UTC)
	must(t, s.CompleteAgent(t.Context(), seedID, "002", 0))
	must(t, s.FailAgent(t.Context(), seedID, "004", "Exit code 1: Missing required input", 1))
	must(t, s.StartAgent(t.Context(), seedID, "005", 4711))
	c.forward(2500 * time.Millisecond)
	must(t, s.CompleteAgent(t.Context(), seedID, "005", 0))
	want := []string{
		`"completed_at": "2026-02-01T14:45:20Z",`,
		`"status": "failed",`,
		`{"id": "002", "name": "status-writer", "status": "complete", "started_at": "2026-02-01T14:33:00Z", ` +
			`"completed_at": "2026-02-01T14:45:18Z", "duration_seconds": 738, "exit_code": 0},`,
		`{"id": "004", "name": "executor-integration", "status": "failed", "started_at": "2026-02-01T14:33:05Z", ` +
			`"completed_at": "2026-02-01T14:45:18Z", "duration_seconds": 733, "exit_code": 1, "error": "Exit code 1: Missing required input"},`,
		`{"id": "005", "name": "log-utilities", "status": "complete", "started_at": "2026-02-01T14:45:18Z", "pid": null, ` +
			`"completed_at": "2026-02-01T14:45:20Z", "duration_seconds": 2, "exit_code": 0}`,
		`"summary": {"total": 5, "queued": 0, "running": 0, "complete": 4, "failed": 1, "cancelled": 0},`,
		`{"wave": 2, "status": "complete", "agents": ["002", "004", "005"]}`,
	}
	if diff := cmp.Diff(want, changed(t, before, document(t, s, seedID))); diff != "" {
		t.Error(diff)
	}
	for f := range s.Validate() {
		t.Errorf("what gaffer wrote is not valid: %s", f)
	}
}
