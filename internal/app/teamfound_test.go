package app_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/flow/teamsession"
	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/jsontree"
	"gaffer/team"
)

// theirs has the documents of a session that another program started, by name.
var theirs = map[string]string{
	"pm_state.json": `{"session_id": "bz_1", "mode": "parallel", "mode_reasoning": "two features", "original_requirements": "Make a and b",
 "all_tasks": [{"id": "T1", "description": "make a", "group_id": "A", "status": "complete", "owner": "x"},
  {"id": "T2", "description": "make b", "group_id": "B", "status": "pending"}],
 "task_groups": {"A": {"name": "a", "tasks": ["T1"], "status": "complete", "branch_name": "feature/a", "note": "kept"},
  "B": {"name": "b", "tasks": ["T2"], "status": "pending", "branch_name": "feature/b", "depends_on": ["A"]}},
 "completed_groups": ["A"], "iteration": 7, "completion_percentage": 50, "assumptions": ["none"]}`,
	"orchestrator_state.json": `{"session_id": "bz_1", "current_phase": "developer_working", "iteration": 4, "status": "running", "start_time": "2025-11-03T09:15:00Z",
 "decisions_log": [{"iteration": 1, "decision": "spawn_pm_for_planning", "reasoning": "it begins", "timestamp": "2025-11-03T09:15:00Z"}]}`,
	"group_status.json": `{"A": {"status": "complete", "commits": ["abc - a"], "files_modified": ["a.txt"], "tech_lead_feedback": [{"iteration": 1, "decision": "approved", "feedback": "good"}]}}`,
}

// writeTheirs writes documents into the project's team folder, as another program would.
func (c crew) writeTheirs(documents map[string]string) {
	c.t.Helper()
	if err := os.MkdirAll(c.coordination(), 0o755); err != nil {
		c.t.Fatal(err)
	}
	for name, text := range documents {
		c.write(filepath.Join("coordination", name), text)
	}
}

