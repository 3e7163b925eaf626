package runview

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/table"
	"gaffer/internal/git"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

// maxListed is the maximum number of lines of one kind in a summary, such as the lines about
// branches.
const maxListed = 20

func (v *View) printSummary(r fleet.Run) error {
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	style := func(line string) display.Style {
		switch {
		case strings.HasPrefix(line, "✗"):
			return display.Red
		case strings.HasPrefix(line, "✓"):
			return display.Green
		case strings.HasPrefix(line, "⊘"):
			return display.Faint
		}
		return ""
	}
	at := summaryPlace{dir: v.env.Dir, exists: exists, remote: v.remote(), branches: v.branches(r), changes: v.Changes(r)}
	return table.Lines(v.env, style, summaryLines(r, v.env.Now(), at)...)
}

// summaryPlace describes where a summary is printed. Paths below dir are printed relative to dir.
// Worktrees and branches are printed only if they exist. If remote is true, the run is on a server
// and has no files on this machine.
type summaryPlace struct {
	dir    string
	exists func(path string) bool
	remote bool
	// changes counts the changes that the tasks have made. It is zero if no task has a branch, if
	// the run is on a server, or if git fails or does not answer in time.
	changes fleet.Changes
	// branches has the names of the branches in the repository as keys. A value is true if the
	// branch has commits that are not in the checked-out branch.
	branches map[string]bool
}

// summaryLines returns the lines of a summary: what was done, what was verified, the cost, the
// logs, the branches and worktrees (or the workers of a server), and what to do next. For a run of
// 'gaffer team' it does not say what was verified, because that command prints this itself.
func summaryLines(r fleet.Run, now time.Time, at summaryPlace) []string {
	mark, _, _ := strings.Cut(phrase.Label(r.Status), " ")
	lines := []string{
		fmt.Sprintf("%s %s %s after %s, run %s", mark, display.Line(r.Name, 60), r.Status, phrase.RunDuration(r, now), display.Printable(r.ID)),
		"  tasks     " + phrase.Counts(r.Counts),
	}
	if text := verifiedText(r); text != "" && r.Team == "" {
		lines = append(lines, "  verified  "+text)
	}
	if waited := time.Duration(r.WaitedMS) * time.Millisecond; waited >= time.Second {
		worked := time.Duration(r.WorkedMS) * time.Millisecond
		lines = append(lines, fmt.Sprintf("  time      agents worked %s and waited %s for answers", phrase.Elapsed(worked), phrase.Elapsed(waited)))
	}
	if text := phrase.SpentOf(r.Spent, r.Budget); text != "" && r.Spent != (fleet.Cost{}) {
		lines = append(lines, "  cost      "+text)
	}
	if at.remote {
		lines = append(lines, workerLines(r)...)
	} else {
		if r.Documents != "" {
			lines = append(lines, "  logs      "+display.Printable(relative(at.dir, r.Documents)))
		}
		lines = append(lines, branchLines(r, at)...)
		if text := phrase.Changes(at.changes); text != "" {
			lines = append(lines, "  changes   "+display.Printable(text))
		}
	}
	if r.Team != "" {
		lines = append(lines, teamFailureLines(r)...)
	} else {
		lines = append(lines, failureLines(r)...)
		lines = append(lines, lastMessages(r)...)
		lines = append(lines, nextSteps(r)...)
	}
	if at.changes.Total == 0 {
		return append(lines, mergeCommands(r, at)...)
	}
	if at.changes.First != "" {
		lines = append(lines, fmt.Sprintf("next: 'gaffer review %s' shows the first change; 'gaffer merge %s --all' merges those that are ready",
			display.Printable(git.Quote(r.ID+"/"+at.changes.First)), display.Printable(r.ID)))
	}
	return lines
}

