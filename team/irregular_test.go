package team

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/testkit/testenv"
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
	reported := map[string][]string{
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
			"unknown-status execution_phases[0].status",
		},
		"pm_state.mode-and-complexity": {"unknown-mode mode", "unknown-complexity task_groups[0].complexity"},
		"pm_state.unknown-keys": {
			"unknown-key success_criteria", "unknown-key bazinga_sent", "unknown-key token_usage", "unknown-key notes",
			"unknown-key created_at", "unknown-key branch", "unknown-key status", "unknown-key metrics", "unknown-key blockers",
			"unknown-key final_report", "unknown-key version", "unknown-key development_plan", "unknown-key assumptions",
		},
		"pm_state.plan-without-spawns": {
			"unknown-key all_tasks[0].owner", "groups-as-map task_groups", "unknown-key task_groups.A.reviewed_by", "unknown-key assumptions",
		},
		"pm_state.finished":     {"unknown-key final_verdict"},
		"pm_state.timestamps":   nil, // not tested here: see the tests of times below
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
	}
	if files, err := filepath.Glob("testdata/wild/*.json"); err != nil || len(files) != len(reported) {
		t.Errorf("%d files, %d rows, %v", len(files), len(reported), err)
	}
	for name, want := range reported {
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
	if got := read("statuses"); got.TaskGroups[0].Status != "COMPLETED" || Measure(got, nil).Percentage != 0 {
		t.Errorf("another word for complete counts as complete: %v", Measure(got, nil))
	}
	if got := read("unknown-keys"); got.Iteration != 4 || got.LastUpdate.Nanosecond() != 123456000 {
		t.Errorf("read %+v", got)
	}
	for _, name := range []string{"null", "array", "groups-missing"} {
		if got := read(name); len(got.TaskGroups) != 0 {
			t.Errorf("%s: groups are %v", name, got.TaskGroups)
		}
	}
}

