package worktree

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
)

func remove(e *env.Env) *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use:   "remove [RUN/]TASK…",
		Short: "Remove worktrees; what is in them is kept under a rescue ref",
		Long: `Remove worktrees whose content is not lost by that. A worktree with uncommitted
files, or with commits that exist nowhere else, is removed only with --force; one
that is in use or locked is never removed. Before the removal, the content is kept
under refs/gaffer/rescue.`,
		Example: "  gaffer worktree remove api\n  gaffer worktree remove abc1/api --force",
		Args:    cobra.MinimumNArgs(1),
		ValidArgsFunction: completer(e, func(trees []worktree.Tree) (tasks []string) {
			for _, t := range trees {
				tasks = append(tasks, t.Run+"/"+t.Task+"\t"+display.Printable(t.Branch))
			}
			return tasks
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "also with work that is nowhere else")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		repo, err := open(ctx, e)
		if err != nil {
			return err
		}
		trees, err := repo.List(ctx, "")
		if err != nil {
			return err
		}
		for _, name := range args {
			t, err := find(trees, name)
			if err != nil {
				return err
			}
			done, err := repo.Remove(ctx, t, force)
			if err != nil {
				return err
			}
			if err := e.Printf("removed %s, kept as %s\n", t.Path, done.Rescue); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// find returns the worktree with the name that the user has typed. name has the form TASK or
// RUN/TASK.
func find(trees []worktree.Tree, name string) (worktree.Tree, error) {
	run, task, whole := strings.Cut(name, "/")
	if !whole {
		run, task = "", name
	}
	var found []worktree.Tree
	for _, t := range trees {
		if t.Task == task && matchesRun(run, t.Run) {
			found = append(found, t)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return worktree.Tree{}, exit.WithHint(&notFound{name}, "'gaffer worktree list' shows them")
	}
	return worktree.Tree{}, exit.Usage(fmt.Errorf("%q could be a worktree of %d runs: name it as RUN/TASK", name, len(found)))
}

type notFound struct{ name string }

func (e *notFound) Error() string { return fmt.Sprintf("worktree %q: not found", e.name) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *notFound) NotFound() bool { return true }
