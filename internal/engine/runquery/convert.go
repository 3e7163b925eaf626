package runquery

import (
	"encoding/json"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// RunOf converts the row of a run to the type of package fleet, without its tasks.
func RunOf(run store.Run) fleet.Run {
	return fleet.Run{
		ID: run.ID, Name: run.Name, Status: fleet.Status(run.Status), Project: run.Project, SourceFile: run.SourceFile, StartedBy: run.StartedBy,
		Parallel: run.Parallel, Stopping: run.Stopping, Spent: costOf(run.Spent), Budget: costOf(run.Budget),
		WorkedMS: run.Worked.Milliseconds(), WaitedMS: run.Waited.Milliseconds(), Created: run.Created, Ended: run.Ended, Tasks: []fleet.Task{},
	}
}

func costOf(a store.Amount) fleet.Cost {
	return fleet.Cost{USD: float64(a.MicroUSD) / 1e6, Tokens: a.Tokens}
}

// TaskOf converts the row of a task to the type of package fleet. spec is the decoded t.Spec.
func TaskOf(t store.Task, spec plan.Task) fleet.Task {
	v := fleet.Task{
		Run: t.Run, ID: t.Task, Name: t.Name, Status: fleet.Status(t.Status), Wave: t.Wave, After: t.Needs,
		Agent: spec.Agent, Model: spec.Model, Tries: t.Tries, Retries: t.Retries, Outcome: t.Outcome, RetryAt: t.NotBefore,
		Spent: costOf(t.Spent), Budget: costOf(t.Reserve), WorkedMS: t.Worked.Milliseconds(),
		Branch: spec.Branch, Prompt: spec.Prompt,
	}
	if len(t.Agents) > 0 {
		v.Fallback = t.Agents[1:]
	}
	if v.Candidate = spec.Candidate; spec.Pick != nil && !spec.Pick.IsJudge {
		v.Candidates = spec.Pick.Candidates
	}
	if f := spec.Fork; f != nil {
		v.Fork = &fleet.Fork{Run: f.Run, Task: f.Task, Attempt: f.Attempt, Turn: f.Turn, Copied: f.Thread != ""}
	}
	if spec.Dispatch != nil {
		v.Session = spec.Dispatch.Session
	}
	return v
}

// AttemptOf converts the row of an attempt to the type of package fleet.
func AttemptOf(a store.Attempt) *fleet.Attempt {
	v := &fleet.Attempt{
		ID: a.ID, Number: a.Number, Status: fleet.Status(a.Status), Worker: a.Worker, Class: string(a.Class), Summary: a.Summary,
		Exit: a.Exit, Process: a.Process, Started: a.Started, Ended: a.Ended, Spent: costOf(a.Spent), Context: a.Context, Activity: a.Activity,
		WaitedMS: a.Waited.Milliseconds(), WaitingSince: a.WaitingSince, Denied: a.Denied, Account: a.Account, Fallback: a.Fallback,
	}
	if !a.Ended.IsZero() {
		worked, _ := v.Times(a.Ended)
		v.WorkedMS = worked.Milliseconds()
	}
	if len(a.Checks) > 0 {
		_ = json.Unmarshal(a.Checks, &v.Checks) // the worker has encoded the checks, so this cannot fail
	}
	v.Diff = diffOf(a.Diff)
	return v
}

// diffOf decodes the diff that a worker has reported. It returns nil if text is empty or cannot be
// decoded. The list Files in the result has at most fleet.MostFiles files. It is never nil, so that
// its JSON is [] and not null.
func diffOf(text json.RawMessage) *fleet.Diff {
	d := &fleet.Diff{}
	if len(text) == 0 || json.Unmarshal(text, d) != nil {
		return nil
	}
	d.Files = append([]fleet.FileDiff{}, d.Files[:min(len(d.Files), fleet.MostFiles)]...)
	d.Changed = max(d.Changed, len(d.Files))
	return d
}

// QuestionOf converts the row of a question to the type of package fleet.
func QuestionOf(q store.Question) fleet.Question {
	v := fleet.Question{ID: q.ID, Name: fleet.QuestionName(q.Run, q.Task), Run: q.Run, Task: q.Task, Text: q.Text, Asked: q.Asked, Expires: q.Expires, Default: q.Default, Tool: q.Tool, Suggestions: q.Suggestions}
	if len(q.Options) > 0 {
		_ = json.Unmarshal(q.Options, &v.Options) // the engine has encoded the options, so this cannot fail
	}
	return v
}

// AnsweredOf returns the answer to a question. While the question is open, Closed is false and the
// answer is empty.
func AnsweredOf(q store.Question) fleet.Answered {
	return fleet.Answered{Closed: q.Closed, Answer: q.Answer, Denied: q.Denied, By: q.By}
}
