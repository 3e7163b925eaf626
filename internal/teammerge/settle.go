package teammerge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/teamwork"
	"gaffer/internal/worktree"
)

// settle commits what agents have left uncommitted in worktrees of the run that
// have one of the two branches. What it cannot commit for them in the one that
// is merged is returned as an outcome; in the other one it is left, and the
// merge says so if it is in the way.
func (o Order) settle(ctx context.Context, repo *worktree.Repo, out *lineWriter) (*teamwork.Merged, error) {
	trees, err := repo.List(ctx, o.Run)
	if err != nil {
		return nil, err
	}
	for _, t := range trees {
		if t.Branch != o.Branch && t.Branch != o.Into {
			continue
		}
		status, err := repo.Status(ctx, t)
		if missing := (*worktree.MissingError)(nil); errors.As(err, &missing) { // what is on the branch counts
			continue
		}
		if err != nil {
			return nil, err
		}
		problem, err := judge(ctx, repo, t, status)
		if err != nil || problem != nil && t.Branch == o.Branch {
			return problem, err
		}
		if status.Branch != t.Branch || problem != nil || t.Branch == o.Into && len(status.Occupants) > 0 {
			continue
		}
		if err := o.commit(ctx, repo, t, out); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (o Order) commit(ctx context.Context, repo *worktree.Repo, t worktree.Tree, out *lineWriter) error {
	message := fmt.Sprintf("What was left uncommitted in %s", t.Task)
	if t.Task == o.Tree {
		message = fmt.Sprintf("What group %s has left uncommitted", o.Tree)
	}
	made, err := repo.Commit(ctx, t, message)
	if made != "" {
		out.say("committed what was left in %s: %s", t.Path, made)
	}
	return err
}

// judge finds what an agent has left in a worktree that only an agent can put
// right: a merge with conflicts, which would be committed with its marks, or
// work that is not on the branch and would be left out without a word.
func judge(ctx context.Context, repo *worktree.Repo, t worktree.Tree, s worktree.Status) (*teamwork.Merged, error) {
	if files := unmerged(s.Dirty); len(files) > 0 {
		m := conflict(files, fmt.Sprintf("%s has a merge that is not finished, with conflicts in %s: put them right there and commit",
			t.Path, strings.Join(files[:min(len(files), maxConflicts)], ", ")))
		return &m, nil
	}
	if s.Branch == t.Branch {
		return nil, nil
	}
	has, err := repo.Contains(ctx, t.Branch, s.Head)
	if err != nil || has && s.Clean() {
		return nil, err
	}
	m := conflict(nil, elsewhere(t, s))
	return &m, nil
}

func elsewhere(t worktree.Tree, s worktree.Status) string {
	on := "no branch"
	if s.Branch != "" {
		on = "branch " + s.Branch
	}
	return fmt.Sprintf("%s has %s checked out in place of %s, with work that is not on that: commit all of it there, "+
		"then bring it over with 'git switch %[3]s' and 'git merge' of the commit", t.Path, on, t.Branch)
}

// unmerged are the files that git waits for somebody to put right.
func unmerged(dirty []worktree.File) []string {
	var files []string
	for _, f := range dirty {
		if strings.Contains(f.State, "U") || f.State == "AA" || f.State == "DD" {
			files = append(files, f.Path)
		}
	}
	return files
}
