package worktree

import (
	"context"
	"fmt"

	"gaffer/internal/git"
)

// Status is the state of a worktree at one moment.
type Status struct {
	Head      string     // id of the checked-out commit; empty if there is none
	Branch    string     // name of the checked-out branch; empty if HEAD is detached
	Dirty     []File     // files that are neither committed nor ignored
	Nested    []string   // paths of other repositories inside the worktree
	Ahead     int        // number of commits since the base commit
	Unpushed  int        // number of commits since the base commit that no other branch and no remote has
	Locked    string     // why the worktree is locked; empty if it is not locked
	Occupants []Occupant // processes whose current folder is in the worktree
	Diff      Diff
}

// Diff counts the differences between a worktree and its base commit, including uncommitted ones.
type Diff struct {
	Files, Insertions, Deletions int // binary files count only in Files
}

// Clean reports whether everything in the worktree is committed or ignored.
func (s Status) Clean() bool { return len(s.Dirty) == 0 }

// Status examines a worktree and changes nothing in it. It returns a [*git.MissingError] if the
// worktree's folder is missing.
func (r *Repo) Status(ctx context.Context, t Tree) (Status, error) {
	rec, err := r.records.find(t)
	if err != nil {
		return Status{}, err
	}
	g, err := r.inTree(r.Git, rec.Tree)
	if err != nil {
		return Status{}, err
	}
	s, err := r.status(ctx, g, rec)
	if err != nil {
		return Status{}, fmt.Errorf("status of %s: %w", t.Path, err)
	}
	return s, nil
}

func (r *Repo) status(ctx context.Context, g git.Client, rec record) (s Status, err error) {
	if s.Head, err = g.CommitID(ctx, "HEAD"); err != nil {
		return s, err
	}
	if err := r.readGitList(ctx, g, rec.Path, &s); err != nil {
		return s, err
	}
	if s.Dirty, err = uncommittedFiles(ctx, g); err != nil {
		return s, err
	}
	if s.Nested, err = nestedRepositories(ctx, g, s.Dirty); err != nil {
		return s, err
	}
	if s.Ahead, s.Unpushed, err = countCommits(ctx, g, rec.Tree, s.Head); err != nil {
		return s, err
	}
	diffs, err := r.compare(ctx, g, rec.Tree, s.Nested)
	if err != nil {
		return s, err
	}
	for _, f := range diffs {
		s.Diff = Diff{s.Diff.Files + 1, s.Diff.Insertions + f.Insertions, s.Diff.Deletions + f.Deletions}
	}
	more, err := hiddenRepositories(ctx, g)
	if err != nil {
		return s, err
	}
	s.Nested = append(s.Nested, more...)
	s.Occupants, err = processesIn(ctx, rec.Path)
	return s, err
}

// readGitList sets s.Locked and s.Branch from git's list of worktrees.
func (r *Repo) readGitList(ctx context.Context, g git.Client, path string, s *Status) error {
	list, err := r.Worktrees(ctx, g)
	if err != nil {
		return err
	}
	e, ok := git.FindLinked(list, path)
	if ok && e.Locked && e.Reason != git.Initializing {
		s.Locked = "locked"
		if e.Reason != "" {
			s.Locked = e.Reason
		}
	}
	s.Branch = e.Branch
	return nil
}

// countCommits counts the commits since the worktree's base commit. ahead is the number of these
// commits that head has, or 0 if head is empty. unpushed is the number of these commits, on head or
// on the task's branch, that would be lost if the worktree was removed and its branch deleted. A
// shared branch is never deleted.
func countCommits(ctx context.Context, g git.Client, t Tree, head string) (ahead, unpushed int, err error) {
	if head != "" {
		if ahead, err = g.CountCommits(ctx, head, "--not", t.Base.Commit); err != nil {
			return 0, 0, err
		}
	}
	tips, err := tipsOf(ctx, g, t, head)
	if err != nil || len(tips) == 0 {
		return ahead, 0, err
	}
	args := append(tips, "--not", t.Base.Commit)
	if !t.Shared { // this branch may be deleted, so commits that only it has would be lost
		args = append(args, "--exclude="+t.Branch)
	}
	unpushed, err = g.CountCommits(ctx, append(args, "--branches", "--remotes")...)
	return ahead, unpushed, err
}

// tipsOf returns the ids of a worktree's newest commits: HEAD and the tip of the task's branch.
func tipsOf(ctx context.Context, g git.Client, t Tree, head string) ([]string, error) {
	var tips []string
	if head != "" {
		tips = append(tips, head)
	}
	tip, err := g.CommitID(ctx, git.Heads+t.Branch)
	if tip != "" {
		tips = append(tips, tip)
	}
	return tips, err
}
