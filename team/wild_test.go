package team

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

func wild(t testing.TB, name string) []byte {
	t.Helper()
	return readFile(t, filepath.Join("testdata", "wild", name+".json"))
}

func findings(found []statefile.Finding) []string {
	var names []string
	for _, f := range found {
		names = append(names, strings.TrimSpace(f.Name+" "+f.At))
	}
	return names
}

func TestEveryIrregularFormIsReportedByItsName(t *testing.T) {
	for name, want := range map[string][]string{
		"pm_state.tasks-as-strings": {"tasks-as-strings all_tasks"},
		"pm_state.groups-missing":   {"groups-missing task_groups"},
		"pm_state.groups-as-map":    {"groups-as-map task_groups", "unknown-key task_groups.B.owner"},
		"pm_state.phase-form": {
			"phase-form execution_phases[0].phase", "phase-form execution_phases[0].groups",
			"phase-form execution_phases[1].phase", "phase-form execution_phases[1].groups",
		},
		"pm_state.statuses": {
			"unknown-status all_tasks[0].status", "unknown-status all_tasks[1].status",
			"unknown-status task_groups[0].status", "unknown-status task_groups[1].status",
		},
		"pm_state.mode-and-complexity": {"unknown-mode mode", "unknown-complexity task_groups[0].complexity"},
		"pm_state.unknown-keys": {
			"unknown-key success_criteria", "unknown-key bazinga_sent", "unknown-key token_usage", "unknown-key notes",
		},
		"pm_state.half-written": {"corrupt"},
		"pm_state.null":         {"wrong-type"},
		"pm_state.array":        {"wrong-type"},
		"orchestrator_state.timestamps": {
			"legacy-timestamp end_time", "timestamp-order end_time", "timestamp-order last_update",
		},
		"group_status.words": {
			"wrong-type session_id", "unknown-status A.status", "unknown-agent A.current_agent",
			"unknown-decision B.tech_lead_feedback[0].decision", "wrong-type last_update", "group-id-differs B.group_id",
		},
		"dev_to_qa.loose": {
			"wrong-value messages[0].from", "wrong-type messages[0].read", "unknown-key messages[1].attachments",
		},
	} {
		doc, _, _ := strings.Cut(name, ".")
		found := ValidateDocument(Document(doc), name, wild(t, name))
		if diff := cmp.Diff(want, findings(found)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestACorruptFileIsReportedWithLineAndColumn(t *testing.T) {
	found := ValidateDocument(PMStateDoc, "pm_state.json", wild(t, "pm_state.half-written"))
	if len(found) != 1 || !strings.Contains(found[0].Text, "line 3, column 15") || found[0].Severity != statefile.Invalid {
		t.Errorf("found %v", found)
	}
}

func TestIrregularFormsAreReadAsMeant(t *testing.T) {
	read := func(name string) (pm PMState) {
		doc, err := jsontree.Parse(wild(t, "pm_state."+name))
		if err != nil {
			t.Fatal(err)
		}
		jsontree.Decode(doc.Value(), &pm)
		return pm
	}
	tasks := read("tasks-as-strings").AllTasks
	if len(tasks) != 3 || tasks[0].Description != "Add GET /health" || tasks[1].ID != "T2" {
		t.Errorf("tasks are %v", tasks)
	}
	groups := read("groups-as-map").TaskGroups
	if len(groups) != 2 || groups[0].ID != "A" || groups[1].Name != "Export" {
		t.Errorf("groups are %v", groups)
	}
	phases := read("phase-form").ExecutionPhases
	if len(phases) != 2 || phases[1].PhaseNumber != 2 || !slices.Equal(phases[1].GroupIDs, []string{"C"}) {
		t.Errorf("phases are %v", phases)
	}
	if got := read("statuses"); got.TaskGroups[1].Status != "in_progress_security_fixes" || got.AllTasks[1].Status != "SKIPPED" {
		t.Errorf("statuses are %v", got)
	}
	if got := read("mode-and-complexity"); got.Mode != "analysis_only" || got.TaskGroups[0].Complexity != "trivial" {
		t.Errorf("mode is %v", got)
	}
	for _, name := range []string{"null", "array", "groups-missing", "unknown-keys"} {
		read(name)
	}
}

// A write adds to a wild document what the write is about and drops nothing:
// every line that was there is there still, but for the ones it sets.
func TestAWriteDropsNothingOfAnIrregularDocument(t *testing.T) {
	for _, name := range []string{
		"tasks-as-strings", "groups-missing", "groups-as-map", "phase-form", "statuses", "mode-and-complexity", "unknown-keys",
	} {
		root := filepath.Join(t.TempDir(), "coordination")
		data := wild(t, "pm_state."+name)
		put(t, root, PMStateDoc, data)
		put(t, root, OrchestratorDoc, seed(t, OrchestratorDoc))
		if err := openAt(t, root, noon).Start(context.Background(), PM, "", "look again"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after := string(readFile(t, filepath.Join(root, PMStateDoc.Path())))
		for line := range strings.Lines(string(data)) {
			line = strings.TrimRight(line, ",\n")
			set := strings.Contains(line, "iteration") || strings.Contains(line, "last_update")
			if !set && !strings.Contains(after, line) {
				t.Errorf("%s: lost %q in\n%s", name, line, after)
			}
		}
	}
}

func TestDocumentsOfTwoSessionsAreReported(t *testing.T) {
	root := seedFolder(t)
	put(t, root, OrchestratorDoc, []byte(strings.Replace(string(seed(t, OrchestratorDoc)), "v4_20250106_100000", "v4_renamed", 1)))
	if got := findings(validate(t, root)); !slices.Equal(got, []string{"session-id-differs session_id"}) {
		t.Errorf("found %v", got)
	}
}

func TestADivergentCopyIsReported(t *testing.T) {
	for _, place := range []string{"coordination/coordination", "web/coordination"} {
		root := seedFolder(t)
		other := filepath.Join(filepath.Dir(root), place)
		put(t, other, PMStateDoc, seed(t, PMStateDoc))
		if got := findings(validate(t, root)); len(got) != 0 {
			t.Errorf("an equal copy is reported: %v", got)
		}
		put(t, other, PMStateDoc, []byte("{}"))
		if got := findings(validate(t, root)); !slices.Equal(got, []string{"divergent-copy"}) {
			t.Errorf("found %v", got)
		}
	}
}

func TestReferencesAndIdsAreChecked(t *testing.T) {
	root := seedFolder(t)
	put(t, root, DevToQADoc, wild(t, "dev_to_qa.loose"))
	put(t, root, PMStateDoc, []byte(strings.ReplaceAll(string(seed(t, PMStateDoc)), `"depends_on": ["A"]`, `"depends_on": ["Z"]`)))
	if err := os.Remove(filepath.Join(root, TechLeadToDevDoc.Path())); err != nil {
		t.Fatal(err)
	}
	got := findings(validate(t, root))
	for _, want := range []string{"duplicate-id messages[1].id", "unknown-group task_groups[2].depends_on", "file-missing"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not among %v", want, got)
		}
	}
}

func validate(t *testing.T, root string) []statefile.Finding {
	t.Helper()
	found, err := Validate(host.OS(), root)
	if err != nil {
		t.Fatal(err)
	}
	return found
}
