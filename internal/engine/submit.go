package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Submission is a request to run a plan.
type Submission struct {
	Plan plan.Plan
	Who  string
	Key  string // idempotency key: a second submission with the same key returns the same run

	ID string // id of the run; the engine chooses one if empty
	// Project is the path of the folder in which the run works. It is empty if the run is not bound
	// to a folder on one machine.
	Project string
	Base    string // id of the commit that the run's worktrees start from
	// OnlyWorker is the name or id of the only worker that may claim the run's tasks. If it is
	// empty, any worker that has the labels of a task may claim the task.
	OnlyWorker string
	// StartedBy says what started the run, such as "schedule nightly". It is empty if the user
	// started the run.
	StartedBy string

	// Conducted marks a run with a conductor: a program that adds tasks with [Engine.Extend] and
	// ends the run with [Engine.Conclude].
	Conducted bool
	// Ordered marks a run whose tasks run one after the other, highest priority first. A task that
	// must be retried is queued without a delay.
	Ordered bool
}

// Submit stores a run and its tasks, and returns the run's id. Tasks that need not wait become
// ready, so that workers can claim them. If a bead of the plan (a work item of the ledger protocol)
// already has an unfinished task, Submit returns a [*BeadHeldError].
//
// A task may be made from an item, such as an issue of an issue tracker. If an item may not get a
// new task, because it already has a task in another run, Submit leaves out the new task (see
// [WithoutItems]). If no task is left, Submit returns an [*ItemsHeldError].
func (e *Engine) Submit(ctx context.Context, s Submission) (string, error) {
	for {
		id, err := e.submit(ctx, s)
		held := (*ItemsHeldError)(nil)
		if !errors.As(err, &held) {
			return id, err
		}
		if s.Plan = WithoutItems(s.Plan, held.Items); len(s.Plan.Tasks) == 0 {
			return "", err
		}
	}
}

// submit stores a run with all tasks of the plan. If a task was made from an item, such as an
// issue, that may not get a new task (see [Engine.Submit]), submit returns an [*ItemsHeldError].
func (e *Engine) submit(ctx context.Context, s Submission) (id string, err error) {
	text, err := planText(s)
	if err != nil {
		return "", err
	}
	err = e.write(ctx, s.Who, func(tx *transaction) error {
		id, err = once(tx.txContext, "submit", s.Key, func() (string, error) { return tx.submissions.submit(s, text) })
		return err
	})
	return id, err
}

func planText(s Submission) (json.RawMessage, error) {
	text, err := plan.Encode(s.Plan)
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	return text, nil
}

// submissions stores new runs, and adds tasks to runs that have a conductor (see
// [Submission.Conducted]).
type submissions struct {
	*txContext
	states *taskStates
	beads  *beads
	items  *items
}

func (s *submissions) submit(sent Submission, text json.RawMessage) (string, error) {
	p := sent.Plan
	run := store.Run{
		ID: cmp.Or(sent.ID, s.opts.NewID()), Project: sent.Project, Base: sent.Base, OnlyWorker: sent.OnlyWorker, Name: p.Name, Status: store.Running, Source: p.Source, SourceFile: p.SourceFile,
		Plan: text, Conducted: sent.Conducted, Ordered: sent.Ordered, Parallel: p.Parallel, OnFail: onFail[p.OnFailure], Budget: AmountOf(p.Budget), StartedBy: sent.StartedBy, Created: s.now,
	}
	if _, err := s.Run(run.ID); !errors.Is(err, store.ErrNotFound) {
		return "", cmp.Or[error](err, &ConflictError{"run " + run.ID, "is there already"})
	}
	if held, err := HeldItems(s, p.Tasks); err != nil || len(held) > 0 {
		return "", cmp.Or[error](err, &ItemsHeldError{held})
	}
	if sent.Ordered {
		run.Parallel = 1
	}
	s.PutRun(run)
	if err := s.event(store.Event{Kind: "run.running", Run: run.ID, To: string(store.Running)}, run); err != nil {
		return "", err
	}
	if err := s.addAll(run, p.Tasks); err != nil {
		return "", err
	}
	return run.ID, s.states.endRunIfDone(run.ID)
}

func (s *submissions) addAll(run store.Run, tasks []plan.Task) error {
	for _, task := range tasks {
		if err := s.add(run, task); err != nil {
			return err
		}
	}
	return s.states.makeTasksReady(run.ID)
}

func (s *submissions) add(run store.Run, task plan.Task) (err error) {
	if task.Dispatch != nil {
		if task.Dispatch, err = s.beads.take(store.TaskKey{Run: run.ID, Task: task.ID}, *task.Dispatch); err != nil {
			return err
		}
	}
	if err := s.items.take(run.ID, task); err != nil {
		return err
	}
	spec, err := plan.EncodeTask(task)
	if err != nil {
		return fmt.Errorf("task %s: %w", task.ID, err)
	}
	needs := unique(task.After)
	t := store.Task{
		TaskKey: store.TaskKey{Run: run.ID, Task: task.ID}, Seq: s.NextSeq(), Name: task.Name, Spec: spec, Wave: task.Wave,
		Needs: needs, Blockers: len(needs), Priority: task.Priority, Labels: labelsOf(task, run.OnlyWorker),
		AnyNeed: task.Pick != nil, Optional: task.Candidate != "",
		Account: AgentOf(task), Agents: agentsOf(task), Retries: task.Retries, Reserve: AmountOf(task.Budget), Timeout: task.Timeout,
	}
	if len(t.Agents) > 0 {
		t.Account = chainName(t.Agents)
		if err := s.rememberChain(t.Agents); err != nil {
			return err
		}
	}
	return s.states.setStatus(&t, store.Queued, "")
}

// agentsOf returns the agents that may work on a task: first the task's own agent, then its
// fallbacks. It returns nil if the task can use no fallback.
func agentsOf(task plan.Task) []string {
	own := AgentOf(task)
	others := slices.DeleteFunc(slices.Clone(task.Fallback), func(name string) bool { return name == own })
	// These tasks use no fallbacks: a task that runs a command, because it has no agent; candidates
	// (alternative tasks that do the same work), because each keeps its own agent; and the task
	// that picks or judges the candidates.
	if len(others) == 0 || len(task.Argv) > 0 || task.Pick != nil || task.Candidate != "" {
		return nil
	}
	return append([]string{own}, others...)
}

// labelsOf returns the labels that a worker must have to claim a task, as one string. If onlyWorker
// is not empty, one of them is the label of that worker (see [WorkerLabel]).
func labelsOf(task plan.Task, onlyWorker string) string {
	labels := slices.Clone(task.Labels)
	if onlyWorker != "" {
		labels = append(labels, WorkerLabel(onlyWorker))
	}
	return joinLabels(labels)
}

// unique returns the list without duplicates, in the same order.
func unique(list []string) (all []string) {
	for _, one := range list {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// WorkerLabel returns the label that only the worker with the given name or id has, for example
// "@build-1". Labels in plans cannot begin with @.
func WorkerLabel(worker string) string { return "@" + worker }

var onFail = map[plan.OnFailure]store.OnFail{plan.Stop: store.StopOnFail, plan.StopNow: store.EndOnFail}
