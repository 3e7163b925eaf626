package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/cli/exit"
	"gaffer/internal/cli/open"
)

// find returns the task that a person means, or, if there is none, who else asks
// something under that name. What a task's agent asks beside its task counts if
// the task itself asks nothing.
func find(ctx context.Context, f open.Fleet, name string) (fleet.Task, error) {
	t, err := f.FindTask(ctx, name)
	if err == nil && t.Question == nil {
		return beside(ctx, f, t)
	}
	if missing, ok := errors.AsType[interface {
		error
		NotFound() bool
	}](err); !ok || !missing.NotFound() {
		return t, err
	}
	questions, listed := f.Questions(ctx)
	if listed != nil {
		return t, errors.Join(err, listed)
	}
	asked := asides(questions, name)
	switch len(asked) {
	case 0:
		return t, err
	case 1:
		return fleet.Task{ID: asked[0].Task, Status: fleet.Running, Question: &asked[0]}, nil
	}
	return t, exit.Conflict(fmt.Errorf("%s: %s and %s both ask something; type more of the name", name, asked[0].Task, asked[1].Task))
}

// beside is the task with the question that its agent asked through a tool: under
// the name of the run and the task.
func beside(ctx context.Context, f open.Fleet, t fleet.Task) (fleet.Task, error) {
	questions, err := f.Questions(ctx)
	for _, q := range questions {
		if q.Run == "" && q.Task == t.Run+"/"+t.ID {
			t.Question = &q
			break
		}
	}
	return t, err
}

// asides are the questions of those who have no task and whose name begins like
// that: of each the oldest, and of one with exactly that name only its own.
func asides(questions []fleet.Question, name string) (list []fleet.Question) {
	seen := map[string]bool{}
	for _, q := range questions {
		if q.Run != "" || seen[q.Task] || !strings.HasPrefix(q.Task, name) {
			continue
		}
		if seen[q.Task] = true; q.Task == name {
			return []fleet.Question{q}
		}
		list = append(list, q)
	}
	return list
}
