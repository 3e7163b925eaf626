package teamrun

import (
	"testing"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
)

type noTrees struct{ Trees }

func (noTrees) Scratch() string { return "/nowhere" }

func TestAMergeHasATimeout(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: teamstate.DefaultTestsTimeout, time.Hour: time.Hour} {
		start := teamstate.Start{
			Session: "v4_x", Requirements: "do it", Branch: "gaffer/v4_x/team", Into: "main",
			Tests: []string{"sleep infinity"}, TestsTimeout: set,
		}
		c := &Conductor{opts: Options{Run: store.Run{ID: "r"}, Trees: noTrees{}}, start: start, session: teamstate.New(start, time.Now())}
		for _, step := range []teamstate.Step{
			{ID: "A-merge-1", Group: "A", Purpose: teamstate.Merge}, {ID: "deliver-1", Purpose: teamstate.Deliver},
		} {
			if task, err := c.mergeTask(step); err != nil || task.Timeout != want {
				t.Errorf("%s may take %s, %v; want %s", step.ID, task.Timeout, err, want)
			}
		}
	}
}

type askingRoles struct{}

func (askingRoles) Task(b teamstate.Brief) (plan.Task, error) {
	return plan.Task{ID: b.Step.ID, QuestionRules: plan.QuestionRules{Questions: plan.Ask}}, nil
}

func TestThePolicyForQuestionsHoldsForAllRolesAndIsKept(t *testing.T) {
	for set, want := range map[string]plan.QuestionPolicy{"": plan.Ask, "rules": plan.Rules} {
		p, err := Plan(teamstate.Start{Session: "v4_x", Requirements: "do it", Branch: "gaffer/v4_x/team", Questions: set}, askingRoles{}, time.Now())
		if err != nil || len(p.Tasks) != 1 || p.Tasks[0].Questions != want {
			t.Errorf("%q: %+v, %v", set, p.Tasks, err)
		}
		text, err := plan.Encode(p)
		if err != nil {
			t.Fatal(err)
		}
		// What continues the team later reads the start from the stored run.
		if start, err := StartOf(store.Run{ID: "r", Plan: text}); err != nil || start.Questions != set {
			t.Errorf("%q: %+v, %v", set, start, err)
		}
	}
}

type oneRole struct{}

func (oneRole) Task(b teamstate.Brief) (plan.Task, error) { return plan.Task{ID: b.Step.ID}, nil }

// Another process may continue the run, without the flag of the user who has started it.
func TestEveryAgentOfATeamHasTheSandboxThatTheTeamWasStartedWith(t *testing.T) {
	start := teamstate.Start{Session: "v4_x", Requirements: "do it", Branch: "gaffer/v4_x/team", Sandbox: "bubblewrap"}
	c := &Conductor{opts: Options{Run: store.Run{ID: "r"}, Trees: noTrees{}, Roles: oneRole{}}, start: start, session: teamstate.New(start, time.Now())}
	task, err := c.task(teamstate.Step{ID: "pm-1", Role: "pm", Purpose: "plan"})
	if err != nil || task.Sandbox.Mode != plan.SandboxBubblewrap {
		t.Errorf("found %+v, %v", task.Sandbox, err)
	}
	if task, err := c.task(teamstate.Step{ID: "deliver-1", Purpose: teamstate.Deliver}); err != nil || task.Sandbox.Mode != "" {
		t.Errorf("a merge has the sandbox %+v, %v", task.Sandbox, err)
	}
}
