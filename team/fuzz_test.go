package team

import (
	"path/filepath"
	"slices"
	"testing"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

func addDocuments(f *testing.F, docs ...Document) {
	for _, d := range docs {
		f.Add(seed(f, d))
		names, err := filepath.Glob(filepath.Join("testdata", "wild", string(d)+".*"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			f.Add(readFile(f, name))
		}
	}
}

// read passes the data of one document to all code that reads it.
func read(t *testing.T, d Document, data []byte, into any) {
	found := ValidateDocument(d, "x", data)
	doc, err := jsontree.Parse(data)
	if err != nil {
		if len(found) != 1 || found[0].Name != "corrupt" || found[0].Severity != statefile.Invalid {
			t.Errorf("not JSON, and found %v", found)
		}
		return
	}
	jsontree.Decode(doc.Value(), into)
	if out, err := newDocument(into); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func FuzzPMState(f *testing.F) {
	addDocuments(f, PMStateDoc)
	f.Fuzz(func(t *testing.T, data []byte) {
		var pm PMState
		read(t, PMStateDoc, data, &pm)
		Measure(pm, nil)
		CurrentPhase(pm, nil, "")
		if doc, err := jsontree.Parse(data); err == nil {
			editPM(doc.Root(), Groups{{ID: "A", Status: Complete}})
			if doc.Err() == nil && !jsontree.Valid(doc.Bytes()) {
				t.Errorf("an edit broke %q", data)
			}
		}
	})
}

func FuzzGroupStatus(f *testing.F) {
	addDocuments(f, GroupStatusDoc)
	f.Fuzz(func(t *testing.T, data []byte) {
		var groups Groups
		read(t, GroupStatusDoc, data, &groups)
		for _, g := range groups {
			Stuck(g)
			for _, by := range []Role{Developer, QAExpert, TechLead} {
				moved, err := Advance(g, by, Answer{Status: WordStarted}, noon)
				if doc, _ := jsontree.Parse(data); err == nil {
					editGroups(doc.Root(), groups, groups.with(moved))
				}
			}
		}
	})
}

func FuzzOrchestratorState(f *testing.F) {
	addDocuments(f, OrchestratorDoc)
	f.Fuzz(func(t *testing.T, data []byte) {
		var o OrchestratorState
		read(t, OrchestratorDoc, data, &o)
		FreeDevelopers(o.ActiveAgents)
		if doc, err := jsontree.Parse(data); err == nil {
			addActiveAgent(doc.Root(), ActiveAgent{AgentType: PM}, "fuzz")
			removeActiveAgent(doc.Root(), PM, "")
		}
	})
}

func FuzzMessages(f *testing.F) {
	addDocuments(f, DevToQADoc, QAToTechLeadDoc, TechLeadToDevDoc)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range channels {
			ValidateDocument(c.doc, "x", data)
			doc, err := jsontree.Parse(data)
			if err != nil {
				return
			}
			for _, item := range doc.Value().Get("messages").Items() {
				if _, err := marshal(c.message(item)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func FuzzParseAnswer(f *testing.F) {
	f.Add("**Status:** FAIL, 23 passed")
	f.Add("```json\n{\"status\":\"PASS\",\"summary\":[\"x\"]}\n```")
	f.Add("## Review: CHANGES_REQUESTED")
	f.Add("✅ PASS\n\n> Status: FAIL\n{\"Status\":\"Approved\",}")
	f.Add("{\"status\":\"PLANNED\",\"groups\":[{\"id\":\"A\"}]}\n**Status:** PASS")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAnswer(text)
		if (err == nil) != wordForm().MatchString(string(a.Status)) {
			t.Errorf("%q is %q (%v)", text, a.Status, err)
		}
		if a.Body.Kind() == jsontree.Missing {
			return
		}
		if again, err := ParseAnswer(string(a.Body.Raw())); err != nil || again.Status != a.Status || !slices.Equal(again.Summary, a.Summary) {
			t.Errorf("%q alone is %v (%v), not %v", a.Body.Raw(), again, err, a)
		}
	})
}

// FuzzSettle updates an arbitrary document to the given contents. Afterwards the document must
// match the contents, and a second update must change nothing.
func FuzzSettle(f *testing.F) {
	addDocuments(f, Documents()...)
	f.Add([]byte(`{"mode": 1, "mode": {}, "task_groups": {"A": {"x": 1}}, "all_tasks": ["T1"], "A": {"status": []}, "messages": [{"id": "msg_20250106_100800"}]}`))
	wanted, err := next(f).documents()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for d, want := range wanted {
			doc, err := jsontree.Parse(data)
			if err != nil || whyUneditable(d, doc.Value()) != "" {
				continue
			}
			updateTo(doc.Root(), want, rules(d))
			if doc.Err() != nil { // the document is nested too deeply, so nothing is written
				continue
			}
			again, err := jsontree.Parse(doc.Bytes())
			if err != nil {
				t.Fatalf("%s: %v in %q", d, err, doc.Bytes())
			}
			updateTo(again.Root(), want, rules(d))
			if string(again.Bytes()) != string(doc.Bytes()) {
				t.Errorf("%s: settled again, %q is %q", d, doc.Bytes(), again.Bytes())
			}
			if at := differs(doc.Value(), want, rules(d)); at != "" {
				t.Errorf("%s: %s is not settled in %q", d, at, doc.Bytes())
			}
		}
	})
}

func FuzzPlanFile(f *testing.F) {
	f.Add([]byte(`{"archive": "v4_x", "move": ["pm_state"], "new": {"session_id": "v4_y", "requirements": "r", "time": "2025-01-06T10:00:00Z"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseChange(data)
		if err == nil && len(c.Move) > 0 && filepath.Base(c.Archive) != c.Archive {
			t.Errorf("leads out of the archive: %q", c.Archive)
		}
	})
}
