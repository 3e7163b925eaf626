package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
)

// find returns the question that the user means by name. It returns the first of these that exists:
//   - the question with this name or id
//   - the question of the project's task with this name
//   - the question of a task with this id in any run
//   - if the project has no task with this name, a question whose own name starts with this name
//
// If a task or agent has several questions, find returns the oldest. If questions of several tasks
// or agents match, it returns an error.
func find(ctx context.Context, all openfleet.Everything, name string) (openfleet.Asked, error) {
	for _, a := range all.Asked {
		if a.Name == name || a.ID == name && name != "" {
			return a, nil
		}
	}
	t, err := task(ctx, all.Fleets, name)
	if exit.Of(err) != exit.CodeNotFound && err != nil {
		return openfleet.Asked{}, err
	}
	tests := []func(openfleet.Asked) bool{
		func(a openfleet.Asked) bool { return err == nil && a.Name == fleet.QuestionName(t.Run, t.ID) },
		func(a openfleet.Asked) bool { return a.Run != "" && a.Task == name },
		func(a openfleet.Asked) bool { return err != nil && name != "" && strings.HasPrefix(a.Name, name) },
	}
	for _, fits := range tests {
		found := oldestMatches(all.Asked, fits)
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return openfleet.Asked{}, exit.WithHint(exit.Conflict(fmt.Errorf("%s: %s and %s both ask something", name, found[0].Name, found[1].Name)),
			"type the whole name; 'gaffer answer' lists them")
	}
	switch {
	case err == nil:
		return openfleet.Asked{}, exit.Conflict(fmt.Errorf("task %s of run %s asks nothing, it is %s", t.ID, t.Run, t.Status))
	case all.Failed != nil:
		return openfleet.Asked{}, all.Failed
	}
	return openfleet.Asked{}, exit.WithHint(exit.NotFound(fmt.Errorf("no question, task or agent is called %q", name)), "'gaffer answer' lists the open questions")
}

// task searches the fleets in order and returns the first task with this name. If a server cannot
// be reached, task continues with the next fleet. If this machine's fleet cannot be read, task
// stops and returns that error. If no fleet has the task, it returns the last error.
func task(ctx context.Context, fleets []openfleet.Fleet, name string) (t fleet.Task, err error) {
	for _, f := range fleets {
		t, err = f.FindTask(ctx, name)
		if err == nil || exit.Of(err) != exit.CodeNotFound && f.Where() == "" {
			break
		}
	}
	return t, err
}

// oldestMatches returns the questions for which fits returns true. If several of them have the same
// name, it returns only the first, which is the oldest because asked is sorted by age.
func oldestMatches(asked []openfleet.Asked, fits func(openfleet.Asked) bool) (found []openfleet.Asked) {
	for _, a := range asked {
		if fits(a) && !slices.ContainsFunc(found, func(older openfleet.Asked) bool { return older.Name == a.Name }) {
			found = append(found, a)
		}
	}
	return found
}
