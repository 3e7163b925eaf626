package docview_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/api/docview"
	"gaffer/statefile/host"
	"gaffer/team"
)

// teamOf returns the view of a team with these documents, given by path.
func teamOf(t *testing.T, docs map[string]string) docview.TeamPicture {
	t.Helper()
	root := t.TempDir()
	for name, text := range docs {
		put(t, filepath.Join(root, name+".json"), text)
	}
	p := docview.ReadTeam(host.OS(), root).Picture()
	shown(t, "team", p)
	return p
}

// board returns a short text that describes a team's groups, for comparison.
func board(p docview.TeamPicture) string {
	var list []string
	for _, g := range p.Groups {
		list = append(list, fmt.Sprintf("%s %s in %s", g.ID, g.Status, g.Stage))
	}
	return strings.Join(list, ", ")
}

func TestEveryWildDocumentOfATeamIsShown(t *testing.T) {
	want := map[string]string{
		"pm_state.tasks-as-strings":    "main in_progress in developer_working",
		"pm_state.groups-missing":      "",
		"pm_state.groups-as-map":       "A pending in pending, B pending in pending",
		"pm_state.phase-form":          "A complete in complete, B complete in complete, C pending in pending",
		"pm_state.statuses":            "A COMPLETED in other, B in_progress_security_fixes in other",
		"pm_state.mode-and-complexity": "main in_progress in developer_working",
		"pm_state.unknown-keys":        "",
		"pm_state.timestamps":          "main in_progress in developer_working",
		"pm_state.plan-without-spawns": "A complete in complete, B pending in pending",
		"pm_state.finished":            "main complete in complete",
		"pm_state.half-written":        "",
		"pm_state.null":                "",
		"pm_state.array":               "",
		"group_status.words":           "A COMPLETED in other, B dev_working in developer_working",
	}
	for name, text := range wild(t, "team") {
		doc, _, _ := strings.Cut(name, ".")
		if strings.HasPrefix(doc, "dev_to_qa") {
			doc = "messages/" + doc
		}
		p := teamOf(t, map[string]string{doc: text})
		if got := board(p); got != want[name] {
			t.Errorf("%s: %q, want %q", name, got, want[name])
		}
		if p.Found == strings.HasPrefix(doc, "messages/") {
			t.Errorf("%s: found is %v", name, p.Found)
		}
	}
}

