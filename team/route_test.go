package team

import (
	"errors"
	"slices"
	"testing"
)

func TestRoutingByStatusWord(t *testing.T) {
	for _, c := range []struct {
		by   Role
		word Word
		next []Role
	}{
		{Developer, WordReadyForQA, []Role{QAExpert}},
		{Developer, WordReadyForReview, []Role{TechLead}},
		{Developer, WordBlocked, []Role{TechLead, Developer}},
		{Developer, WordIncomplete, []Role{TechLead, Developer}},
		{Developer, WordError, []Role{TechLead, Developer}},
		{QAExpert, WordPass, []Role{TechLead}},
		{QAExpert, WordFail, []Role{Developer, QAExpert}},
		{QAExpert, WordBlocked, []Role{TechLead, QAExpert}},
		{QAExpert, WordFlaky, []Role{TechLead, Developer, QAExpert}},
		{TechLead, WordChangesRequested, []Role{Developer, QAExpert, TechLead}},
		{TechLead, WordUnblocked, []Role{Developer}},
		{PM, WordPlanned, nil},
		{PM, WordContinue, nil},
		{PM, WordNeedsClarification, nil},
		{Developer, WordPartial, []Role{TechLead, Developer}},
		{Developer, WordNeedsClarification, []Role{TechLead, Developer}},
		{Developer, WordEscalate, []Role{TechLead, Developer}},
		{QAExpert, WordPartial, []Role{TechLead, QAExpert}},
		{TechLead, WordEscalate, []Role{Developer}},
		{TechLead, WordNeedsClarification, nil},
	} {
		got, err := Route(c.by, c.word)
		if err != nil || !slices.Equal(got.Roles, c.next) || got.Group || got.Session {
			t.Errorf("%s %s: %v %v", c.by, c.word, got, err)
		}
	}
	for _, word := range []Word{WordApproved, WordApprovedWithNotes} {
		if got, err := Route(TechLead, word); err != nil || !got.Group || len(got.Roles) > 0 {
			t.Errorf("%s: %v %v", word, got, err)
		}
	}
}

func TestAnUnknownWordGoesToTheTechLeadWithAnErrorAndNeverEndsAnything(t *testing.T) {
	for _, by := range []Role{PM, Developer, QAExpert, TechLead} {
		for _, word := range []Word{"", "DONE", "approved", "SUCCESS", "BAZINGA"} {
			got, err := Route(by, word)
			var unknown *UnknownWordError
			if !errors.As(err, &unknown) || !slices.Equal(got.Roles, []Role{TechLead}) || got.Group || got.Session {
				t.Errorf("%s %q: %v %v", by, word, got, err)
			}
		}
	}
	for _, by := range []Role{Developer, QAExpert, TechLead} {
		for _, word := range Words(PM) {
			if got, err := Route(by, word); err == nil && word != WordNeedsClarification || got.Session {
				t.Errorf("%s from %s: %v %v", word, by, got, err)
			}
		}
	}
}

func TestThePMPlansContinuesOrEnds(t *testing.T) {
	if words := Words(PM); !slices.Equal(words, []Word{WordPlanned, WordContinue, WordNeedsClarification, WordComplete}) {
		t.Error(words)
	}
}

func TestCompleteCountsOnlyFromThePMWhenEveryGroupIsComplete(t *testing.T) {
	pm := PMState{TaskGroups: TaskGroups{{ID: "A"}, {ID: "B"}}}
	done := Groups{{ID: "A", Status: Complete}, {ID: "B", Status: Complete}}
	if err := CheckComplete(PM, WordComplete, pm, done); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"another role":            CheckComplete(TechLead, WordComplete, pm, done),
		"another word":            CheckComplete(PM, WordApproved, pm, done),
		"an open group":           CheckComplete(PM, WordComplete, pm, Groups{done[0], {ID: "B", Status: TechReview}}),
		"a planned group":         CheckComplete(PM, WordComplete, pm, done[:1]),
		"another spelling":        CheckComplete(PM, WordComplete, pm, Groups{done[0], {ID: "B", Status: "COMPLETED"}}),
		"a session with no group": CheckComplete(PM, WordComplete, PMState{}, nil),
	} {
		if err == nil {
			t.Errorf("%s counts", name)
		}
	}
}

func TestThePhaseIsTheEarliestStageThatAnOpenGroupIsIn(t *testing.T) {
	phased := PMState{ExecutionPhases: List[ExecutionPhase]{
		{PhaseNumber: 1, GroupIDs: []string{"A", "B"}, Status: WorkInProgress},
		{PhaseNumber: 2, GroupIDs: []string{"C"}, Status: WorkPending},
	}}
	groups := func(a, b, c GroupStatus) Groups {
		return Groups{{ID: "A", Status: a}, {ID: "B", Status: b}, {ID: "C", Status: c}}
	}
	for _, c := range []struct {
		pm     PMState
		groups Groups
		was    Phase
		want   Phase
	}{
		{PMState{}, nil, Initialization, Initialization},
		{PMState{}, nil, PMPlanning, PMPlanning},
		{PMState{}, groups(Pending, Pending, Pending), PMPlanning, DeveloperWorking},
		{PMState{}, groups(QATesting, TechReview, Complete), "", PhaseQATesting},
		{PMState{}, groups(WaitingReview, TechReview, Complete), "", PhaseTechReview},
		{PMState{}, groups(ChangesRequested, TechReview, Complete), PhaseTechReview, DeveloperWorking},
		{PMState{}, groups(Complete, "SKIPPED", Complete), "", DeveloperWorking},
		{PMState{}, groups(Complete, Complete, Complete), PhaseTechReview, PMFinalCheck},
		{phased, groups(WaitingQA, TechReview, Pending), "", PhaseQATesting},
		{phased, groups(Complete, Complete, Pending), PhaseTechReview, PMFinalCheck},
		{PMState{}, groups(Complete, Complete, Complete), Completed, Completed},
	} {
		if got := CurrentPhase(c.pm, c.groups, c.was); got != c.want {
			t.Errorf("%v: %s, want %s", c.groups, got, c.want)
		}
	}
}

func TestProgressCountsGroupsToOneDecimal(t *testing.T) {
	pm := PMState{TaskGroups: TaskGroups{{ID: "A"}, {ID: "B"}, {ID: "C"}}}
	p := Measure(pm, Groups{{ID: "A", Status: Complete}, {ID: "B", Status: Complete}})
	if p.Percentage != 66.7 || !slices.Equal(p.Pending, []string{"C"}) || !slices.Equal(p.Completed, []string{"A", "B"}) {
		t.Errorf("%+v", p)
	}
	if p := Measure(PMState{}, nil); p.Percentage != 0 {
		t.Errorf("no groups: %+v", p)
	}
}

func TestFreeDevelopersAreTheLimitMinusThoseRunning(t *testing.T) {
	var active []ActiveAgent
	for _, want := range []int{4, 3, 2, 1, 0, 0} {
		if got := FreeDevelopers(append(active, ActiveAgent{AgentType: QAExpert})); got != want {
			t.Errorf("%d running: %d free", len(active), got)
		}
		active = append(active, ActiveAgent{AgentType: Developer})
	}
}
