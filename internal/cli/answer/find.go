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

// find returns the question that the user means by the parameter name. It tries these rules in
// order, and uses the first one that matches a question:
//   - The question has this name or id.
//   - The question belongs to the task that this name means in the current project.
//   - The question belongs to a task with this id in any run.
//   - The current project has no task with this name, and the name of the question starts with it.
//
// If a task or agent has several questions, find returns the oldest. If a rule matches questions of
// several tasks or agents, find returns an error.
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

// task returns the first task with this name in the given fleets, which are those of the server and
// of this machine. If a server cannot be reached, task continues with the next fleet. If this
// machine's fleet cannot be read, task stops and returns that error. If no fleet has the task, it
// returns the last error.
func task(ctx context.Context, fleets []openfleet.Fleet, name string) (t fleet.Task, err error) {
	for _, f := range fleets {
		t, err = f.FindTask(ctx, name)
		if err == nil || exit.Of(err) != exit.CodeNotFound && f.Where() == "" {
			break
		}
	}
	return t, err
}

// oldestMatches returns the questions for which the function fits returns true. Questions of the
// same task or agent have the same name. Of these it returns only the first, which is the oldest
// because the parameter asked is sorted by age.
func oldestMatches(asked []openfleet.Asked, fits func(openfleet.Asked) bool) (found []openfleet.Asked) {
	for _, a := range asked {
		if fits(a) && !slices.ContainsFunc(found, func(older openfleet.Asked) bool { return older.Name == a.Name }) {
			found = append(found, a)
		}
	}
	return found
}
