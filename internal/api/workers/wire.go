package workers

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// rowAfterBeat returns the database row of a worker after a heartbeat. row is the row before the
// heartbeat; its owner stays the same. current is the id of the worker's current task, in the form
// RUN.TASK, or empty if the worker has none.
func rowAfterBeat(by credential.Identity, b coordinator.WorkBeat, row store.Worker, current string) store.Worker {
	w := b.Worker
	meta, err := json.Marshal(fleet.WorkerMeta{
		Program: "gaffer", Host: w.Host, Slots: w.Slots, Labels: w.Labels, Agents: w.Agents, Pools: by.Pools, Version: w.Version, Source: sourceOf(b.Held), Held: len(b.Held), Programs: w.Programs,
	})
	if err != nil {
		panic("workers: texts and numbers without JSON: " + err.Error())
	}
	return store.Worker{
		ID: w.ID, Name: w.Name, Labels: strings.Join(w.Labels, ","), Slots: w.Slots, Version: w.Version, Owner: row.Owner, OwnerName: row.OwnerName,
		Status: statusOf(b.Held), Task: current, Meta: meta,
	}
}

// sourceOf returns how the worker learned what its agents do, such as "output" if it reads their
// output. It returns the first source that the heartbeat names, or "worker" if it names none.
func sourceOf(held []coordinator.HeldWork) string {
	for _, h := range held {
		if h.Now.Source != "" {
			return h.Now.Source
		}
	}
	return "worker"
}

// statusOf returns the status of a worker in the coordinator protocol: idle if it runs no agents,
// waiting if any of its agents waits for the user, and running otherwise.
func statusOf(held []coordinator.HeldWork) string {
	status := coordinator.Idle
	for _, h := range held {
		if len(h.Asking) > 0 || h.Now.State == coordinator.Waiting {
			return coordinator.Waiting
		}
		status = coordinator.Running
	}
	return status
}

// heldOf converts an attempt in a heartbeat to the engine's type. It drops the ids of questions
// that do not belong to this attempt.
func heldOf(h coordinator.HeldWork, now time.Time) engine.HeldAttempt {
	held := engine.HeldAttempt{Attempt: h.Attempt, Token: h.Token, Dropped: h.Dropped, Delivered: h.Delivered, Now: progressOf(h.Now.Progress)}
	held.Now.Said = now.Add(-duration(h.Now.AgeMS))
	for _, question := range h.Asking {
		if strings.HasPrefix(question, h.Attempt+"-") {
			held.Asking = append(held.Asking, question)
		}
	}
	return held
}

// progressOf returns p without the values of Said and LogFrom, which a worker must not set, and
// with invalid costs and numbers of tokens corrected.
func progressOf(p fleet.Progress) fleet.Progress {
	p.Said, p.LogFrom, p.Spent = time.Time{}, 0, amount(p.Spent)
	p.Context = fleet.Context{Tokens: max(p.Context.Tokens, 0), Window: max(p.Context.Window, 0)}
	return p
}

// maxSpent is the largest cost or number of tokens that is accepted. Even the sum of thousands of
// them does not overflow an int64.
const maxSpent = 1e15

// amount limits each number of a to the range from 0 to maxSpent, because a worker may report wrong
// values. It also limits the number of cached tokens to the number of input tokens.
func amount(a coordinator.Amount) store.Amount {
	bound := func(n int64) int64 { return min(max(n, 0), maxSpent) }
	return store.Amount{
		MicroUSD: bound(a.MicroUSD), Tokens: bound(a.Tokens),
		Input: bound(a.Input), Output: bound(a.Output), Cached: min(bound(a.Cached), bound(a.Input)),
	}
}

// maxDuration is the maximum of the durations in a worker's message. A longer duration is reduced
// to maxDuration.
const maxDuration = 10 * 365 * 24 * time.Hour

func duration(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), maxDuration.Milliseconds())) * time.Millisecond
}

// millisUntil returns the milliseconds until t, or 1 if t has passed. It returns 0 if t is zero.
func millisUntil(t, now time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return max(t.Sub(now).Milliseconds(), 1)
}

