package runs

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// maxRunningAttempts is how many attempts RunningAttempts returns at most.
const maxRunningAttempts = 5000

// liveTask has those fields of a [coordinator.LiveAttempt] that describe the attempt's task and
// run. Their values do not change while the attempt runs.
type liveTask struct{ runName, project, taskName, agent, model, branch string }

// runningAttempts lists the running attempts of all runs. For each attempt in the latest list, it
// caches the data about the task and the run, because the server requests the list every few
// seconds while clients follow the event stream.
type runningAttempts struct {
	store  store.Store
	runs   *visibleRuns
	branch func(run, task string) string // returns the default branch of a task that has a worktree

	mu    sync.Mutex
	tasks map[string]liveTask // data about the task of each running attempt, by the id of the attempt
}

// RunningAttempts implements [server.Runs]. To follow the progress of attempts, callers must poll
// it, because the store has no events about progress.
func (l *runningAttempts) RunningAttempts(ctx context.Context) (list []coordinator.LiveAttempt, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.store.Read(ctx, func(r store.Reader) error {
		list = nil
		// DueAttempts returns the running attempts whose lease or time limit ends before a given
		// time. With the latest possible time, it returns all running attempts.
		running, err := r.DueAttempts(time.Unix(0, math.MaxInt64), maxRunningAttempts)
		if err != nil {
			return err
		}
		tasks := make(map[string]liveTask, len(running))
		for _, a := range running {
			if l.runs.hide(store.Run{ID: a.Run}) {
				continue
			}
			t, known := l.tasks[a.ID]
			if !known {
				if t, err = l.taskOf(r, a.Key()); err != nil {
					return err
				}
			}
			tasks[a.ID] = t
			list = append(list, coordinator.LiveAttempt{
				AttemptChange: coordinator.AttemptChange{Run: a.Run, Task: a.Task, Attempt: *runquery.AttemptOf(a)},
				RunName:       t.runName, Project: t.project, TaskName: t.taskName, Agent: t.agent, Model: t.model, Branch: t.branch,
			})
		}
		l.tasks = tasks
		return nil
	})
	return list, err
}

// taskOf reads the data about a task and its run that a [coordinator.LiveAttempt] contains. It
// returns an empty liveTask if the run or the task does not exist any more.
func (l *runningAttempts) taskOf(r store.Reader, key store.TaskKey) (t liveTask, err error) {
	run, err := r.Run(key.Run)
	if err != nil {
		return t, ignoreMissing(err)
	}
	row, err := r.Task(key)
	if err != nil {
		return t, ignoreMissing(err)
	}
	t = liveTask{runName: run.Name, project: run.Project, taskName: row.Name}
	spec, err := plan.DecodeTask(row.Spec)
	if err != nil { // ignore the error, so that one damaged task does not hide all other attempts
		return t, nil
	}
	t.agent, t.model, t.branch = engine.AgentOf(spec), spec.Model, spec.Branch
	if spec.Worktree && t.branch == "" && l.branch != nil {
		t.branch = l.branch(key.Run, cmp.Or(spec.SharedWorktree, key.Task))
	}
	return t, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
