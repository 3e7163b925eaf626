package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/cli/connect"
	"gaffer/internal/exit"
)

// find returns the question that the user means by name. It takes the first of these that exists:
// the question with this name or id; the question of the task with this name in the project; the
// question of the only waiting task with this id; the only question whose name starts with this
// text. If a task or agent has several questions, find returns the oldest.
func find(ctx context.Context, all connect.Everything, name string) (connect.Asked, error) {
	for _, a := range all.Asked {
		if a.Name == name || a.ID == name && name != "" {
			return a, nil
		}
	}
	t, err := task(ctx, all.Fleets, name)
	if exit.Of(err) != exit.CodeNotFound && err != nil {
		return connect.Asked{}, err
	}
	tests := []func(connect.Asked) bool{
		func(a connect.Asked) bool { return err == nil && a.Name == fleet.QuestionName(t.Run, t.ID) },
		func(a connect.Asked) bool { return a.Run != "" && a.Task == name },
		func(a connect.Asked) bool { return err != nil && name != "" && strings.HasPrefix(a.Name, name) },
	}
	for _, fits := range tests {
		found := oldestMatches(all.Asked, fits)
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return connect.Asked{}, exit.WithHint(exit.Conflict(fmt.Errorf("%s: %s and %s both ask something", name, found[0].Name, found[1].Name)),
			"type the whole name; 'gaffer answer' lists them")
	}
	switch {
	case err == nil:
		return connect.Asked{}, exit.Conflict(fmt.Errorf("task %s of run %s asks nothing, it is %s", t.ID, t.Run, t.Status))
	case all.Failed != nil:
		return connect.Asked{}, all.Failed
	}
	return connect.Asked{}, exit.WithHint(exit.NotFound(fmt.Errorf("no question, task or agent is called %q", name)), "'gaffer answer' lists the open questions")
}

// task searches the fleets in order and returns the first task with this name.
func task(ctx context.Context, fleets []connect.Fleet, name string) (t fleet.Task, err error) {
	for _, f := range fleets {
		t, err = f.FindTask(ctx, name)
		if err == nil || exit.Of(err) != exit.CodeNotFound && f.Where() == "" {
			break
		}
	}
	return t, err
}

// oldestMatches returns the questions for which fits returns true. If several of them have the same
// name, it returns only the oldest.
func oldestMatches(asked []connect.Asked, fits func(connect.Asked) bool) (found []connect.Asked) {
	for _, a := range asked {
		if fits(a) && !slices.ContainsFunc(found, func(older connect.Asked) bool { return older.Name == a.Name }) {
			found = append(found, a)
		}
	}
	return found
}
