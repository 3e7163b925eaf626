package merge

import (
	"fmt"
	"path/filepath"
	"strings"

	"gaffer/internal/git"
)

// ConflictError reports that a branch cannot be merged or rebased because of conflicts, which the
// user must resolve.
type ConflictError struct {
	Into, Branch string
	Files        []string // files with conflicts
	Dir          string   // path of the worktree in which the user resolves the conflicts
	// Commands are the git commands that finish the merge or rebase. The user runs them in this
	// order, and resolves the conflicts in the files before the last two commands.
	Commands []string
	Rest     []string // branches that were to be merged after Branch, and were not
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("branch %s: conflict in %s", e.Branch, git.FirstFew(e.Files))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ConflictError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *ConflictError) Hint() string {
	last := len(e.Commands) - 2
	lines := append([]string{}, e.Commands[:last]...)
	lines = append(lines, "# put right in "+e.Dir+": "+git.FirstFew(e.Files))
	lines = append(lines, e.Commands[last:]...)
	return "to finish it, run:\n  " + strings.Join(lines, "\n  ") + "\nand merge again"
}

// conflict returns the error that explains how to finish a merge by hand: the user merges the
// target into the branch, in the worktree that has the branch checked out. If no worktree has it
// checked out, the first command creates one. After that, gaffer can merge the branch into the
// target without conflicts.
func (t *target) conflict(branch string, files []string) *ConflictError {
	e := &ConflictError{Into: t.branch, Branch: branch, Files: files}
	if where := git.CheckedOut(t.worktrees, branch); len(where) > 0 {
		e.Dir = where[0].Path
	} else {
		e.Dir = t.repo.Main() + "-merge-" + git.RefPart(strings.ReplaceAll(branch, "/", "-"))
		e.Commands = append(e.Commands, fmt.Sprintf("git -C %s worktree add %s %s", git.Quote(t.repo.Main()), git.Quote(e.Dir), git.Quote(branch)))
	}
	command := "git -C " + git.Quote(filepath.Clean(e.Dir))
	var paths []string
	for _, f := range files {
		paths = append(paths, git.Quote(f))
	}
	e.Commands = append(e.Commands,
		fmt.Sprintf("%s merge %s", command, git.Quote(t.branch)),
		fmt.Sprintf("%s add --all -- %s", command, strings.Join(paths, " ")),
		command+" commit --no-edit")
	return e
}

// rebaseConflict returns the error that explains how to finish a rebase by hand.
func (t *target) rebaseConflict(branch string, files []string) *ConflictError {
	e := t.conflict(branch, files)
	command := "git -C " + git.Quote(e.Dir)
	create := e.Commands[:len(e.Commands)-3] // the command that creates a worktree; empty if the branch has one
	e.Commands = append(create, command+" rebase "+git.Quote(t.branch), command+" add --all", command+" rebase --continue")
	return e
}
