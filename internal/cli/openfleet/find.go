package openfleet

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/exit"
)

// FindRun returns the id of the run that the parameter text names, or of the latest run if text is
// empty or "-". If unfinished is true, FindRun considers only runs that have not ended. But the
// whole id of a run always finds that run.
func FindRun(ctx context.Context, f Fleet, text string, unfinished bool) (string, error) {
	id, err := f.FindRun(ctx, text, unfinished)
	if text != "" && text != "-" || exit.Of(err) != exit.CodeNotFound {
		return id, err
	}
	if unfinished {
		return "", exit.WithHint(exit.NotFound(errors.New("every run of this project has ended")), "'gaffer status' shows the latest, 'gaffer run PLAN' begins another")
	}
	return "", exit.WithHint(exit.NotFound(errors.New("this project has no runs")), "'gaffer run PLAN' begins one")
}

// FindEither returns the run or the task that a user means by name. For a run, the result task is
// empty. The name "-" means the latest run that has not ended. name may be the start of an id. If
// name is a whole id, ids that only start with it do not count. FindEither returns an error if name
// matches a run and a task, several runs, or several tasks of the latest run with such a task.
func FindEither(ctx context.Context, f Fleet, name string) (run, task string, err error) {
	if name == "" {
		return "", "", exit.Usage(fmt.Errorf("the name is empty, want a run or a task"))
	}
	if name == "-" {
		run, err = FindRun(ctx, f, name, true)
		return run, "", err
	}
	t, noTask := f.FindTask(ctx, name)
	if strings.Contains(name, "/") {
		return t.Run, t.ID, noTask
	}
	run, noRun := f.FindRun(ctx, name, false)
	isRun, isTask := noRun == nil && run == name, noTask == nil && t.ID == name
	switch {
	case isRun && !isTask:
		return run, "", nil
	case isTask && !isRun:
		return t.Run, t.ID, nil
	case noRun == nil && noTask == nil:
		return "", "", exit.Usage(fmt.Errorf("%q could be run %s or task %s: name it whole, a task as RUN/TASK", name, run, t.ID))
	case noTask == nil && exit.Of(noRun) == exit.CodeNotFound:
		return t.Run, t.ID, nil
	case noRun == nil && exit.Of(noTask) == exit.CodeNotFound:
		return run, "", nil
	}
	return "", "", notFoundError(name, noRun, noTask)
}

// notFoundError returns the first of errs that is not a "not found" error. If all of them are "not
// found" errors, it returns an error which says that no run and no task has this name.
func notFoundError(name string, errs ...error) error {
	for _, err := range errs {
		if err != nil && exit.Of(err) != exit.CodeNotFound {
			return err
		}
	}
	return exit.WithHint(exit.NotFound(fmt.Errorf("no run and no task is called %q", name)),
		"'gaffer ps' lists what runs, 'gaffer runs' all runs, 'gaffer status' the tasks of one")
}
