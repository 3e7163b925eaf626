package teamstate

import (
	"encoding/json"
	"testing"
	"time"

	"gaffer/team"
)

func TestASessionOfAnotherProgramContinuesWithWhatEachStatusAsksFor(t *testing.T) {
	for status, want := range map[team.GroupStatus]string{
		team.Pending: "A-developer-1", team.DevWorking: "A-developer-1", team.DevBlocked: "A-tech-lead-1", team.WaitingQA: "A-qa-1",
		team.QATesting: "A-qa-1", team.QAFailed: "A-developer-1", team.WaitingReview: "A-tech-lead-1", team.TechReview: "A-tech-lead-1",
		team.ChangesRequested: "A-developer-1", team.Complete: "pm-1",
	} {
		snap := team.Snapshot{
			PM: team.PMState{
				SessionID: "s", Mode: team.Parallel, OriginalRequirements: "make it", Iteration: 3,
				TaskGroups: team.TaskGroups{{ID: "A", Name: "a", Tasks: team.List[string]{"make a"}}},
			},
			Groups:       team.Groups{{ID: "A", Status: status}},
			Orchestrator: team.OrchestratorState{SessionID: "s", Status: team.SessionRunning, Iteration: 2},
		}
		found, err := ReadFound(snap)
		if err != nil {
			t.Errorf("%s: %v", status, err)
			continue
		}
		text, err := json.Marshal(Start{Session: "s", Requirements: "make it", Branch: "b/team", Found: found})
		if err != nil {
			t.Fatal(err)
		}
		var start Start
		if err := json.Unmarshal(text, &start); err != nil {
			t.Fatal(err)
		}
		s := New(start, time.Unix(1e9, 0))
		next := s.Next()
		if len(next) != 1 || next[0].ID != want {
			t.Errorf("%s: next is %+v, want %s", status, next, want)
			continue
		}
		if err := s.Begin(next[0], time.Unix(1e9, 0)); err != nil {
			t.Errorf("%s: %v", status, err)
		}
		if o := s.Contents(nil).Orchestrator; o.TotalSpawns != 3 {
			t.Errorf("%s: %d spawns", status, o.TotalSpawns)
		}
	}
}
