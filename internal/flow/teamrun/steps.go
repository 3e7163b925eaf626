package teamrun

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/flow/teammerge"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
)

// MergeAgent is the agent name in tasks that merge a branch. The agent is not a language model, but
// gaffer itself. Its prompt is a [teammerge.Spec] as JSON.
const MergeAgent = "gaffer-team-merge"

// MergeCommand is the command-line argument that makes gaffer act as [MergeAgent].
const MergeCommand = "team-merge"

// Plan returns the plan with which a team's run starts. It contains the parameters of the team's
// session and a task for each of the session's first steps.
func Plan(s teamstate.Start, roles Roles, at time.Time) (plan.Plan, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Name: "Team " + s.Session, Source: plan.SourceOrchestrate, OnFailure: plan.Continue, Team: text}
	session := teamstate.New(s, at)
	for _, step := range session.Next() {
		task, err := roleTask(session, step, nil, s, roles)
		if err != nil {
			return plan.Plan{}, err
		}
		p.Tasks = append(p.Tasks, task)
	}
	return p, nil
}

// extend adds a task for each of the steps to the run. It does nothing if the run was stopped in
// the meantime.
func (c *Conductor) extend(ctx context.Context, steps []teamstate.Step) error {
	x := engine.Extension{Run: c.opts.Run.ID, Key: c.opts.Run.ID}
	for _, step := range steps {
		task, err := c.task(step)
		if err != nil {
			return fmt.Errorf("step %s: %w", step.ID, err)
		}
		x.Tasks = append(x.Tasks, task)
		x.Key += " " + step.ID
	}
	return ignoreConflict(c.opts.Engine.Extend(ctx, x))
}

func (c *Conductor) task(step teamstate.Step) (plan.Task, error) {
	if step.Role == "" {
		return c.mergeTask(step)
	}
	return roleTask(c.session, step, c.changes, c.start, c.opts.Roles)
}

// roleTask returns the task that starts an agent for a step of the team's session. If the step
// belongs to a group of tasks, the agent works on the group's branch. Otherwise the agent is a
// project manager, and gets a branch and a worktree for this step alone. A new branch usually
// starts at the session's branch, which has everything that was merged so far. But if another
// program started the session and created a branch for the group, the group's new branch starts at
// that branch.
func roleTask(s *teamstate.Session, step teamstate.Step, changes teamstate.Changes, start teamstate.Start, roles Roles) (plan.Task, error) {
	t, err := roles.Task(s.Brief(step, changes))
	if err != nil {
		return t, err
	}
	t.SharedWorktree, t.Branch, t.Base = step.ID, s.Branch(step.ID), start.Branch
	t.Questions = cmp.Or(plan.QuestionPolicy(start.Questions), t.Questions)
	if step.Group != "" {
		t.SharedWorktree, t.Branch = step.Group, s.Branch(step.Group)
	}
	if start.Found != nil && start.Found.Bases[step.Group] != "" {
		t.Base = start.Found.Bases[step.Group]
	}
	t.Sandbox.Mode = plan.SandboxMode(start.Sandbox)
	t.KeepMessage = true
	t.Step, err = json.Marshal(step)
	return t, err
}

// mergeTries is how many times the engine repeats a merge that has ended with an error.
const mergeTries = 2

func (c *Conductor) mergeTask(step teamstate.Step) (plan.Task, error) {
	spec := teammerge.Spec{Run: c.opts.Run.ID, Scratch: c.opts.Trees.Scratch()}
	name := "Merge group " + step.Group
	if step.Purpose == teamstate.Deliver {
		name = "Merge into " + c.start.Into
		spec.Branch, spec.Into, spec.Deliver = c.start.Branch, c.start.Into, true
	} else {
		spec.Tree, spec.Branch, spec.Into, spec.Tests = step.Group, c.session.Branch(step.Group), c.start.Branch, c.start.Tests
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return plan.Task{}, err
	}
	t := plan.Task{ID: step.ID, Name: name, Agent: MergeAgent, Prompt: string(text), QuestionRules: plan.QuestionRules{Questions: plan.Deny}, Limits: plan.Limits{Retries: mergeTries}, KeepMessage: true}
	// Set a time limit, because a test that hangs would block all later merges.
	t.Timeout = cmp.Or(c.start.TestsTimeout, teamstate.DefaultTestsTimeout)
	t.Step, err = json.Marshal(step)
	return t, err
}
