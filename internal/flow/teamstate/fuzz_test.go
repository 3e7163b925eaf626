package teamstate

import (
	"strings"
	"testing"
	"time"

	"gaffer/team"
)

// FuzzPlan parses arbitrary text as the project manager's answer. If the plan is accepted, the
// session must be able to complete it.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{
		simplePlan, threeGroups, oneGroup, splitA, goOn, "", "**Status:** PLANNED",
		`{"status":"PLANNED","mode":"parallel","groups":[{"id":"team","tasks":[{"id":"T"}]},{"id":"team-group","tasks":[{"id":"U"}],"depends_on":["team"]}],
			"phases":[{"phase":2,"groups":["team-group"]},{"phase":1,"groups":["team"]}],"out_of_scope":[{"requirement":"R1","reason":"x"}]}`,
		`{"status":"PLANNED","mode":"simple","tasks":[{"id":"T1","group_id":"G"}],"groups":[{"id":"G","tasks":["T1","T1"],"complexity":7}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		p := newPlay(t, Start{Requirements: "- one\n- two"}, script{"pm-1": answer, "pm-2": answer})
		o := p.run()
		if p.session.manager.proposed != nil {
			p.session.Resume(p.now)
			o = p.run()
		}
		if !o.Completed {
			if len(p.session.groups.list) > 0 {
				t.Fatalf("a plan of %d groups ended with %+v", len(p.session.groups.list), o)
			}
			return
		}
		branches := map[string]bool{p.session.start.Branch: true}
		for _, g := range p.session.groups.list {
			if branches[p.session.Branch(g.id)] || strings.ContainsAny(g.id, "/\\ ~^:?*[\x7f") {
				t.Errorf("group %q has branch %q", g.id, p.session.Branch(g.id))
			}
			branches[p.session.Branch(g.id)] = true
		}
		p.follows(strings.Join(p.trace, " "))
	})
}

// FuzzSplit parses arbitrary text as a split of a group and as additional groups.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{splitA, goOn, complete, strings.Replace(splitA, "PLANNED", "CONTINUE", 1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		p := newPlay(t, Start{}, script{"pm-1": threeGroups, "pm-2": answer, "pm-3": answer})
		if o := p.run(); !o.Completed && !strings.Contains(o.Problem, "no answer that can be used") {
			t.Fatalf("%+v after %v", o, p.trace)
		}
		s := New(Start{Branch: "gaffer/x/team"}, noon)
		s.groups.adopt(plan{
			mode: team.Parallel, tasks: []team.Task{{ID: "T1", GroupID: "A"}, {ID: "T2", GroupID: "A"}},
			groups: []team.TaskGroup{{ID: "A", Tasks: []string{"T1", "T2"}}}, phases: []phase{{groups: []string{"A"}, opened: true}},
		}, noon)
		said, err := parseAnswer(Split, answer)
		if err != nil || said.Status != team.WordPlanned {
			return
		}
		if err := s.manager.helped(s.groups.find("A"), said, noon.Add(time.Second)); err == nil && (s.groups.plan.check() != nil || len(s.groups.plan.tasks) < 2) {
			t.Errorf("%+v: %v", s.groups.plan, s.groups.plan.check())
		}
	})
}
