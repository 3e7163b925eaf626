package team

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// groupsOf creates groups from lines such as "B: A", which means that B depends on A.
func groupsOf(lines ...string) []TaskGroup {
	var groups []TaskGroup
	for _, line := range lines {
		id, needs, _ := strings.Cut(line, ":")
		groups = append(groups, TaskGroup{ID: id, DependsOn: strings.Fields(needs)})
	}
	return groups
}

func phasesOf(lines ...string) []ExecutionPhase {
	var phases []ExecutionPhase
	for i, line := range lines {
		phases = append(phases, ExecutionPhase{PhaseNumber: i + 1, GroupIDs: strings.Fields(line)})
	}
	return phases
}

func TestInvalidPlansAreRefused(t *testing.T) {
	s := begin(t)
	five := groupsOf("1", "2", "3", "4", "5")
	for want, p := range map[string]Plan{
		"mode":                        {Groups: five[:1]},
		"no groups":                   {Mode: Simple},
		"one group":                   {Mode: Simple, Groups: five[:2]},
		"need phases":                 {Mode: Parallel, Groups: five},
		"is listed twice":             {Mode: Parallel, Groups: groupsOf("1", "1")},
		"not another group":           {Mode: Parallel, Groups: groupsOf("1: 9")},
		"\"1\", which is not another": {Mode: Parallel, Groups: groupsOf("1: 1")},
		"more than 4":                 {Mode: Parallel, Groups: five, Phases: phasesOf("1 2 3 4 5")},
		"not planned":                 {Mode: Parallel, Groups: five, Phases: phasesOf("9")},
		"cycle: B → C → D → B":        {Mode: Parallel, Groups: groupsOf("A: B", "B: C", "C: D", "D: B")},
		"cycle: A → B → A":            {Mode: Parallel, Groups: groupsOf("A: B", "B: A"), Phases: phasesOf("A", "B")},
		"1 is in two phases":          {Mode: Parallel, Groups: five[:2], Phases: phasesOf("1", "2 1")},
		"2 is in two phases, or":      {Mode: Parallel, Groups: five[:2], Phases: phasesOf("1", "2 2")},
		"2 is in no phase":            {Mode: Parallel, Groups: five[:2], Phases: phasesOf("1")},
		"phase 2 has no groups":       {Mode: Parallel, Groups: five[:1], Phases: phasesOf("1", "")},
		"phase 3 is listed twice":     {Mode: Parallel, Groups: five[:2], Phases: []ExecutionPhase{{3, List[string]{"1"}, 1, ""}, {3, List[string]{"2"}, 1, ""}}},
		"1 depends on 2, which is in": {Mode: Parallel, Groups: groupsOf("1: 2", "2"), Phases: phasesOf("1", "2")},
	} {
		var bad *BadPlanError
		if err := s.Plan(ctx, p); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestValidPlansAreAccepted(t *testing.T) {
	for _, p := range []Plan{
		{Mode: Simple, Groups: groupsOf("main")},
		{Mode: Parallel, Groups: groupsOf("A", "B: A", "C: A B", "D: B C")},
		{Mode: Parallel, Groups: groupsOf("C: A", "A", "B"), Phases: phasesOf("A B", "C")},
		{Mode: Parallel, Groups: groupsOf("A", "B: A"), Phases: phasesOf("B A")},
		{Mode: Parallel, Groups: groupsOf("A", "B"), Phases: []ExecutionPhase{{GroupIDs: List[string]{"A"}}, {GroupIDs: List[string]{"B"}}}},
	} {
		if err := p.Check(); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func TestALongChainOfGroupsIsCheckedInTime(t *testing.T) {
	var lines []string
	for i := range 20_000 {
		lines = append(lines, fmt.Sprintf("%d: %d", i, i+1))
	}
	p := Plan{Mode: Parallel, Groups: groupsOf(append(lines, "20000")...)}
	if circle := p.cycle(); circle != nil {
		t.Error(circle)
	}
}
