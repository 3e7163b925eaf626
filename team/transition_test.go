package team

import (
	"strings"
	"testing"
	"time"
)

// protocolTable is the protocol's table. Each row has the status, the role, the word, the new
// status, and how much the counters of developer, QA and tech lead increase.
var protocolTable = []struct {
	from GroupStatus
	by   Role
	word Word
	to   GroupStatus
	grow Iterations
}{
	{Pending, Developer, WordStarted, DevWorking, Iterations{1, 0, 0}},
	{DevWorking, Developer, WordReadyForQA, WaitingQA, Iterations{}},
	{DevWorking, Developer, WordReadyForReview, WaitingReview, Iterations{}},
	{DevWorking, Developer, WordBlocked, DevBlocked, Iterations{}},
	{DevWorking, Developer, WordIncomplete, DevBlocked, Iterations{}},
	{DevWorking, Developer, WordError, DevBlocked, Iterations{}},
	{DevBlocked, TechLead, WordUnblocked, DevWorking, Iterations{1, 0, 0}},
	{WaitingQA, QAExpert, WordStarted, QATesting, Iterations{0, 1, 0}},
	{QATesting, QAExpert, WordPass, WaitingReview, Iterations{}},
	{QATesting, QAExpert, WordFail, QAFailed, Iterations{}},
	{QAFailed, Developer, WordStarted, DevWorking, Iterations{1, 0, 0}},
	{ChangesRequested, Developer, WordStarted, DevWorking, Iterations{1, 0, 0}},
	{WaitingReview, TechLead, WordStarted, TechReview, Iterations{0, 0, 1}},
	{TechReview, TechLead, WordApproved, Complete, Iterations{}},
	{TechReview, TechLead, WordChangesRequested, ChangesRequested, Iterations{}},
}

func TestGroupsChangeStatusByTheProtocolsTable(t *testing.T) {
	for _, row := range protocolTable {
		g, err := Advance(Group{ID: "A", Status: row.from}, row.by, Answer{Status: row.word}, noon)
		if err != nil || g.Status != row.to || g.Iterations != row.grow || !g.LastUpdate.Equal(noon) {
			t.Errorf("%s, %s by %s: %s %v %v", row.from, row.word, row.by, g.Status, g.Iterations, err)
		}
	}
}

func TestEveryOtherTransitionIsRefusedOrDoesNotComplete(t *testing.T) {
	words := []Word{
		WordStarted, WordReadyForQA, WordReadyForReview, WordBlocked, WordIncomplete, WordError, WordPass, WordFail,
		WordFlaky, WordApproved, WordChangesRequested, WordUnblocked, WordComplete, "DONE", "",
	}
	for _, from := range append(GroupStatuses(), "COMPLETED", "") {
		for _, by := range []Role{PM, Developer, QAExpert, TechLead, None, ""} {
			for _, word := range words {
				was := Group{ID: "A", Status: from}
				g, err := Advance(was, by, Answer{Status: word}, noon)
				if inTable(from, by, word) {
					continue
				}
				if g.Status == Complete && from != Complete {
					t.Errorf("%s, %s by %s completes the group", from, word, by)
				}
				if err != nil && g.Status != from {
					t.Errorf("%s, %s by %s: refused, yet moved to %s", from, word, by, g.Status)
				}
			}
		}
	}
}

func inTable(from GroupStatus, by Role, word Word) bool {
	for _, row := range protocolTable {
		if row.from == from && row.by == by && row.word == word {
			return true
		}
	}
	return false
}

func TestARefusedTransitionNamesTheAllowedOnes(t *testing.T) {
	_, err := Advance(Group{ID: "A", Status: WaitingQA}, Developer, Answer{Status: WordPass}, noon)
	want := "group A is waiting_qa: refused PASS by developer; next may be started by qa_expert (qa_testing)"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	_, err = Advance(Group{ID: "A", Status: Complete}, Developer, Answer{Status: WordStarted}, noon)
	if err == nil || !strings.HasSuffix(err.Error(), "nothing may follow") {
		t.Errorf("got %v", err)
	}
}

func TestABlockerIsAppendedAndResolved(t *testing.T) {
	was := Group{ID: "A", Status: DevWorking, Blockers: List[Blocker]{{"old", true, "done"}}}
	blocked, err := Advance(was, Developer, Answer{Status: WordBlocked, Summary: []string{"no database", "no access"}}, noon)
	if err != nil || len(blocked.Blockers) != 2 || blocked.Blockers[1] != (Blocker{"no database\nno access", false, ""}) {
		t.Fatalf("%v %v", blocked.Blockers, err)
	}
	g, err := Advance(blocked, TechLead, Answer{Status: WordUnblocked, Summary: []string{"use SQLite"}}, noon)
	if err != nil || g.Blockers[1] != (Blocker{"no database\nno access", true, "use SQLite"}) || g.Blockers[0].Resolution != "done" {
		t.Errorf("%v %v", g.Blockers, err)
	}
	if len(g.TechLeadFeedback) != 1 || g.TechLeadFeedback[0].Decision != DecisionUnblocked {
		t.Errorf("feedback %v", g.TechLeadFeedback)
	}
	if blocked.Blockers[1].Resolved || len(was.Blockers) != 1 {
		t.Error("the group that was advanced from has changed")
	}
}

func TestCompletionSetsEndAndDuration(t *testing.T) {
	g := Group{ID: "A", Status: TechReview, StartTime: At(noon)}
	g, err := Advance(g, TechLead, Answer{Status: WordApproved, Summary: []string{"good"}}, noon.Add(90*time.Second))
	if err != nil || !g.EndTime.Equal(noon.Add(90*time.Second)) || *g.DurationMinutes != 1.5 || g.CurrentAgent != None {
		t.Errorf("%+v %v", g, err)
	}
	if f := g.TechLeadFeedback[0]; f.Iteration != 1 || f.Decision != DecisionApproved || f.Feedback != "good" {
		t.Errorf("feedback %v", f)
	}
	back := Group{ID: "A", Status: TechReview, StartTime: At(noon)}
	if g, _ := Advance(back, TechLead, Answer{Status: WordApproved}, noon.Add(-time.Hour)); g.DurationMinutes != nil {
		t.Error("a clock that went backwards gave a duration")
	}
}

func TestStuckRulesAreStrict(t *testing.T) {
	at := Group{Iterations: Iterations{5, 3, 3}}
	if got := Stuck(at); len(got) != 0 {
		t.Errorf("at the limit: %v", got)
	}
	for _, c := range []struct {
		past Iterations
		want Escalation
	}{
		{Iterations{6, 0, 0}, Escalation{Developer, 6, 5, PM}},
		{Iterations{0, 4, 0}, Escalation{QAExpert, 4, 3, TechLead}},
		{Iterations{0, 0, 4}, Escalation{TechLead, 4, 3, PM}},
	} {
		if got := Stuck(Group{Iterations: c.past}); len(got) != 1 || got[0] != c.want {
			t.Errorf("%v: %v", c.past, got)
		}
	}
}