func TestATeamIsShownWithEverythingThatItsPageNeeds(t *testing.T) {
	p := teamOf(t, map[string]string{
		"pm_state": `{"session_id": "v4_1", "mode": "parallel", "mode_reasoning": "two parts", "original_requirements": "Search and export",
			"task_groups": [{"id": "A", "name": "Search"}, {"id": "B", "name": "Export", "depends_on": ["A"], "branch_name": "b"}, {"id": "C"}],
			"execution_phases": [{"phase": 1, "groups": ["A"], "status": "in_progress"}, {"phase_number": 2, "group_ids": ["B", "C"], "parallel_count": 2, "status": "pending"}]}`,
		"group_status": `{"A": {"group_name": "Search", "status": "changes_requested", "current_agent": "developer", "branch_name": "a",
			"iterations": {"developer": 5, "qa": 3, "tech_lead": 1}, "start_time": "2025-11-08T09:00:00Z",
			"blockers": [{"description": "no key", "resolved": true, "resolution": "found"}, "a mere text"],
			"tech_lead_feedback": [{"decision": "changes_requested", "feedback": "quote the query", "timestamp": "2025-11-08T09:20:00Z"}]},
			"D": {"status": "complete", "iterations": {"developer": 4}}}`,
		"orchestrator_state": `{"session_id": "v4_2", "current_phase": "developer_working", "iteration": 9, "total_spawns": 8, "status": "running",
			"start_time": "2025-11-08T08:55:00+00:00", "end_time": null,
			"decisions_log": [{"iteration": 1, "decision": "start developer", "reasoning": "the plan is there", "timestamp": "2025-11-08 09:00:00Z"}, "go on"]}`,
		"messages/dev_to_qa":       `{"messages": [{"id": "m1", "group_id": "A", "subject": "Ready", "timestamp": "2025-11-08T09:10:00Z", "read": true, "context": {"notes": "see README"}}]}`,
		"messages/techlead_to_dev": `{"messages": [{"id": "m2", "group_id": "A", "from": "tech_lead", "to": "developer", "subject": "Again", "timestamp": "2025-11-08T09:05:00Z", "feedback": "quote", "issues": [{"priority": "high", "title": "injection"}], "actionable_items": ["use ?"]}]}`,
	})
	s := p.Session
	if s.ID != "v4_1" || s.Mode != "parallel" || s.Status != "running" || s.Phase != "developer_working" || s.Iteration != 9 || s.Spawns != 8 || s.Percent != 25 ||
		s.Requirements == "" || !s.Started.Equal(time.Date(2025, 11, 8, 8, 55, 0, 0, time.UTC)) || !s.Ended.IsZero() {
		t.Errorf("session %+v", s)
	}
	if got := board(p); got != "A changes_requested in developer_working, D complete in complete, B pending in pending, C pending in pending" {
		t.Errorf("board %s", got)
	}
	a, b := p.Groups[0], p.Groups[2]
	if a.Name != "Search" || a.Branch != "a" || a.Agent != "developer" || a.Attempts != (docview.TeamAttempts{Developer: 5, QA: 3, TechLead: 1}) || a.Note != "quote the query" ||
		fmt.Sprint(a.Blockers) != "[{no key true found} {a mere text false }]" || fmt.Sprint(b.DependsOn) != "[A]" || b.Branch != "b" {
		t.Errorf("groups %+v %+v", a, b)
	}
	if got := fmt.Sprint(p.Phases); got != "[{1 in_progress [A] 0} {2 pending [B C] 2}]" {
		t.Errorf("phases %s", got)
	}
	if m := p.Messages; len(m) != 2 || m[0].ID != "m2" || m[0].Type != "review" || fmt.Sprint(m[0].Body) != "[quote high injection use ?]" ||
		m[1].From != "developer" || m[1].To != "qa_expert" || m[1].Type != "handoff" || !m[1].Read || m[1].Text != "Ready" || m[1].Group != "A" {
		t.Errorf("messages %+v", m)
	}
	var said []string
	for _, d := range p.Decisions {
		said = append(said, d.Who+": "+d.What+", "+d.Why)
	}
	if got := strings.Join(said, "; "); got != "pm: mode parallel, two parts; orchestrator: start developer, the plan is there; orchestrator: go on, ; tech_lead: changes_requested, quote the query" {
		t.Errorf("decisions %s", got)
	}
	if got := fmt.Sprint(p.Counters); got != "[{A developer 5 5 pm} {A qa_expert 3 3 tech_lead} {A tech_lead 1 3 pm}]" {
		t.Errorf("counters %s", got)
	}
	if got := strings.Join(p.Problems, "\n"); !strings.Contains(got, "orchestrator_state.json: says session v4_2, another document v4_1") {
		t.Errorf("problems %s", got)
	}
}

func TestAnUnreadableDocumentKeepsItsLastContents(t *testing.T) {
	team1 := docview.NewTeam()
	saw := team1.Setter(team.GroupStatusDoc)
	saw([]byte(`{"A": {"status": "dev_working"}}`), nil)
	saw([]byte(`{"A": {"sta`), nil)
	p := team1.Picture()
	if board(p) != "A dev_working in developer_working" || len(p.Problems) != 1 || !strings.Contains(p.Problems[0], "group_status.json: not JSON: line 1") {
		t.Errorf("%s %v", board(p), p.Problems)
	}
	saw([]byte(`{"A": {"status": "complete"}}`), nil)
	if p := team1.Picture(); p.Groups[0].Status != "complete" || strings.Contains(fmt.Sprint(p.Problems), "not JSON") {
		t.Errorf("%+v", p)
	}
	saw(nil, nil)
	if p := team1.Picture(); p.Found || len(p.Groups) > 0 {
		t.Errorf("%+v", p)
	}
}
