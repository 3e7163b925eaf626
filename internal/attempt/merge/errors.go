package merge

import (
	"fmt"

	"gaffer/internal/git"
)

// TargetError reports that the target branch cannot be moved: a rebase of it is unfinished, or a
// worktree has it checked out and cannot be updated. Nothing was changed.
type TargetError struct {
	Branch, Path string
	Files        []string // files in the worktree with uncommitted changes
	Problem      string   // why the branch cannot be moved, if Files is empty
}

func (e *TargetError) Error() string {
	problem := e.Problem
	if problem == "" {
		problem = fmt.Sprintf("%s not committed: %s", git.Count(len(e.Files), "file"), git.FirstFew(e.Files))
	}
	return fmt.Sprintf("branch %s is checked out in %s: %s", e.Branch, e.Path, problem)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *TargetError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *TargetError) Hint() string {
	path := git.Quote(e.Path)
	if len(e.Files) > 0 {
		return fmt.Sprintf("commit them, or put them aside with 'git -C %s stash', and merge again", path)
	}
	return fmt.Sprintf("put that right, or check out another branch with 'git -C %s switch', and merge again", path)
}

// ConsentError reports that a merge or its undo would change files of a worktree, because that
// worktree has the target branch checked out. The user has not agreed to that. Nothing was changed.
type ConsentError struct{ Branch, Path string }

func (e *ConsentError) Error() string {
	return fmt.Sprintf("branch %s is checked out in %s, whose files would change", e.Branch, e.Path)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ConsentError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *ConsentError) Hint() string { return "allow that with --yes" }

// CheckError reports that [Spec.Check] or [LandSpec.Check] has rejected the result of a merge.
// Nothing was changed.
type CheckError struct {
	Into   string
	Commit string // id of the commit that was checked; no ref points to it
	Err    error  // error that Check returned
}

func (e *CheckError) Error() string { return "check of what it would become: " + e.Err.Error() }
func (e *CheckError) Unwrap() error { return e.Err }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *CheckError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *CheckError) Hint() string {
	return "nothing was merged: put it right on the branch that is to be merged, and merge again"
}

// NothingError reports that the target branch already contains the work of a task, or
// that the task has changed nothing.
type NothingError struct{ Branch, Into string }

func (e *NothingError) Error() string {
	return fmt.Sprintf("branch %s has no commit that %s lacks", e.Branch, e.Into)
}

// RevertedError reports that the branch was merged before and that the merge was then reverted.
// Merging it again would not bring the changes back, because git considers them merged.
type RevertedError struct {
	Branch, Into string
	Commit       string // id of the commit that reverted the merge
}

func (e *RevertedError) Error() string {
	return fmt.Sprintf("branch %s was merged into %s before, and commit %.12s has reverted that", e.Branch, e.Into, e.Commit)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *RevertedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *RevertedError) Hint() string {
	return fmt.Sprintf("bring it back with 'git revert %.12s' on %s, then merge again", e.Commit, e.Into)
}

// NotLinearError reports that a branch with merge commits cannot be rebased.
type NotLinearError struct{ Branch string }

func (e *NotLinearError) Error() string {
	return fmt.Sprintf("branch %s has merge commits, which a rebase would lose", e.Branch)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *NotLinearError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *NotLinearError) Hint() string { return "use --merge or --squash" }
