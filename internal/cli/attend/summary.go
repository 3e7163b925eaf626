package attend

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/env"
	"gaffer/internal/tui/phrase"
)

// maxTold is how many tasks that went wrong are told one by one.
const maxTold = 20

// summary prints what is left to know of a run.
func (t *Attendant) summary(r fleet.Run) error {
	at := site{dir: t.env.Dir, there: isThere, far: t.far()}
	for _, line := range summary(r, t.env.Now(), at) {
		if style := lineStyle(line); style != "" {
			line = t.env.Paint(t.env.Out, style, line)
		}
		if err := t.env.Printf("%s\n", line); err != nil {
			return err
		}
	}
	return nil
}

func lineStyle(line string) env.Style {
	switch {
	case strings.HasPrefix(line, "✗"):
		return env.Red
	case strings.HasPrefix(line, "✓"):
		return env.Green
	case strings.HasPrefix(line, "⊘"):
		return env.Faint
	}
	return ""
}

// site is where a summary is read: paths below dir are told from there, and
// worktrees only if they are there. A run that is far away has left nothing here.
type site struct {
	dir   string
	there func(path string) bool
	far   bool
}

// summary is what was done, what was verified, what it cost, where logs and
// worktrees are, or who worked, and what to do next. What a team's run has
// verified, its session says.
func summary(r fleet.Run, now time.Time, at site) []string {
	lines := []string{headline(r, now), "  tasks     " + phrase.Counts(r.Counts)}
	if text := verified(r); text != "" && r.Team == "" {
		lines = append(lines, "  verified  "+text)
	}
	if text := phrase.Spent(r.Spent); text != "" {
		if r.Budget.USD > 0 {
			text += fmt.Sprintf(" of $%.2f", r.Budget.USD)
		}
		lines = append(lines, "  cost      "+text)
	}
	if at.far {
		lines = append(lines, workers(r)...)
	} else {
		lines = append(lines, places(r, at)...)
	}
	return append(lines, troubles(r)...)
}

// places are where logs and worktrees are.
func places(r fleet.Run, at site) (lines []string) {
	if r.Documents != "" {
		lines = append(lines, "  logs      "+env.Printable(relative(at.dir, r.Documents)))
	}
	for _, path := range worktrees(r, at.there) {
		lines = append(lines, "  worktree  "+env.Printable(relative(at.dir, path)))
	}
	return lines
}

// workers are who has worked on the tasks.
func workers(r fleet.Run) []string {
	var names []string
	for _, t := range r.Tasks {
		if t.Attempt != nil && t.Attempt.Worker != "" && !slices.Contains(names, t.Attempt.Worker) && len(names) < maxTold {
			names = append(names, t.Attempt.Worker)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []string{"  workers   " + env.Printable(strings.Join(names, ", ")) + "; 'gaffer logs TASK' shows what an agent wrote"}
}

func headline(r fleet.Run, now time.Time) string {
	mark, _, _ := strings.Cut(phrase.Label(r.Status), " ")
	end := now
	if !r.Ended.IsZero() {
		end = r.Ended
	}
	return fmt.Sprintf("%s %s %s after %s, run %s", mark, env.Line(r.Name, 60), r.Status,
		phrase.Elapsed(max(end.Sub(r.Created), 0)), env.Printable(r.ID))
}

// verified tells the tasks that were checked from those whose agent's word is
// all there is.
func verified(r fleet.Run) string {
	tasks, checks, word := 0, 0, 0
	for _, t := range r.Tasks {
		switch {
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
	case tasks == 0:
		return "nothing: no task has a verify command"
	case word == 0:
		return fmt.Sprintf("%s by %s", phrase.Count(tasks, "task"), phrase.Count(checks, "check"))
	}
	return fmt.Sprintf("%s by %s; %d without a check", phrase.Count(tasks, "task"), phrase.Count(checks, "check"), word)
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func worktrees(r fleet.Run, there func(path string) bool) []string {
	var paths []string
	seen := map[string]bool{}
	for _, t := range r.Tasks {
		if t.Worktree == "" || seen[t.Worktree] || len(paths) == maxTold {
			continue
		}
		if seen[t.Worktree] = true; there(t.Worktree) {
			paths = append(paths, t.Worktree)
		}
	}
	return paths
}

// troubles tells what went wrong, task by task, and what to do about it.
func troubles(r fleet.Run) (lines []string) {
	if r.Team != "" {
		return teamTroubles(r)
	}
	told, more := 0, 0
	for _, t := range r.Tasks {
		switch {
		case t.Status != fleet.Failed:
		case told == maxTold:
			more++
		default:
			told++
			lines = append(lines, trouble(t)...)
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("✗ … %d more failed, 'gaffer status %s' has them all", more, r.ID))
	}
	switch {
	case !r.Status.Final():
		lines = append(lines, fmt.Sprintf("next: 'gaffer resume %s' goes on", r.ID))
	case told > 0 && r.Counts.Cancelled > 0:
		lines = append(lines, "next: retry what failed, and what was cancelled for it comes back with it")
	}
	return lines
}

// teamTroubles tells the last task that went wrong in a session that is not
// complete. The session has answered those before, and says what to do about
// this one.
func teamTroubles(r fleet.Run) (lines []string) {
	if r.Status == fleet.Complete {
		return nil
	}
	for _, t := range r.Tasks {
		if t.Status != fleet.Failed {
			continue
		}
		id := env.Printable(t.ID)
		if lines = []string{"✗ " + join(": ", id+" failed", phrase.Why(t))}; t.Attempt != nil {
			lines = append(lines, "    gaffer logs "+id)
		}
	}
	if !r.Status.Final() {
		lines = append(lines, fmt.Sprintf("next: '%s' goes on", resuming(r)))
	}
	return lines
}

// resuming is the command that goes on with a run.
func resuming(r fleet.Run) string {
	if r.Team != "" {
		return "gaffer team resume"
	}
	return "gaffer resume " + r.ID
}

func trouble(t fleet.Task) []string {
	id := env.Printable(t.ID)
	lines := []string{"✗ " + join(": ", id+" failed", phrase.Why(t))}
	if text := failedCheck(t.Attempt); text != "" {
		lines = append(lines, "    "+text)
	}
	if advice := phrase.Advice(t); advice != "" {
		lines = append(lines, "    "+advice)
	}
	return append(lines, fmt.Sprintf("    gaffer logs %s, then gaffer retry %s --resume", id, id))
}

// failedCheck is the check that failed, and the last line that it wrote.
func failedCheck(a *fleet.Attempt) string {
	if a == nil {
		return ""
	}
	for _, c := range a.Checks {
		if !c.OK {
			output := strings.Split(strings.TrimSpace(c.Output), "\n")
			return join(": ", fmt.Sprintf("%s (exit %d)", phrase.Line(c.Command), c.Exit), phrase.Line(output[len(output)-1]))
		}
	}
	return ""
}

// relative is path from dir, or path itself if it is not below.
func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
