package runview

import (
	"fmt"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/plan"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// Refuse prints the problems of a plan as the command's result, like 'gaffer plan check', and
// returns an error.
func Refuse(e *env.Env, name string, problems plan.Problems, asJSON bool) error {
	if asJSON {
		if err := e.PrintJSON(map[string]any{"valid": false, "problems": problems}); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			if err := e.Printf("%s\n", display.Printable(p.String())); err != nil {
				return err
			}
		}
	}
	return exit.Invalid(fmt.Errorf("%s: %s, nothing runs", display.Line(name, 60), phrase.Count(len(problems), "problem")))
}

// NothingLeft prints that a plan has no tasks left to do. As JSON it prints a complete run without
// tasks.
func NothingLeft(e *env.Env, p plan.Plan, asJSON bool) error {
	if asJSON {
		return e.PrintJSON(fleet.Run{Name: p.Name, Status: fleet.Complete, SourceFile: p.SourceFile, Tasks: []fleet.Task{}})
	}
	e.Talk("%s: nothing is left to do", display.Line(p.Name, 60))
	return nil
}
