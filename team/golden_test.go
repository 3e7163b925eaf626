package team

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

func TestAnUpdateThatChangesNothingLeavesEveryByteOfTheSeedsExamples(t *testing.T) {
	root := seedFolder(t)
	s := openAt(t, root, noon)
	for _, d := range Documents() {
		err := s.update(context.Background(), d, noon, func(*jsontree.Node) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(seed(t, d)), string(readFile(t, filepath.Join(root, d.Path())))); diff != "" {
			t.Errorf("%s changed:\n%s", d, diff)
		}
	}
}

func TestTheSeedsExamplesHaveNoFindings(t *testing.T) {
	found, err := Validate(host.OS(), seedFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Error(f)
	}
}

func TestTypedDocumentsHoldEveryFieldOfTheSeedsExamples(t *testing.T) {
	for d, into := range map[Document]any{
		PMStateDoc: &PMState{}, GroupStatusDoc: &Groups{}, OrchestratorDoc: &OrchestratorState{},
	} {
		doc, err := jsontree.Parse(seed(t, d))
		if err != nil {
			t.Fatal(err)
		}
		if wrong := jsontree.Decode(doc.Value(), into); len(wrong) > 0 {
			t.Fatal(d, wrong)
		}
		written, err := newDocument(into)
		if err != nil {
			t.Fatal(err)
		}
		compareJSON(t, d, seed(t, d), written)
	}
	for _, c := range channels {
		doc, err := jsontree.Parse(seed(t, c.doc))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range doc.Value().Get("messages").Items() {
			written, err := marshal(c.message(item))
			if err != nil {
				t.Fatal(err)
			}
			compareJSON(t, c.doc, item.Raw(), written)
		}
	}
}

// compareJSON compares two documents. The order of fields must be the same; white space and the
// formatting of numbers may differ.
func compareJSON(t *testing.T, d Document, want, got []byte) {
	t.Helper()
	norm := func(b []byte) string {
		f, err := jsontree.Format(b)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(f), "9.0", "9")
	}
	if diff := cmp.Diff(norm(want), norm(got)); diff != "" {
		t.Errorf("%s:\n%s", d, diff)
	}
}

func TestAStartChangesOnlyTheFieldsItIsAbout(t *testing.T) {
	root := seedFolder(t)
	before := freeC(t)
	put(t, root, OrchestratorDoc, []byte(before))
	s := openAt(t, root, noon)
	if err := s.Start(context.Background(), Developer, "C", "A is complete"); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		`"current_phase": "tech_review"`, `"current_phase": "developer_working"`,
		"28:00Z\"\n    }\n  ],", "28:00Z\"\n    },\n    {\n      \"agent_type\": \"developer\",\n      \"group_id\": \"C\",\n      \"spawned_at\": \"2025-01-06T12:00:00Z\"\n    }\n  ],",
		`"iteration": 15`, `"iteration": 16`, `"total_spawns": 15`, `"total_spawns": 16`,
		"08:00Z\"\n    }\n  ],", "08:00Z\"\n    },\n    {\n      \"iteration\": 16,\n      \"decision\": \"spawn_developer_group_C\",\n      \"reasoning\": \"A is complete\",\n      \"timestamp\": \"2025-01-06T12:00:00Z\"\n    }\n  ],",
		`"last_update": "2025-01-06T10:28:00Z"`, `"last_update": "2025-01-06T12:00:00Z"`,
	).Replace(before)
	got := string(readFile(t, filepath.Join(root, OrchestratorDoc.Path())))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	groups := string(readFile(t, filepath.Join(root, GroupStatusDoc.Path())))
	if before := strings.TrimSuffix(string(seed(t, GroupStatusDoc)), "\n}\n"); !strings.HasPrefix(groups, before) {
		t.Error("the groups that did not move changed")
	}
	if diff := cmp.Diff(string(seed(t, PMStateDoc)), string(readFile(t, filepath.Join(root, PMStateDoc.Path())))); diff != "" {
		t.Errorf("the project manager's lists were right already:\n%s", diff)
	}
}

func TestAnAcknowledgementChangesOneField(t *testing.T) {
	root := seedFolder(t)
	for id, d := range map[string]Document{
		"msg_20250106_100800": DevToQADoc, "msg_20250106_101200": QAToTechLeadDoc, "msg_20250106_101000": TechLeadToDevDoc,
	} {
		if err := openAt(t, root, noon).Acknowledge(context.Background(), id, ""); err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(string(seed(t, d)), `"read": false`, `"read": true`, 1)
		if diff := cmp.Diff(want, string(readFile(t, filepath.Join(root, d.Path())))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAnApprovalChangesOnlyWhatFollowsFromItInThePlan(t *testing.T) {
	root := seedFolder(t)
	groups := strings.TrimSuffix(string(seed(t, GroupStatusDoc)), "\n}\n") + `,
  "C": {
    "status": "tech_review"
  }
}
`
	put(t, root, GroupStatusDoc, []byte(groups))
	if _, err := openAt(t, root, noon).Answer(context.Background(), TechLead, "C", Answer{Status: WordApproved}); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		`"status": "in_progress"`, `"status": "complete"`, // the statuses of the task, its group and its phase
		`"completed_groups": ["A", "B"]`, `"completed_groups": ["A", "B", "C"]`,
		`"in_progress_groups": ["C"]`, `"in_progress_groups": []`,
		`"iteration": 12`, `"iteration": 13`,
		`"last_update": "2025-01-06T10:30:00Z"`, `"last_update": "2025-01-06T12:00:00Z"`,
		`"completion_percentage": 66.7`, `"completion_percentage": 100`,
	).Replace(string(seed(t, PMStateDoc)))
	if diff := cmp.Diff(want, string(readFile(t, filepath.Join(root, PMStateDoc.Path())))); diff != "" {
		t.Error(diff)
	}
}

func TestAStatusChangeKeepsOtherProgramsMembers(t *testing.T) {
	root := seedFolder(t)
	wild := `{"X": {"status": "tech_review", "current_agent": "tech_lead", "mood": "good",
  "iterations": {"developer": 01e0, "tech_lead": 1, "pair": 2},
  "blockers": [{"description": "old", "resolved": false, "who": "me"}],
  "big": 12345678901234567890}, "note": "not a group"}`
	put(t, root, GroupStatusDoc, []byte(strings.ReplaceAll(wild, "01e0", "1e0")))
	if _, err := openAt(t, root, noon).Answer(context.Background(), TechLead, "X", Answer{Status: WordChangesRequested, Summary: []string{"no <b>"}}); err != nil {
		t.Fatal(err)
	}
	want := `{"X": {"status": "changes_requested", "current_agent": "none", "mood": "good",
  "iterations": {"developer": 1e0, "tech_lead": 1, "pair": 2},
  "blockers": [{"description": "old", "resolved": false, "who": "me"}],
  "big": 12345678901234567890, "tech_lead_feedback": `
	got := string(readFile(t, filepath.Join(root, GroupStatusDoc.Path())))
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !strings.HasPrefix(squeeze(got), squeeze(want)) || !strings.Contains(got, "no <b>") || !strings.Contains(got, `"note": "not a group"`) {
		t.Errorf("got %s", got)
	}
}
