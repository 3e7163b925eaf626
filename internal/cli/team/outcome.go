package team

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/team"
)

// stopWithError is the decision, in the session's log of decisions, that ends the session with an
// error.
const stopWithError = "stop_with_error"

// merged prints how many groups of tasks were merged and how they were tested. It counts the groups
// with the status complete, because a group is complete only after its merge. It prints nothing if
// gaffer has not run the session, or if no group was merged or sent back to a developer yet.
func (v view) merged(e *env.Env) error {
	if v.run.Run == "" || len(v.Groups) == 0 {
		return nil
	}
	complete, returned := 0, 0
	for _, g := range v.Groups {
		if g.Status == team.Complete {
			complete++
		}
	}
	for _, entry := range v.Orchestrator.DecisionsLog {
		if strings.HasPrefix(entry.Decision, "return_group_") {
			returned++
		}
	}
	if complete+returned == 0 {
		return nil
	}
	text := fmt.Sprintf("Merged %d of %s into %s", complete, phrase.Count(len(v.Groups), "group"), v.run.Branch)
	if returned > 0 {
		text += fmt.Sprintf(", %s went back to a developer", phrase.Count(returned, "merge"))
	}
	return e.Printf("\n%s\n%s\n", display.Printable(text), display.Printable(v.tested()))
}

func (v view) tested() string {
	if len(v.run.Tests) == 0 {
		return "No test ran after a merge: --test or team.tests in gaffer.yaml gives one"
	}
	return "Tested after each merge: " + strings.Join(v.run.Tests, "; ")
}

// outcome prints why the session ended with an error. If the session did not end with an error,
// outcome prints nothing.
func (v view) outcome(e *env.Env) error {
	if problem := v.problem(); problem != "" {
		return e.Printf("\nIt stopped: %s\n", display.PrintableLines(problem))
	}
	return nil
}

// problem returns a text that says why the session ended with an error and what to do about it. It
// returns "" if there was no error.
func (v view) problem() string {
	if v.Orchestrator.Status != team.SessionError {
		return ""
	}
	for _, entry := range slices.Backward(v.Orchestrator.DecisionsLog) {
		if entry.Decision == stopWithError {
			return entry.Reasoning
		}
	}
	return ""
}

// next prints what the user can do next.
func (v view) next(e *env.Env) error {
	f := v.run
	switch {
	case f.Owner > 0:
		return e.Printf("\ngaffer with pid %d works on it: 'gaffer status --watch %s' shows the agents\n", f.Owner, f.Run)
	case f.Run == "" && v.Orchestrator.Status == team.SessionCompleted:
		return e.Printf("\nIt is done: another program ran it\n")
	case f.Run == "" && (len(v.Groups) > 0 || v.PM.Iteration > 0 || v.Orchestrator.TotalSpawns > 0):
		return e.Printf("\nAnother program began it: when that has ended, 'gaffer team resume' continues it\n")
	case v.Orchestrator.Status == team.SessionCompleted && f.Into != "":
		return e.Printf("\nIt is done: all of it is on branch %s, and merged into %s\n", display.Printable(f.Branch), display.Printable(f.Into))
	case v.Orchestrator.Status == team.SessionCompleted:
		return e.Printf("\nIt is done: all of it is on branch %[1]s\n'git merge %[1]s' takes it into yours\n", display.Printable(f.Branch))
	case v.problem() != "":
		return nil // the printed problem says what to do
	}
	return e.Printf("\nNo process works on it: 'gaffer team resume' continues it\n")
}