// readTheirs returns the current texts of the documents in theirs, by name.
func (c crew) readTheirs() map[string]string {
	c.t.Helper()
	texts := map[string]string{}
	for name := range theirs {
		text, err := os.ReadFile(filepath.Join(c.coordination(), name))
		if err != nil {
			c.t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

const continues = `
== B-developer-*
tool echo $GAFFER_TASK > b.txt && git add b.txt && git commit -qm "$GAFFER_TASK"
say {"status":"READY_FOR_REVIEW","summary":["it is made"]}
== B-tech-lead-*
say {"status":"APPROVED","feedback":"clean"}
== pm-*
say {"status":"COMPLETE"}
`

func TestATeamOfAnotherProgramContinuesWhereItsDocumentsSay(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	c := newCrew(t, continues)
	c.writeTheirs(theirs)
	a := c.open()
	run := c.resume(a)
	if starts := c.starts(); !slices.Equal(starts, []string{"B-developer-1", "B-tech-lead-1", "pm-1"}) {
		t.Errorf("started were %v", starts)
	}
	s := c.session()
	if run.Status != "complete" || s.Orchestrator.Status != team.SessionCompleted {
		t.Errorf("the run is %s, the session %s: %+v", run.Status, s.Orchestrator.Status, s.Orchestrator.DecisionsLog)
	}
	if s.PM.Mode != team.Parallel || s.PM.ModeReasoning != "two features" || !slices.Equal(s.PM.CompletedGroups, []string{"A", "B"}) || len(s.PM.AllTasks) != 2 {
		t.Errorf("the plan is %+v", s.PM)
	}
	if s.PM.Iteration <= 7 || s.Orchestrator.TotalSpawns != 7 || !strings.HasPrefix(s.Orchestrator.StartTime.Format("2006"), "2025") {
		t.Errorf("iteration %d, %d spawns, began %v", s.PM.Iteration, s.Orchestrator.TotalSpawns, s.Orchestrator.StartTime)
	}
	if log := s.Orchestrator.DecisionsLog; len(log) < 3 || log[0].Reasoning != "it begins" || log[1].Decision != "take_over" {
		t.Errorf("the decisions are %+v", log)
	}
	group, _ := s.Groups.Find("A")
	if !slices.Equal(group.Commits, []string{"abc - a"}) || len(group.TechLeadFeedback) != 1 || s.PM.TaskGroups[0].BranchName != "feature/a" {
		t.Errorf("group A is %+v", group)
	}
	text, err := os.ReadFile(filepath.Join(c.coordination(), "pm_state.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsontree.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{`"owner": "x"`, `"note": "kept"`, `"assumptions"`} {
		if !strings.Contains(string(text), kept) {
			t.Errorf("%s is gone from %s", kept, doc.Value())
		}
	}
	before, err := os.ReadFile(filepath.Join(c.coordination(), "archive", "bz_1_before", "pm_state.json"))
	if err != nil || string(before) != theirs["pm_state.json"] {
		t.Errorf("the documents before are %s, %v", before, err)
	}
}

func TestATeamOfAnotherProgramContinuesOnItsBranches(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	c := newCrew(t, strings.Replace(continues, "tool echo", "tool test -f begun.txt && echo", 1))
	c.git("switch", "-qc", "feature/b")
	c.write("begun.txt", "half of b")
	c.git("add", "begun.txt")
	c.git("commit", "-qm", "half of b")
	c.git("switch", "-q", "-")
	c.writeTheirs(theirs)
	c.writeTheirs(map[string]string{"group_status.json": `{"A": {"status": "complete"}, "B": {"status": "dev_working", "iterations": {"developer": 1}}}`})
	c.resume(c.open())
	if files := c.git("ls-tree", "--name-only", "gaffer/bz_1/team"); !strings.Contains(files, "begun.txt") || !strings.Contains(files, "b.txt") {
		t.Errorf("the team's branch has %q", files)
	}
}

func TestATeamThatCannotBeContinuedIsRefusedAndStaysAsItIs(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	c := newCrew(t, continues)
	c.git("branch", "feature/a", c.git("commit-tree", "-m", "a", "HEAD^{tree}"))
	a := c.open()
	change := func(name, old, text string) map[string]string {
		return map[string]string{name: strings.Replace(theirs[name], old, text, 1)}
	}
	for _, refused := range []struct {
		documents map[string]string
		says      string
	}{
		{nil, "its branch feature/a is not merged into"},
		{change("pm_state.json", `"parallel"`, `"analysis_only"`), `its mode is "analysis_only"`},
		{change("pm_state.json", `"status": "pending", "branch`, `"status": "in_progress_security_fixes", "branch`), `group B is "in_progress_security_fixes"`},
		{change("pm_state.json", `"completed_groups": ["A"]`, `"completed_groups": ["Z"]`), `completed_groups has "Z"`},
		{change("pm_state.json", `"completion_percentage": 50`, `"completion_percentage": 100`), "but group B is pending"},
		{change("pm_state.json", `"depends_on": ["A"]`, `"depends_on": ["all others"]`), `depends on "all others"`},
		{change("pm_state.json", `"original_requirements": "Make a and b",`, ``), "no original_requirements"},
		{change("group_status.json", `"status": "complete"`, `"status": "qa_failed"`), "complete in pm_state.json and qa_failed in group_status.json"},
		{change("orchestrator_state.json", `bz_1`, `bz_2`), "of session bz_1 and orchestrator_state.json of session bz_2"},
		{map[string]string{
			"pm_state.json":           strings.NewReplacer(`"pending", "branch`, `"complete", "branch`, `["A"], "iter`, `["A", "B"], "iter`, `: 50`, `: 100`).Replace(theirs["pm_state.json"]),
			"orchestrator_state.json": strings.Replace(theirs["orchestrator_state.json"], `"running"`, `"completed"`, 1),
		}, "it is completed"},
	} {
		c.writeTheirs(theirs)
		c.writeTheirs(refused.documents)
		before := c.readTheirs()
		_, err := a.Teams.Resume(t.Context(), teamsession.Request{})
		none := (*teamsession.NotResumableError)(nil)
		if !errors.As(err, &none) || !strings.Contains(err.Error(), refused.says) || !strings.Contains(none.Hint(), "team archive") {
			t.Errorf("%s: %v", refused.says, err)
		}
		if after := c.readTheirs(); !maps.Equal(before, after) {
			t.Errorf("%s: the documents were\n%s\nand are\n%s", refused.says, before, after)
		}
	}
}
