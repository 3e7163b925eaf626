package runview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gaffer/internal/app"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/cli/trust"
	programs "gaffer/internal/project/trust"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// PreflightCheck returns the problems that prevent the work of a command from running on this
// machine. The check for a plan calls [app.Preflight].
type PreflightCheck func(context.Context, app.Options) ([]preflight.Problem, error)

// CheckReady calls the function check, prints the problems that check finds on this machine, and
// returns an error if there are any. Call CheckReady before anything is created. If the settings of
// the project name a program that the user has not trusted, CheckReady first asks at the terminal
// whether to trust the program. It does not ask if there is no terminal, if an agent has started
// the command, or if asJSON is true.
func CheckReady(ctx context.Context, e *env.Env, name string, asJSON bool, check PreflightCheck) error {
	opts, err := openfleet.Options(e, nil)
	if err != nil {
		return err
	}
	problems, err := check(ctx, opts)
	if slices.ContainsFunc(problems, isUntrusted) && e.Interactive() && e.Agent() == nil && !asJSON {
		if err := trust.Ask(ctx, e, opts); err != nil {
			return err
		}
		problems, err = check(ctx, opts)
	}
	if err != nil || len(problems) == 0 {
		return err
	}
	if asJSON {
		err = e.PrintJSON(map[string]any{"valid": true, "ready": false, "lacks": problems})
	} else {
		err = PrintProblems(e, problems)
	}
	if err != nil {
		return err
	}
	return NotReady(name, problems, ", nothing runs")
}

// isUntrusted reports whether the problem is that the settings of the project name a program that
// the user has not trusted.
func isUntrusted(p preflight.Problem) bool {
	_, ok := errors.AsType[*programs.Error](p)
	return ok
}

// PrintProblems prints one line per problem.
func PrintProblems(e *env.Env, problems []preflight.Problem) error {
	for _, p := range problems {
		if err := e.Printf("%s: %s\n", e.Paint(e.Out, display.Red, "problem"), display.Printable(p.String())); err != nil {
			return err
		}
	}
	return nil
}

// NotReady returns the error for a plan with the given name that cannot run on this machine. It
// wraps the problems, which determine the exit code. suffix is appended to the text of the error.
func NotReady(name string, problems []preflight.Problem, suffix string) error {
	e := &notReady{text: fmt.Sprintf("%s: %s on this machine%s", display.Line(name, 60), phrase.Count(len(problems), "problem"), suffix)}
	for _, p := range problems {
		e.problems = append(e.problems, p)
	}
	return e
}

type notReady struct {
	text     string
	problems []error
}

func (e *notReady) Error() string   { return e.text }
func (e *notReady) Unwrap() []error { return e.problems }

// Hint returns "", because the line of each problem already says what to do.
func (e *notReady) Hint() string { return "" }
