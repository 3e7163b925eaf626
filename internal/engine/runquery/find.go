package runquery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// NotFoundError reports that no run, task or question has the name that the user gave.
type NotFoundError struct{ What, Name string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q: not found", e.What, e.Name) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }

// Hint returns advice for the user: the commands that list runs and tasks.
func (e *NotFoundError) Hint() string {
	return "'gaffer ps' lists what runs, 'gaffer runs' all runs, 'gaffer status' the tasks of one"
}

// AmbiguousError reports that the short name which the user gave matches several ids.
type AmbiguousError struct {
	What, Name string
	Could      []string // the ids that match
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s %q could be %s", e.What, e.Name, strings.Join(e.Could, " or "))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *AmbiguousError) Conflict() bool { return true }

// NotFoundAs converts store.ErrNotFound to a [*NotFoundError]. The parameter what is the kind of
// the row, such as "run", and name is the name that the user gave. NotFoundAs returns any other err
// unchanged.
func NotFoundAs(err error, what, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{what, name}
	}
	return err
}

// FindRun returns the id of the run that a user has named. It searches the runs of a project, or of
// all projects if project is empty. The parameter text is one of:
//   - a whole id, which finds the run in any project
//   - the beginning of an id, or of the last part of an id, if only one run has such an id
//   - the name of a plan, which finds the latest run of this plan
//   - "-" or "", which finds the latest run
//
// If unfinished is set, a run that has ended is found only by its whole id.
func (l *Querier) FindRun(ctx context.Context, project, text string, unfinished bool) (id string, err error) {
	err = l.store.Read(ctx, func(r store.Reader) error {
		if run, err := r.Run(text); err == nil { // a whole id finds the run even if it belongs to another project
			id = run.ID
			return nil
		}
		runs, err := l.Rows(r, project, !unfinished)
		if err != nil {
			return err
		}
		ids := make([]string, len(runs))
		for i, run := range runs {
			ids[i] = run.ID
		}
		if (text == "" || text == "-") && len(ids) > 0 {
			id = ids[0]
			return nil
		}
		id, err = matchID("run", text, ids, func(id string) []string { return []string{id, fleet.ShortRun(id)} })
		if missing := (*NotFoundError)(nil); errors.As(err, &missing) {
			id, err = latestNamed(runs, text, err)
		}
		return err
	})
	return id, err
}

// latestNamed returns the id of the latest run whose plan has this name. If there is none, it
// returns the parameter err. The list runs must be sorted, latest first.
func latestNamed(runs []store.Run, name string, err error) (string, error) {
	for _, run := range runs {
		if run.Name == name && name != "" {
			return run.ID, nil
		}
	}
	return "", err
}

// matchID returns the id in the list ids that the user means by text. If text is equal to an id, it
// returns this id. Otherwise, it returns the only id for which one of the forms begins with text.
// The function forms returns the forms in which a user may write an id, such as its short form. The
// parameter what is the word for such an id in error messages, such as "run".
func matchID(what, text string, ids []string, forms func(id string) []string) (string, error) {
	var could []string
	for _, id := range ids {
		if id == text {
			return id, nil
		}
		if slices.ContainsFunc(forms(id), func(form string) bool { return text != "" && strings.HasPrefix(form, text) }) {
			could = append(could, id)
		}
	}
	switch len(could) {
	case 0:
		return "", &NotFoundError{what, text}
	case 1:
		return could[0], nil
	}
	return "", &AmbiguousError{what, text, could}
}

// FindTask returns the task that a user has named. The parameter text is RUN/TASK, or only TASK.
// RUN is as in [Querier.FindRun], and TASK is a whole id or the beginning of one. Without RUN,
// FindTask chooses the latest run that has a task with exactly the id TASK. If there is none, it
// chooses the latest run that has tasks whose ids begin with TASK. If the chosen run has several
// such tasks, FindTask returns an [*AmbiguousError]. The TASK "-" is the only task of RUN or, without
// RUN, of the latest run.
func (l *Querier) FindTask(ctx context.Context, project, text string) (fleet.Task, error) {
	if at := strings.IndexByte(text, '/'); at >= 0 {
		run, err := l.FindRun(ctx, project, text[:at], false)
		if err != nil {
			return fleet.Task{}, err
		}
		return l.findTask(ctx, run, text[at+1:])
	}
	var runs []store.Run
	err := l.store.Read(ctx, func(r store.Reader) (err error) {
		if runs, err = l.Rows(r, project, true); err != nil {
			return err
		}
		at, err := indexOfRunWith(r, runs, text)
		if at >= 0 {
			runs = runs[at : at+1]
		}
		return err
	})
	if err != nil {
		return fleet.Task{}, err
	}
	for _, run := range runs {
		t, err := l.findTask(ctx, run.ID, text)
		if missing := (*NotFoundError)(nil); !errors.As(err, &missing) {
			return t, err
		}
	}
	return fleet.Task{}, &NotFoundError{"task", text}
}

// indexOfRunWith returns the index of the first run in runs that has a task with exactly this id,
// or -1 if no run has one. If reading a task fails, it returns the index of its run and the error.
func indexOfRunWith(r store.Reader, runs []store.Run, task string) (int, error) {
	for i, run := range runs {
		_, err := r.Task(store.TaskKey{Run: run.ID, Task: task})
		if !errors.Is(err, store.ErrNotFound) {
			return i, err
		}
	}
	return -1, nil
}

func (l *Querier) findTask(ctx context.Context, run, text string) (task fleet.Task, err error) {
	v, err := l.Run(ctx, run)
	if err != nil {
		return task, err
	}
	ids := make([]string, len(v.Tasks))
	for i, t := range v.Tasks {
		ids[i] = t.ID
	}
	switch {
	case text == "-" && len(ids) == 1:
		return v.Tasks[0], nil
	case text == "-" && len(ids) > 1:
		return task, &AmbiguousError{"task", text, ids}
	}
	id, err := matchID("task", text, ids, func(id string) []string { return []string{id} })
	if err != nil {
		return task, err
	}
	return v.Tasks[slices.Index(ids, id)], nil
}
