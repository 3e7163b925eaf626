// Package merge merges the branches of tasks into other branches, and can undo such a merge.
//
// A merge needs no worktree: its commits are created directly as git objects, and at first no
// branch refers to them. The caller may have the result checked, in a temporary worktree. Then the
// target branch moves, unless another program has moved one of the branches in the meantime. After
// a crash the target branch contains either the whole merge or nothing of it.
//
//	[Branches]  merges several branches in order
//	[Land]      merges the branch of one task, so that the merge can be undone
//	[Undo]      undoes a merge that Land has made; such a merge is called a landing
//	[Rebase]    copies the commits of a task's branch onto another branch
//	[Preview]   says what a merge would do, and changes nothing
//
// Refs keep the commits of each landing, even after it was undone, so that nothing is lost:
//
//	refs/gaffer/undo/<run>/<task>/<n>    a landing: the target's commits before and after
//	refs/gaffer/undone/<run>/<task>/<n>  a landing that was undone
//
// If a worktree of the user has the target branch checked out, the files there change too.
// [Branches] and [Land] change them only if the worktree has no uncommitted changes. [Land] and
// [Undo] change them only with the user's consent.
package merge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
)

// Spec describes which branches to merge into a target branch.
type Spec struct {
	Into     string   // the target branch
	Branches []string // branches to merge, in this order
	// Titles has the titles of the merge commits, in the order of Branches. If a title is empty or
	// missing, it is "Merge branch 'NAME' into INTO".
	Titles  []string
	Message string // text added to the message of each merge commit; may be empty

	// Check, if not nil, examines the result of the merge before the target branch moves. The
	// parameter dir is a temporary worktree that contains the result. To reject the result, Check
	// returns an error. While Check runs, other processes may use the repository.
	Check func(ctx context.Context, dir string) error `json:"-"`
	// Scratch is the parent folder of the temporary worktree for Check. All merges into the same
	// branch use the same path for that worktree. So tools whose caches depend on the path can use
	// their caches again.
	Scratch string
}

// Result describes what [Branches] has merged. It is also valid if Branches returned an error.
type Result struct {
	Before, After string   // tip of the target branch before and after the merge
	Merged        []Merged // the merged branches, in the order of merging
	Skipped       []string // branches that the target already contained
	// Updated is the path of the worktree that has the target branch checked out and whose files
	// were therefore updated. It is empty if no files were updated.
	Updated string
}

// Merged is the name of a merged branch, and the id of its merge commit.
type Merged struct{ Branch, Commit string }

// Branches merges branches into the target branch, one after the other, with one commit for each.
// It skips branches that the target already contains, so it may be called again. All branches must
// exist. If [worktree.Repo.Remove] has deleted a branch, because another branch or a remote has all
// its commits, the caller must leave that branch out.
//
// Branches needs no worktree. If a worktree has the target branch checked out, Branches also
// updates the files in that worktree. If that worktree has uncommitted changes, Branches changes
// nothing and returns a [*TargetError]. At the first branch with a conflict, Branches stops and
// returns a [*ConflictError]. The branches before that one are merged nevertheless.
//
// If s.Check is set, the target moves only to a commit that Check has accepted. If another program
// moves any of the branches during the check, everything is merged and checked again. If Check
// rejects the result, Branches changes nothing and returns a [*CheckError]. Merges with a Check
// into the same branch run one after the other.
func Branches(ctx context.Context, repo *worktree.Repo, s Spec) (result Result, err error) {
	if err = repo.MayWrite(); err == nil {
		result, err = mergeBranches(ctx, repo, s)
	}
	if err != nil {
		return result, fmt.Errorf("merge into %s: %w", s.Into, err)
	}
	return result, nil
}

func mergeBranches(ctx context.Context, repo *worktree.Repo, s Spec) (result Result, err error) {
	var folder *checkFolder
	if s.Check != nil {
		if folder, err = claimCheckFolder(ctx, repo, s.Into, s.Scratch); err != nil {
			return result, err
		}
		defer folder.release()
	}
	removeLeftCheckFolders(ctx, repo)
	for range maxTries {
		m := merger{spec: s, targetMove: newTargetMove(repo, s.Into, s.Branches, s.Check, folder)}
		err = m.run(ctx, m.publish, m.mergeAll)
		result = m.result
		result.Before, result.After = m.before, m.after
		switch {
		case errors.Is(err, errMoved):
			continue
		case err != nil:
			result.After, result.Merged = m.before, nil
			return result, err
		}
		return result, m.conflict
	}
	result.After, result.Merged = result.Before, nil
	return result, err
}

// merger is one try to merge the branches of a Spec.
type merger struct {
	targetMove
	spec     Spec
	conflict error // the conflict that stopped the merging, or nil
	result   Result
}

// mergeAll creates the merge commits. It stops at the first branch with a conflict.
func (m *merger) mergeAll(ctx context.Context) error {
	for i, branch := range m.spec.Branches {
		tip := m.tips[i]
		merged, err := m.git.Contains(ctx, m.after, tip)
		if err != nil {
			return err
		}
		if merged {
			m.result.Skipped = append(m.result.Skipped, branch)
			continue
		}
		if m.before == m.after {
			if err := m.target.checkMovable(ctx, m.git); err != nil {
				return err
			}
		}
		tree, conflicts, err := mergeTrees(ctx, m.git, m.after, tip)
		if err != nil {
			return fmt.Errorf("branch %s: %w", branch, err)
		}
		if len(conflicts) > 0 {
			e := m.target.conflict(branch, conflicts)
			e.Rest = m.spec.Branches[i+1:]
			m.conflict = e
			return nil
		}
		if m.after, err = m.git.CommitTree(ctx, tree, m.message(i), m.after, tip); err != nil {
			return err
		}
		m.result.Merged = append(m.result.Merged, Merged{branch, m.after})
	}
	return nil
}

// message returns the message of the i-th merge commit. It always has a line that names both
// branches. If m.spec.Titles has a title for this commit, the line follows below that title.
// Otherwise the line is the title.
func (m *merger) message(i int) string {
	text := fmt.Sprintf("Merge branch '%s' into %s\n", m.spec.Branches[i], m.spec.Into)
	if i < len(m.spec.Titles) && m.spec.Titles[i] != "" {
		text = m.spec.Titles[i] + "\n\n" + text
	}
	if m.spec.Message != "" {
		text += "\n" + strings.TrimRight(m.spec.Message, "\n") + "\n"
	}
	return text
}

// publish moves the target branch to the last merge commit. It returns errMoved if another program
// has moved the target branch in the meantime.
func (m *merger) publish(ctx context.Context) error {
	if m.after == m.before {
		return nil
	}
	where := m.target.checkedOut()
	if len(where) == 0 {
		_, err := m.git.Run(ctx, "update-ref", "-m", "gaffer: merge", git.Heads+m.spec.Into, m.after, m.before)
		return m.target.orMoved(ctx, m.git, m.before, err)
	}
	if err := m.target.forward(ctx, m.git, where[0].Path, m.before, m.after); err != nil {
		return err
	}
	m.result.Updated = where[0].Path
	return nil
}
