package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/exit"
	"gaffer/internal/git"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
)

func list(e *env.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list [RUN]",
		Short:   "Show worktrees, and what is in them that is nowhere else",
		Example: "  gaffer worktree list\n  gaffer worktree list abc1 --json",
		Args:    cobra.MaximumNArgs(1),
		ValidArgsFunction: completer(e, func(trees []worktree.Tree) (runs []string) {
			for _, t := range trees {
				if !slices.Contains(runs, t.Run) {
					runs = append(runs, t.Run)
				}
			}
			return runs
		}),
	}
	asJSON := env.JSONFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		run := ""
		if len(args) == 1 {
			run = args[0]
		}
		rows, err := look(cmd.Context(), e, run)
		if err != nil {
			return err
		}
		if *asJSON {
			return e.PrintJSON(rows)
		}
		return show(e, rows)
	}
	return cmd
}

// row is the JSON form of one worktree.
type row struct {
	Run        string `json:"run"`
	Task       string `json:"task"`
	Path       string `json:"path"`
	Branch     string `json:"branch"`
	Missing    bool   `json:"missing,omitempty"` // the folder no longer exists
	Dirty      int    `json:"dirty"`             // number of uncommitted files
	Ahead      int    `json:"ahead"`             // number of commits since the base commit
	Unpushed   int    `json:"unpushed"`          // number of commits that exist on no other branch or remote
	Files      int    `json:"files"`             // number of files that differ from the base commit
	Insertions int    `json:"insertions"`
	Deletions  int    `json:"deletions"`
	Used       []int  `json:"used,omitempty"` // ids of the processes that use the worktree
}

func look(ctx context.Context, e *env.Env, run string) ([]row, error) {
	repo, err := open(ctx, e)
	if err != nil {
		return nil, err
	}
	trees, err := repo.List(ctx, "")
	if err != nil {
		return nil, err
	}
	trees = slices.DeleteFunc(trees, func(t worktree.Tree) bool { return !matchesRun(run, t.Run) })
	if run != "" && len(trees) == 0 {
		return nil, exit.WithHint(exit.NotFound(fmt.Errorf("run %q: no task has a worktree", run)), "'gaffer worktree list' shows them all")
	}
	rows := make([]row, len(trees))
	for i, t := range trees {
		rows[i] = row{Run: t.Run, Task: t.Task, Path: t.Path, Branch: t.Branch}
		s, err := repo.Status(ctx, t)
		if gone := (*git.MissingError)(nil); errors.As(err, &gone) {
			rows[i].Missing = true
			continue
		}
		if err != nil {
			return nil, err
		}
		rows[i].fill(s)
	}
	return rows, nil
}

func (r *row) fill(s worktree.Status) {
	r.Dirty, r.Ahead, r.Unpushed = len(s.Dirty), s.Ahead, s.Unpushed
	r.Files, r.Insertions, r.Deletions = s.Diff.Files, s.Diff.Insertions, s.Diff.Deletions
	for _, o := range s.Occupants {
		r.Used = append(r.Used, o.PID)
	}
}

func show(e *env.Env, rows []row) error {
	if len(rows) == 0 {
		e.Talk("no task has a worktree")
		return nil
	}
	lines := [][]string{{"RUN", "TASK", "BRANCH", "CHANGES", "STATE"}}
	for _, r := range rows {
		changes := fmt.Sprintf("%s +%d -%d", phrase.Count(r.Files, "file"), r.Insertions, r.Deletions)
		lines = append(lines, []string{r.Run, display.Printable(r.Task), display.Printable(r.Branch), changes, r.state()})
	}
	return table.Texts(e, lines)
}

// state returns what the user should know before removing the worktree: that its folder is gone,
// that it contains work which exists nowhere else, or that a process uses it. If none of these is
// true, state returns "can be removed".
func (r row) state() string {
	var words []string
	if r.Missing {
		words = append(words, "folder is gone")
	}
	if r.Dirty > 0 {
		words = append(words, fmt.Sprintf("%d not committed", r.Dirty))
	}
	if r.Unpushed > 0 {
		words = append(words, phrase.Count(r.Unpushed, "commit")+" nowhere else")
	}
	if len(r.Used) > 0 {
		words = append(words, fmt.Sprintf("used by pid %d", r.Used[0]))
	}
	if len(words) == 0 {
		return "can be removed"
	}
	return strings.Join(words, ", ")
}
