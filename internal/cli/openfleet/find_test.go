package openfleet

import (
	"context"
	"errors"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/exit"
)

// finder is a fleet whose FindRun and FindTask return fixed results.
type finder struct {
	Fleet
	run, task     string
	noRun, noTask error
}

func (f finder) FindRun(context.Context, string, bool) (string, error) { return f.run, f.noRun }

func (f finder) FindTask(context.Context, string) (fleet.Task, error) {
	return fleet.Task{Run: "r", ID: f.task}, f.noTask
}

func TestAnAmbiguousNameIsAnError(t *testing.T) {
	var (
		none    = &runquery.NotFoundError{What: "run or task", Name: "a"}
		several = &runquery.AmbiguousError{What: "run or task", Name: "a", Could: []string{"a1", "a2"}}
		away    = errors.New("the server is away")
	)
	for name, c := range map[string]struct {
		finder
		want string
		err  error
	}{
		"a run, no task":              {finder{run: "abc", noTask: none}, "abc/", nil},
		"a task, no run":              {finder{task: "api", noRun: none}, "r/api", nil},
		"a run, several tasks":        {finder{run: "abc", noTask: several}, "/", several},
		"a task, several runs":        {finder{task: "api", noRun: several}, "/", several},
		"a run, who knows what tasks": {finder{run: "abc", noTask: away}, "/", away},
		"no run, several tasks":       {finder{noRun: none, noTask: several}, "/", several},
		"a whole run, several tasks":  {finder{run: "a", noTask: several}, "a/", nil},
		"a whole task, several runs":  {finder{task: "a", noRun: several}, "r/a", nil},
	} {
		run, task, err := FindEither(context.Background(), c.finder, "a")
		if run+"/"+task != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %s/%s, %v", name, run, task, err)
		}
	}
	if _, _, err := FindEither(context.Background(), finder{run: "abc", task: "api"}, "a"); exit.Of(err) != exit.CodeUsage {
		t.Errorf("a run and a task: %v", err)
	}
}
