package session_test

import (
	"os"
	"path/filepath"
	"testing"

	"gaffer/session"
	"gaffer/statefile/jsontree"
)

// FuzzStatus passes arbitrary bytes to all code that reads or edits a document. None of
// it may panic, and every edit must result in valid JSON.
func FuzzStatus(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.json")
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	now := start().now
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := jsontree.Parse(data)
		if err != nil {
			return
		}
		status, _ := session.Decode(doc.Value())
		for _, a := range status.Agents {
			_, _ = a.Elapsed(now)
		}
		session.Check("status.json", doc.Value())
		session.SetDerived(doc, now)
		if doc.Err() == nil && !jsontree.Valid(doc.Bytes()) {
			t.Errorf("%q became %q", data, doc.Bytes())
		}
	})
}

// FuzzDraft uses arbitrary bytes as the agents and waves of a new session. If the draft
// is accepted, the document must be valid.
func FuzzDraft(f *testing.F) {
	f.Add([]byte(threeAgents), []byte(`[{"wave":1,"agents":["001"]}]`))
	f.Add([]byte(`{"agents":[{"id":"a","status":null,"x":1e999}]}`), []byte(`[]`))
	now := start().now
	f.Fuzz(func(t *testing.T, agents, waves []byte) {
		d := session.Draft{Source: "run-prompt"}
		var err error
		if d.Agents, err = session.ParseAgents("agents", agents); err != nil {
			return
		}
		if v, err := session.ParseWaves("waves", waves); err == nil {
			d.Waves = v
		}
		data, err := session.Build(d, seedID, now)
		if err != nil {
			return
		}
		doc, err := jsontree.Parse(data)
		if err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if _, mismatches := session.Decode(doc.Value()); len(mismatches) > 0 {
			t.Errorf("%v: %s", mismatches, data)
		}
	})
}
