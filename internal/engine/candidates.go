package engine

import (
	"cmp"
	"encoding/json"
	"fmt"

	"gaffer/fleet"
	"gaffer/internal/engine/selection"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// compareCandidates prepares a task that picks or judges candidates, which are tasks that have all
// tried to do the same work. It writes the results of the candidates into the prompt of t. It does
// nothing for other tasks. The prompt is stored when the attempt starts, so that every process that
// continues the attempt sees the same results.
func (c *claims) compareCandidates(t *store.Task) error {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil || spec.Pick == nil {
		return err
	}
	var list []fleet.Candidate
	for _, id := range spec.Pick.Candidates {
		one, err := c.candidateResult(store.TaskKey{Run: t.Run, Task: id})
		if err != nil {
			return fmt.Errorf("candidate %s: %w", id, err)
		}
		list = append(list, one)
	}
	if spec.Pick.IsJudge {
		spec.Prompt = selection.JudgePrompt(*spec.Pick, list)
	} else {
		step := selection.PickInput{Run: t.Run, Task: t.Task, By: spec.Pick.By, Candidates: list}
		if t.LastAttempt != "" {
			a, err := c.attempt(t.LastAttempt)
			if err != nil {
				return err
			}
			if a.Status == store.Complete {
				step.Picked, _ = fleet.PickedIn(cmp.Or(a.Answer, a.Summary))
			}
		}
		if spec.Pick.JudgeTask != "" {
			judge, err := c.task(store.TaskKey{Run: t.Run, Task: spec.Pick.JudgeTask})
			if err != nil {
				return err
			}
			if judge.Status == store.Complete {
				a, err := c.attempt(judge.LastAttempt)
				if err != nil {
					return err
				}
				step.Verdict = a.Answer
			}
		}
		text, err := json.Marshal(step)
		if err != nil {
			return err
		}
		spec.Prompt = string(text)
	}
	t.Spec, err = plan.EncodeTask(spec)
	return err
}

// candidateResult returns the result of a candidate's last attempt, and the total cost and working
// time of all its attempts.
func (c *claims) candidateResult(key store.TaskKey) (fleet.Candidate, error) {
	t, err := c.task(key)
	if err != nil {
		return fleet.Candidate{}, err
	}
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return fleet.Candidate{}, err
	}
	one := fleet.Candidate{Task: t.Task, Agent: AgentOf(spec), Model: spec.Model, Status: fleet.Status(t.Status), Outcome: t.Outcome, Branch: spec.Branch}
	if t.LastAttempt == "" {
		return one, nil
	}
	a, err := c.attempt(t.LastAttempt)
	if err != nil {
		return one, err
	}
	spent := cmp.Or(t.Spent, a.Spent) // if an older gaffer stored no sum, use the cost of the last attempt
	one.Summary, one.Spent = a.Summary, fleet.Cost{USD: float64(spent.MicroUSD) / 1e6, Tokens: spent.Tokens}
	one.WorkedMS = max(t.Worked, a.Ended.Sub(a.Started)-a.Waited, 0).Milliseconds()
	var checks []fleet.Check
	if len(a.Checks) > 0 {
		_ = json.Unmarshal(a.Checks, &checks) // the worker has encoded the checks, so this cannot fail
	}
	one.Count(checks)
	if len(a.Diff) > 0 {
		var d fleet.Diff
		_ = json.Unmarshal(a.Diff, &d) // the worker has encoded the diff, so this cannot fail
		one.Files, one.Added, one.Removed = d.Changed, d.Added, d.Removed
	}
	return one, nil
}

// pickTaskError returns the error for a user's comment or message to a task that picks one of
// several candidate tasks. The pick task has no agent that could receive the message. If it has
// picked a candidate, the error tells the user to send the message to the candidate.
func (c *txContext) pickTaskError(t store.Task) error {
	id := ""
	if t.LastAttempt != "" {
		a, err := c.attempt(t.LastAttempt)
		if err != nil {
			return err
		}
		id, _ = fleet.PickedIn(cmp.Or(a.Answer, a.Summary))
	}
	if id == "" {
		return &ConflictError{"task " + t.Task, "picks one of its candidates and has no agent; comments and messages go to a candidate"}
	}
	return &ConflictError{"task " + t.Task, fmt.Sprintf("has picked the work of another agent; comments and messages go to that one: 'gaffer review %s/%s', and 'gaffer retry %s/%s' takes its newer work", t.Run, id, t.Run, t.Task)}
}