// workerLines returns a line with the workers that ran the tasks.
func workerLines(r fleet.Run) []string {
	var names []string
	for _, t := range r.Tasks {
		if t.Attempt != nil && t.Attempt.Worker != "" && !slices.Contains(names, t.Attempt.Worker) && len(names) < maxListed {
			names = append(names, t.Attempt.Worker)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{"  workers   " + display.Printable(strings.Join(names, ", ")) + "; 'gaffer logs TASK' shows what an agent wrote"}
}

// verifiedText says how many complete tasks passed checks, which are the verify commands in the
// plan, and how many had no check. It returns "" if no task is complete.
func verifiedText(r fleet.Run) string {
	tasks, checks, word, failed := 0, 0, 0, 0
	for _, t := range r.Tasks {
		switch {
		case t.Status == fleet.Failed && t.Attempt != nil && len(t.Attempt.Checks) > 0:
			failed++
		case t.Status != fleet.Complete || t.Attempt == nil:
		case len(t.Attempt.Checks) == 0:
			word++
		default:
			tasks++
			checks += len(t.Attempt.Checks)
		}
	}
	switch {
	case tasks+word == 0:
		return ""
	case tasks == 0 && failed > 0:
		return "nothing: no task with a verify command is complete"
	case tasks == 0:
		return "nothing: no task has a verify command"
	case word == 0:
		return fmt.Sprintf("%s by %s", phrase.Count(tasks, "task"), phrase.Count(checks, "check"))
	}
	return fmt.Sprintf("%s by %s; %d without a check", phrase.Count(tasks, "task"), phrase.Count(checks, "check"), word)
}

// failureLines returns lines about the failed tasks: the cause, the output that shows the cause,
// and what to do. After maxListed tasks it only counts the other failed tasks.
func failureLines(r fleet.Run) (lines []string) {
	listed, more := 0, 0
	for _, t := range r.Tasks {
		switch {
		case t.Status != fleet.Failed:
			continue
		case listed == maxListed:
			more++
			continue
		}
		listed++
		id := display.Printable(t.ID)
		head, output := phrase.Failure(t)
		lines = append(lines, "✗ "+phrase.Join(": ", id+" failed", head))
		for _, line := range output {
			lines = append(lines, "    "+line)
		}
		if advice := phrase.Advice(t); advice != "" {
			lines = append(lines, "    "+advice)
		}
		next := fmt.Sprintf("    gaffer logs %s, then gaffer retry %s --resume", id, id)
		if t.Outcome == "budget" { // the text of phrase.Advice already names the command that continues the task
			next = "    gaffer logs " + id
		}
		lines = append(lines, next)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("✗ … %d more failed, 'gaffer status %s' has them all", more, r.ID))
	}
	return lines
}

// nextSteps returns lines about what the user can do with a run that is not complete.
func nextSteps(r fleet.Run) []string {
	switch {
	case !r.Status.Final():
		return []string{fmt.Sprintf("next: 'gaffer resume %s' goes on", r.ID)}
	case r.Counts.Failed > 0 && r.Counts.Cancelled > 0:
		return []string{"next: retry what failed, and what was cancelled for it comes back with it"}
	}
	return nil
}

// teamFailureLines returns lines about the last failed task of a run of 'gaffer team'. If the run
// is complete, it returns none. It leaves out earlier failures, because the team has handled them.
// If the run has not ended, the last line names the command that continues it.
func teamFailureLines(r fleet.Run) (lines []string) {
	if r.Status == fleet.Complete {
		return nil
	}
	for _, t := range r.Tasks {
		if t.Status != fleet.Failed {
			continue
		}
		id := display.Printable(t.ID)
		if lines = []string{"✗ " + phrase.Join(": ", id+" failed", phrase.Why(t))}; t.Attempt != nil {
			lines = append(lines, "    gaffer logs "+id)
		}
	}
	if !r.Status.Final() {
		lines = append(lines, fmt.Sprintf("next: '%s' goes on", resumeCommand(r)))
	}
	return lines
}

// resumeCommand returns the gaffer command that continues a run.
func resumeCommand(r fleet.Run) string {
	if r.Team != "" {
		return "gaffer team resume"
	}
	return "gaffer resume " + r.ID
}

// lastMessages returns a line with the agent's last message for each complete task that has one.
// After maxListed lines it counts the other tasks in one line.
func lastMessages(r fleet.Run) (lines []string) {
	more := 0
	for _, t := range r.Tasks {
		said := phrase.Summary(t)
		switch {
		case said == "":
		case len(lines) == maxListed:
			more++
		default:
			lines = append(lines, fmt.Sprintf("✓ %s: %s", display.Printable(t.ID), said))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("✓ … %d more, 'gaffer status %s' has the last words of all", more, r.ID))
	}
	return lines
}

// relative returns path relative to dir, or path itself if it is not below dir.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
