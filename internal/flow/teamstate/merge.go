package teamstate

import (
	"encoding/json"
	"fmt"
	"strings"

	"gaffer/internal/engine/failure"
	"gaffer/team"
)

// merged handles the end of the merge of a group's branch, which the tech lead has approved. If the
// merge succeeded, the group becomes complete. If there were conflicts or failed tests, a developer
// has to work on the group again. The approval is still listed among the tech lead's decisions in
// this case. If the merge step failed or its result cannot be read, the session stops with an
// error.
func (w groupWork) merged(step Step, e Ending) error {
	g := w.groups.find(step.Group)
	g.since = w.history.events
	m, problem := readMerged(step, e)
	if problem != "" {
		w.ending.stop(problem, mergeHint(e.Class))
		return nil
	}
	said := *g.approved
	g.approved = nil
	if m.Outcome == MergeDone {
		w.history.note("complete_group_"+g.id, "approved, and merged"+at(m.Commit))
		return g.move(team.TechLead, said, e.At)
	}
	text := clip(fmt.Sprintf("merging %s into %s: %s", w.start.branch(g.id), w.start.Branch, mergeFailureText(m)), maxText)
	w.history.note("return_group_"+g.id, text)
	g.why, g.unmerged = "what was approved could not be merged", text
	g.feedback = append(g.feedback, "gaffer: "+text)
	return g.move(team.Gaffer, team.Answer{Status: team.WordMergeFailed, Summary: said.Summary}, e.At)
}

// delivered handles the end of the merge of the session's branch into the user's branch. If the
// merge succeeded, the session is finished. Otherwise the session stops with an error.
func (w groupWork) delivered(step Step, e Ending) {
	m, problem := readMerged(step, e)
	switch {
	case problem != "":
		w.ending.stop(problem, mergeHint(e.Class))
	case m.Outcome == MergeDone:
		w.ending.finish()
	default:
		w.ending.stop(
			fmt.Sprintf("%s cannot be merged into %s: %s", w.start.Branch, w.start.Into, mergeFailureText(m)),
			fmt.Sprintf("all the work is in %[1]s: 'git switch %[2]s && git merge %[1]s', resolve it and commit; or try again with 'gaffer team resume'", w.start.Branch, w.start.Into),
		)
	}
}

// readMerged parses the result of a merge step. If the step failed or its result is not valid,
// problem says why. Otherwise problem is empty.
func readMerged(step Step, e Ending) (m Merged, problem string) {
	if e.Class != failure.None {
		return m, describeFailure(step, e)
	}
	if err := json.Unmarshal([]byte(e.Answer), &m); err != nil {
		return m, clip(fmt.Sprintf("%s: its result cannot be read: %v", step.ID, err), maxText)
	}
	switch m.Outcome {
	case MergeDone, MergeConflict, MergeFailed:
		return m, ""
	}
	return m, clip(fmt.Sprintf("%s: its result is %q", step.ID, m.Outcome), maxText)
}

func mergeHint(c failure.Class) string {
	if hint := userAction(c); hint != "" {
		return hint
	}
	return "look at the repository, then 'gaffer team resume' merges it again"
}

// mergeFailureText describes why a merge failed. The text is for the developer or the user.
func mergeFailureText(m Merged) string {
	text := "it cannot be merged as it is"
	switch {
	case m.Outcome == MergeFailed:
		text = "a test fails after the merge: " + m.Test
	case len(m.Conflicts) > 0:
		text = "conflicts in " + strings.Join(clipList(m.Conflicts), ", ")
	}
	if m.Output != "" {
		text += "\n" + m.Output
	}
	return text
}

func at(commit string) string {
	if commit == "" {
		return ""
	}
	return " as " + oneLine(commit)
}
