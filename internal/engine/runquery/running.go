package runquery

import (
	"cmp"
	"slices"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Running returns the running attempts of a run, in the order of the run's tasks. An assignment is
// what a worker gets when it claims a task. Here, it contains the attempt, the task, the task's
// previous ended attempt, and the users' messages to the agent. Its fields Grants and Lease are not
// set.
func Running(r store.Reader, run string) (list []engine.Assignment, err error) {
	running, err := store.RunningAttempts(r)
	if err != nil {
		return nil, err
	}
	for _, attempt := range running {
		if attempt.Run != run {
			continue
		}
		a := engine.Assignment{Attempt: attempt}
		if a.Task, err = r.Task(store.TaskKey{Run: run, Task: attempt.Task}); err != nil {
			return nil, err
		}
		if a.Task.LastAttempt != "" {
			before, err := r.Attempt(a.Task.LastAttempt)
			if err != nil {
				return nil, err
			}
			a.Before = &before
		}
		if err := a.AddMessages(r); err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b engine.Assignment) int { return cmp.Compare(a.Task.Seq, b.Task.Seq) })
	return list, nil
}