// The test approves a group in sessions with irregular plans. A status in the plan must change if
// it is one of the protocol's words. Everything else in the plan must stay unchanged.
func TestAWriteDropsNothingOfAnIrregularPlan(t *testing.T) {
	for name, c := range map[string]struct{ group, set string }{
		"tasks-as-strings":    {"main", "task_groups[0].status iteration last_update"},
		"groups-missing":      {"main", "iteration last_update"},
		"groups-as-map":       {"A", "task_groups.A.status iteration last_update"},
		"phase-form":          {"C", "task_groups[2].status execution_phases[1].status iteration last_update"},
		"statuses":            {"A", "iteration last_update"},
		"mode-and-complexity": {"main", "task_groups[0].status iteration last_update"},
		"unknown-keys":        {"main", "iteration last_update"},
		"timestamps":          {"main", "task_groups[0].status iteration last_update"},
	} {
		root := filepath.Join(t.TempDir(), "coordination")
		before := wild(t, "pm_state."+name)
		put(t, root, PMStateDoc, before)
		put(t, root, OrchestratorDoc, seed(t, OrchestratorDoc))
		put(t, root, GroupStatusDoc, []byte(`{"`+c.group+`": {"status": "tech_review"}}`))
		if _, err := openAt(t, root, noon).Answer(context.Background(), TechLead, c.group, Answer{Status: WordApproved}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		after := readFile(t, filepath.Join(root, PMStateDoc.Path()))
		if got := strings.Join(differing("", value(t, before), value(t, after)), " "); got != c.set {
			t.Errorf("%s: changed %q, want %q", name, got, c.set)
		}
	}
}

func TestAWriteDropsNothingOfIrregularGroupsAndDecisions(t *testing.T) {
	root := filepath.Join(t.TempDir(), "coordination")
	groups := wild(t, "group_status.words")
	decisions := bytes.Replace(wild(t, "orchestrator_state.timestamps"), []byte(`"status": "completed"`), []byte(`"status": "running"`), 1)
	put(t, root, PMStateDoc, seed(t, PMStateDoc))
	put(t, root, GroupStatusDoc, groups)
	put(t, root, OrchestratorDoc, decisions)
	s := openAt(t, root, noon)
	if _, err := s.Answer(context.Background(), Developer, "B", Answer{Status: WordReadyForQA}); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(context.Background(), QAExpert, "B", "ready"); err != nil {
		t.Fatal(err)
	}
	now := func(d Document) jsontree.Value { return value(t, readFile(t, filepath.Join(root, d.Path()))) }
	if got := differing("", value(t, groups), now(GroupStatusDoc)); !slices.Equal(got, []string{"B.status"}) {
		t.Errorf("groups: changed %v", got)
	}
	want := []string{"active_agents", "iteration", "total_spawns", "decisions_log", "last_update"}
	if got := differing("", value(t, decisions), now(OrchestratorDoc)); !slices.Equal(got, want) {
		t.Errorf("decisions: changed %v", got)
	}
}

func TestManyGroupsAreReadAndWrittenInTime(t *testing.T) {
	const many = 100_000
	var pm PMState
	var groups Groups
	for i := range many {
		id := fmt.Sprintf("g%06d", i)
		pm.TaskGroups = append(pm.TaskGroups, TaskGroup{ID: id})
		groups = append(groups, Group{ID: id, Status: Complete})
	}
	doc, err := jsontree.Parse([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if p := Measure(pm, groups); p.Percentage != 100 || CurrentPhase(pm, groups, DeveloperWorking) != PMFinalCheck {
		t.Errorf("%v%%", p.Percentage)
	}
	editGroups(doc.Root(), groups, groups)
	if took := time.Since(start); took > testenv.Patience {
		t.Errorf("it took %s", took)
	}
}

func TestANoteAmongTheGroupsIsNoGroup(t *testing.T) {
	s := begin(t)
	const note = `"_meta": {"by": "me", "last_update": "2025-01-06T12:00:00Z"}`
	put(t, s.Root(), GroupStatusDoc, []byte(`{`+note+`, "A": {"mine": 1, "commits": ["abc"], "tech_lead_feedback": [{"iteration": 1}]}}`))
	if err := s.Plan(ctx, Plan{Mode: Parallel, Groups: groupsOf("A", "B")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx, Developer, "A", "go"); err != nil {
		t.Fatal(err)
	}
	if snap := resume(t, s); len(snap.Groups) != 2 || !slices.Equal(snap.Progress.InProgress, []string{"A"}) {
		t.Errorf("%+v", snap.Groups)
	}
	text := string(readFile(t, s.path(GroupStatusDoc)))
	for _, want := range []string{note, `"mine": 1`, `"abc"`, `{"iteration": 1}`, `"dev_working"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestANoteDoesNotKeepASessionFromBeingComplete(t *testing.T) {
	s := begin(t)
	if err := s.Plan(ctx, Plan{Mode: Simple, Groups: groupsOf("A")}); err != nil {
		t.Fatal(err)
	}
	put(t, s.Root(), GroupStatusDoc, []byte(`{"_meta": {"by": "me"}, "A": {"status": "complete"}}`))
	if snap := resume(t, s); snap.Progress.Percentage != 100 || snap.Phase != PMFinalCheck {
		t.Errorf("%+v", snap.Progress)
	}
	if _, err := s.Answer(ctx, PM, "", Answer{Status: WordComplete}); err != nil {
		t.Error(err)
	}
}

// 5.0 is a valid integer for JSON Schema, so gaffer's validation accepts it too.
func TestCountersWithAFractionAreIncrementedWithoutOverflow(t *testing.T) {
	for _, c := range []struct{ counter, spawns, developer, started string }{
		{"5.0", "7.0", "6", "8"},
		{"5", "7", "6", "8"},
		{"5e0", "0.7e1", "6", "8"},
		{"9223372036854775807", "9223372036854775807", "9223372036854775807", "9223372036854775807"},
	} {
		root := seedFolder(t)
		groups := `{"C": {"status": "changes_requested", "iterations": {"developer": ` + c.counter + `}}}`
		put(t, root, GroupStatusDoc, []byte(groups))
		put(t, root, OrchestratorDoc, []byte(strings.ReplaceAll(freeC(t), "15,", c.spawns+",")))
		s := openAt(t, root, noon)
		if err := s.Start(context.Background(), Developer, "C", "again"); err != nil {
			t.Fatal(err)
		}
		now := func(d Document) jsontree.Value { return value(t, readFile(t, filepath.Join(root, d.Path()))) }
		if got := now(GroupStatusDoc).Get("C").Get("iterations").Get("developer").String(); got != c.developer {
			t.Errorf("after %s the group's counter is %s", c.counter, got)
		}
		for _, name := range []string{"iteration", "total_spawns"} {
			if got := now(OrchestratorDoc).Get(name).String(); got != c.started {
				t.Errorf("after %s %s is %s", c.spawns, name, got)
			}
		}
		snap, err := s.Resume(context.Background())
		if err != nil || strconv.Itoa(snap.Orchestrator.TotalSpawns) != c.started {
			t.Errorf("%d spawns, %v", snap.Orchestrator.TotalSpawns, err)
		}
	}
}

func TestTheDocumentDeterminesAMessagesReceiver(t *testing.T) {
	for _, c := range channels {
		root := seedFolder(t)
		put(t, root, c.doc, []byte(`{"messages": [{"subject": "bare"}, {"subject": "elsewhere", "to": "somebody", "from": "me"}]}`))
		got, err := openAt(t, root, noon).Messages(context.Background(), Filter{To: c.to, Unread: true})
		if err != nil || len(got) != 2 || got[0].From != c.from || got[1].From != "me" || got[1].To != c.to {
			t.Errorf("%s: %+v, %v", c.doc, got, err)
		}
	}
}

func TestAnAcknowledgementDropsNothingOfLooseMessages(t *testing.T) {
	root, before := seedFolder(t), wild(t, "dev_to_qa.loose")
	put(t, root, DevToQADoc, before)
	s := openAt(t, root, noon)
	unread, err := s.Messages(context.Background(), Filter{To: QAExpert, Unread: true})
	if err != nil || len(unread) != 2 || unread[0].From != "dev" || unread[1].Subject != "Ready again" {
		t.Errorf("unread are %v, %v", unread, err)
	}
	if err := s.Acknowledge(context.Background(), "msg_20251108_093000", ""); err != nil {
		t.Fatal(err)
	}
	after := readFile(t, filepath.Join(root, DevToQADoc.Path()))
	if got := differing("", value(t, before), value(t, after)); !slices.Equal(got, []string{"messages[0].read"}) {
		t.Errorf("changed %v", got)
	}
}

func TestAStateThatIsNoObjectIsRefusedAndStays(t *testing.T) {
	for _, name := range []string{"null", "array", "half-written"} {
		root, before := seedFolder(t), wild(t, "pm_state."+name)
		put(t, root, PMStateDoc, before)
		err := openAt(t, root, noon).Start(context.Background(), PM, "", "look again")
		if invalid := interface{ Invalid() bool }(nil); !errors.As(err, &invalid) {
			t.Errorf("%s: error is %v", name, err)
		}
		for d, was := range map[Document][]byte{PMStateDoc: before, OrchestratorDoc: seed(t, OrchestratorDoc)} {
			if now := readFile(t, filepath.Join(root, d.Path())); !slices.Equal(was, now) {
				t.Errorf("%s: %s is now %s", name, d, now)
			}
		}
	}
}

func TestMessagesThatAreNoObjectAreRefusedAndStay(t *testing.T) {
	root := seedFolder(t)
	put(t, root, DevToQADoc, []byte(`["ready"]`))
	_, err := openAt(t, root, noon).Send(context.Background(), Draft{Group: "A", From: Developer, To: QAExpert, Subject: "Ready"})
	if form := (*statefile.FormError)(nil); !errors.As(err, &form) {
		t.Errorf("error is %v", err)
	}
	if got := string(readFile(t, filepath.Join(root, DevToQADoc.Path()))); got != `["ready"]` {
		t.Errorf("now %s", got)
	}
}

func value(t *testing.T, data []byte) jsontree.Value {
	t.Helper()
	doc, err := jsontree.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Value()
}

// differing lists the values in old that are missing or changed in current, including changed
// formatting of numbers. It ignores values that were added.
func differing(at string, old, current jsontree.Value) []string {
	if old.Kind() != current.Kind() || old.Kind() == jsontree.Array && old.Len() != current.Len() {
		return []string{at}
	}
	var paths []string
	switch old.Kind() {
	case jsontree.Object:
		for name, v := range old.Members() {
			paths = append(paths, differing(strings.TrimPrefix(at+"."+name, "."), v, current.Get(name))...)
		}
	case jsontree.Array:
		next, stop := iter.Pull2(current.Items())
		defer stop()
		for i, v := range old.Items() {
			_, now, _ := next()
			paths = append(paths, differing(fmt.Sprintf("%s[%d]", at, i), v, now)...)
		}
	default:
		if !slices.Equal(old.Raw(), current.Raw()) {
			return []string{at}
		}
	}
	return paths
}

func TestDocumentsOfTwoSessionsAreReportedReadAndKept(t *testing.T) {
	root := seedFolder(t)
	renamed := strings.Replace(freeC(t), "v4_20250106_100000", "v4_renamed", 1)
	put(t, root, OrchestratorDoc, []byte(renamed))
	if got := findings(validate(t, root)); !slices.Equal(got, []string{"session-id-differs session_id"}) {
		t.Errorf("found %v", got)
	}
	s := openAt(t, root, noon)
	if err := s.Start(context.Background(), Developer, "C", "A is complete"); err != nil {
		t.Fatal(err)
	}
	now, err := s.Resume(context.Background())
	if err != nil || now.SessionID() != "v4_20250106_100000" || now.Orchestrator.SessionID != "v4_renamed" {
		t.Errorf("%s and %s, %v", now.SessionID(), now.Orchestrator.SessionID, err)
	}
}

func TestImpossibleTimesAreReported(t *testing.T) {
	at := func(name string, written time.Time) []string {
		root := filepath.Join(t.TempDir(), "coordination")
		put(t, root, PMStateDoc, wild(t, "pm_state.timestamps"))
		put(t, root, OrchestratorDoc, wild(t, name))
		if err := os.Chtimes(filepath.Join(root, PMStateDoc.Path()), written, written); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(findings(validate(t, root)), func(f string) bool { return f == "file-missing" })
	}
	before, after := time.Date(2025, 11, 8, 8, 0, 0, 0, time.UTC), time.Date(2025, 11, 8, 9, 39, 30, 0, time.UTC)
	own := []string{"legacy-timestamp end_time", "timestamp-order end_time", "timestamp-order last_update"}
	want := append([]string{"timestamp-ahead last_update"}, append(own, "timestamp-order last_update")...)
	if diff := cmp.Diff(want, at("orchestrator_state.timestamps", before)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[1:], at("orchestrator_state.timestamps", after)); diff != "" {
		t.Error(diff)
	}
}

func TestAGroupThatBeganBeforeTheSessionIsReported(t *testing.T) {
	root := seedFolder(t)
	early := strings.Replace(string(seed(t, GroupStatusDoc)), `"start_time": "2025-01-06T10:00:00Z"`, `"start_time": "2025-01-06T08:00:00Z"`, 1)
	put(t, root, GroupStatusDoc, []byte(early))
	if got := findings(validate(t, root)); !slices.Equal(got, []string{"timestamp-order A.start_time"}) {
		t.Errorf("found %v", got)
	}
}

func TestADivergentCopyIsReported(t *testing.T) {
	for _, place := range []string{"coordination/coordination", "web/coordination", "src/web/api/coordination"} {
		root := seedFolder(t)
		other := filepath.Join(filepath.Dir(root), place)
		put(t, other, PMStateDoc, seed(t, PMStateDoc))
		if got := findings(validate(t, root)); len(got) != 0 {
			t.Errorf("an equal copy is reported: %v", got)
		}
		put(t, other, PMStateDoc, []byte("{}"))
		put(t, filepath.Join(filepath.Dir(root), ".git", "coordination"), PMStateDoc, []byte("{}"))
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
