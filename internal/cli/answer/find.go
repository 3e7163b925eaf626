package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/cli/exit"
	"gaffer/internal/cli/open"
)

// find returns the question that a person means: the one of that name or id, that of
// the task which the project calls so, that of the only task with that id which asks
// something, or the only one whose name begins so. Of several questions of one task
// or agent it is the oldest.
func find(ctx context.Context, all open.Everything, name string) (open.Asked, error) {
	for _, a := range all.Asked {
		if a.Name == name || a.ID == name && name != "" {
			return a, nil
		}
	}
	t, err := task(ctx, all.Fleets, name)
	if exit.Of(err) != exit.CodeNotFound && err != nil {
		return open.Asked{}, err
	}
	tests := []func(open.Asked) bool{
		func(a open.Asked) bool { return err == nil && a.Name == fleet.QuestionName(t.Run, t.ID) },
		func(a open.Asked) bool { return a.Run != "" && a.Task == name },
		func(a open.Asked) bool { return err != nil && name != "" && strings.HasPrefix(a.Name, name) },
	}
	for _, fits := range tests {
		found := matches(all.Asked, fits)
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return open.Asked{}, exit.WithHint(exit.Conflict(fmt.Errorf("%s: %s and %s both ask something", name, found[0].Name, found[1].Name)),
			"type the whole name; 'gaffer answer' lists them")
	}
	switch {
	case err == nil:
		return open.Asked{}, exit.Conflict(fmt.Errorf("task %s of run %s asks nothing, it is %s", t.ID, t.Run, t.Status))
	case all.Failed != nil:
		return open.Asked{}, all.Failed
	}
	return open.Asked{}, exit.WithHint(exit.NotFound(fmt.Errorf("no question, task or agent is called %q", name)), "'gaffer answer' lists the open questions")
}

// task is what the first fleet that has such a task calls so.
func task(ctx context.Context, fleets []open.Fleet, name string) (t fleet.Task, err error) {
	for _, f := range fleets {
		t, err = f.FindTask(ctx, name)
		if err == nil || exit.Of(err) != exit.CodeNotFound && f.Where() == "" {
			break
		}
	}
	return t, err
}

// matches are the questions that fit, of each name the oldest.
func matches(asked []open.Asked, fits func(open.Asked) bool) (found []open.Asked) {
	for _, a := range asked {
		if fits(a) && !slices.ContainsFunc(found, func(older open.Asked) bool { return older.Name == a.Name }) {
			found = append(found, a)
		}
	}
	return found
}
