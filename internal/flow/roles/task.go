package roles

import (
	"cmp"

	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// Task returns a task for gaffer's engine. The task starts the agent for the step that the brief b
// describes. The caller must set the task's branch and worktree.
func (s Set) Task(b teamstate.Brief) (plan.Task, error) {
	text, err := s.Prompt(b)
	if err != nil {
		return plan.Task{}, err
	}
	u, _ := useFor(b.Step.Purpose)
	r := s.roles[u.role]
	if b.Escalated {
		r.Model = cmp.Or(r.Stronger, r.Model)
	}
	return plan.Task{
		ID: b.Step.ID, Name: title(b, u), Prompt: text,
		Agent: r.Agent, Model: r.Model, Labels: r.Labels,
		Limits:        plan.Limits{Timeout: r.Timeout, StallTimeout: r.StallTimeout, Retries: r.Retries},
		QuestionRules: plan.QuestionRules{Questions: plan.QuestionPolicy(r.Questions)},
		Permissions:   s.rules,
		Env:           map[string]secret.Value{roleVar: secret.Text(string(u.role))},
	}, nil
}

// roleVar is the environment variable from which tools of the agent, such as 'gaffer
// mcp', learn the agent's role.
const roleVar = "GAFFER_ROLE"

// title returns the name under which users see the task, such as "JWT Authentication System: work".
func title(b teamstate.Brief, u templateUse) string {
	name := oneLine(b.Group.Name)
	if name == "" {
		name = oneLine(b.Step.Group)
	}
	if name == "" {
		return string(u.purpose)
	}
	return name + ": " + string(u.purpose)
}