func wireOrder(o engine.Order) coordinator.WorkOrder {
	w := coordinator.WorkOrder{Attempt: o.Attempt, Stop: o.Stop, Gone: o.Gone, Waits: o.Waits, LeaseMS: o.Lease.Milliseconds(), Messages: o.Messages, Interrupt: o.Interrupt, Limit: o.Limit}
	for _, q := range o.Answers {
		w.Answers = append(w.Answers, coordinator.WorkAnswer{ID: q.ID, Answer: q.Answer, Denied: q.Denied, Rule: q.Rule})
	}
	return w
}

func wireOutcome(o engine.FinishResult, now time.Time) coordinator.WorkOutcome {
	return coordinator.WorkOutcome{Status: string(o.Status), RetryInMS: millisUntil(o.RetryAt, now), Fresh: o.NewConversation}
}

func finishOf(f coordinator.WorkFinish, now time.Time) engine.Finish {
	finish := engine.Finish{Attempt: f.Attempt, Token: f.Token, Progress: progressOf(f.Progress), Ending: f.Ending, Delivered: f.Delivered}
	if f.ResetInMS > 0 {
		finish.Reset = now.Add(duration(f.ResetInMS))
	}
	return finish
}

func askOf(q coordinator.WorkQuestion) engine.Ask {
	return engine.Ask{
		Attempt: q.Attempt, Token: q.Token, Ref: q.Ref, Text: q.Text, Options: q.Options, Within: duration(q.WithinMS), Default: q.Default,
		Tool: q.Tool, Input: q.Input, Suggestions: q.Suggestions, Dir: q.Dir,
	}
}

// workOf converts an attempt into the message that tells its worker what to run.
func workOf(r *engine.Tx, a store.Attempt, now time.Time) (*coordinator.Work, error) {
	t, err := r.Task(a.Key())
	if err != nil {
		return nil, protocol.NotFound(err, "task", a.Task)
	}
	run, err := r.Run(a.Run)
	if err != nil {
		return nil, protocol.NotFound(err, "run", a.Run)
	}
	w := &coordinator.Work{
		Attempt: coordinator.WorkAttempt{
			ID: a.ID, Number: a.Number, Token: a.Token, DeadlineInMS: millisUntil(a.Deadline, now), Carried: a.SpentEarlier, Limit: a.Limit, Stop: a.StopReason, Account: a.Account, Fallback: a.Fallback,
		},
		Task:    coordinator.WorkTask{Task: t.Task, Name: t.Name, Spec: t.Spec, Fresh: t.NewConversation, Tries: t.Tries, SentBack: t.SentBack},
		LeaseMS: engine.Remaining(a, now).Milliseconds(),
	}
	if w.Messages, w.Earlier, err = r.Messages(t); err != nil {
		return nil, err
	}
	if w.Grants, err = r.Grants(t.TaskKey); err != nil {
		return nil, err
	}
	if w.Run, err = runOf(run); err != nil || t.LastAttempt == "" {
		return w, err
	}
	before, err := r.Attempt(t.LastAttempt)
	if err != nil {
		return nil, protocol.NotFound(err, "attempt", t.LastAttempt)
	}
	w.Before = &coordinator.WorkBefore{
		ID: before.ID, Number: before.Number, Worker: before.Worker, Class: before.Class, Summary: before.Summary, Thread: before.Thread,
		Account: before.Account, Fallback: before.Fallback,
	}
	// If another agent worked on the previous attempt, the new agent needs to know what that agent
	// has changed.
	if before.Fallback != a.Fallback {
		w.Before.Diff = before.Diff
	}
	return w, nil
}

// runOf returns what a worker needs to know about a run. It decodes the run's plan only if the run
// is limited to one worker, because only the plan of such a run can contain a workflow.
func runOf(run store.Run) (coordinator.WorkRun, error) {
	w := coordinator.WorkRun{ID: run.ID, Name: run.Name, Project: run.Project, Base: run.Base, Place: run.OnlyWorker}
	if run.OnlyWorker == "" {
		return w, nil
	}
	p, err := plan.DecodeHeader(run.Plan)
	if err == nil && p.Workflow != nil {
		w.Workflow, err = json.Marshal(p.Workflow)
	}
	if err != nil {
		return w, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return w, nil
}
