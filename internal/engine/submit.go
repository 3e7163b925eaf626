package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Submission is a plan to run.
type Submission struct {
	Plan plan.Plan
	Who  string
	Key  string // repeating the key returns the same run

	ID      string // id of the run; the engine chooses one if empty
	Project string // the folder that the run works in, if it is bound to a machine
	Base    string // the commit that its worktrees start from
	Place   string // the only worker that may take its tasks; empty allows any

	// Conducted marks a run to which its conductor adds tasks with [Engine.Extend],
	// until it calls [Engine.Conclude].
	Conducted bool
	// Ordered marks a run whose tasks are done one after the other, highest priority
	// first. A task that must be tried again goes before the others.
	Ordered bool
}

// Submit stores a run and its tasks, and makes the tasks ready that wait for nothing.
// It returns the run's id. It returns a [*HeldError] if another task holds a bead of
// the plan.
func (e *Engine) Submit(ctx context.Context, s Submission) (id string, err error) {
	text, err := planText(s)
	if err != nil {
		return "", err
	}
	need := store.Need{Promises: append(promiseNeed("submit", s.Key), beads(s.Plan)...)}
	err = e.write(ctx, s.Who, need, func(c *change) error {
		id, err = once(c, "submit", s.Key, func() (string, error) { return c.submit(s, text) })
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

func (c *change) submit(s Submission, text json.RawMessage) (string, error) {
	p := s.Plan
	run := store.Run{
		ID: cmp.Or(s.ID, c.engine.opts.NewID()), Project: s.Project, Base: s.Base, Place: s.Place, Name: p.Name, Status: store.Running, Source: p.Source, SourceFile: p.SourceFile,
		Plan: text, Conducted: s.Conducted, Ordered: s.Ordered, Parallel: p.Parallel, OnFail: onFail[p.OnFailure], Budget: AmountOf(p.Budget), Created: c.now,
	}
	if _, err := c.Run(run.ID); !errors.Is(err, store.ErrNotFound) {
		return "", cmp.Or[error](err, &ConflictError{"run " + run.ID, "is there already"})
	}
	if s.Ordered {
		run.Parallel = 1
	}
	c.PutRun(run)
	if err := c.event(store.Event{Kind: "run.running", Run: run.ID, To: string(store.Running)}, run); err != nil {
		return "", err
	}
	if err := c.addAll(run, p.Tasks); err != nil {
		return "", err
	}
	return run.ID, c.settle(run.ID)
}

func (c *change) addAll(run store.Run, tasks []plan.Task) error {
	for _, task := range tasks {
		if err := c.add(run, task); err != nil {
			return err
		}
	}
	return c.fill(run.ID)
}

func (c *change) add(run store.Run, task plan.Task) (err error) {
	if task.Dispatch != nil {
		if task.Dispatch, err = c.hold(store.TaskKey{Run: run.ID, Task: task.ID}, *task.Dispatch); err != nil {
			return err
		}
	}
	spec, err := plan.EncodeTask(task)
	if err != nil {
		return fmt.Errorf("task %s: %w", task.ID, err)
	}
	labels := slices.Clone(task.Labels)
	if run.Place != "" {
		labels = append(labels, PlaceLabel(run.Place))
	}
	needs := unique(task.After)
	t := store.Task{
		TaskKey: store.TaskKey{Run: run.ID, Task: task.ID}, Seq: c.NextSeq(), Name: task.Name, Spec: spec, Wave: task.Wave,
		Needs: needs, Blockers: len(needs), Priority: task.Priority, Labels: labelSet(labels),
		Lane: AgentOf(task), Retries: task.Retries, Reserve: AmountOf(task.Budget), Timeout: task.Timeout,
	}
	return c.move(&t, store.Queued, "")
}

// unique returns a list without duplicates: each need counts once.
func unique(list []string) (all []string) {
	for _, one := range list {
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// PlaceLabel returns the label of the worker with the given id. No plan can contain it.
func PlaceLabel(place string) string { return "@" + place }

var onFail = map[plan.OnFailure]store.OnFail{plan.Stop: store.StopOnFail, plan.StopNow: store.EndOnFail}

// AmountOf converts a plan's budget to the form used in rows.
func AmountOf(b plan.Budget) store.Amount {
	return store.Amount{MicroUSD: int64(math.Round(b.USD * 1e6)), Tokens: b.Tokens}
}
