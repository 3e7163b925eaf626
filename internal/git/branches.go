package git

import (
	"context"
	"fmt"
	"strings"
)

// CheckBranchName returns a [*SpecError] if name is not valid as the name of a branch.
func (g Client) CheckBranchName(ctx context.Context, name string) error {
	bad := name == "HEAD" || strings.HasPrefix(name, "-")
	if !bad {
		_, err := g.Run(ctx, "check-ref-format", Heads+name)
		if ExitCode(err) < 0 && err != nil {
			return err
		}
		bad = err != nil
	}
	if bad {
		return &SpecError{Problem: fmt.Sprintf("%q cannot be the name of a branch", name)}
	}
	return nil
}

// StartBranch returns the id of the last commit of a branch. If the branch does not exist, it
// creates the branch at the commit with the id commit, and returns this id.
func (g Client) StartBranch(ctx context.Context, name, commit string) (string, error) {
	tip, err := g.CommitID(ctx, Heads+name)
	if err != nil || tip != "" {
		return tip, err
	}
	_, err = g.Run(ctx, "update-ref", "-m", "gaffer: start", Heads+name, commit, "")
	if ExitCode(err) > 0 {
		return "", g.whyNoBranch(ctx, name, commit, err)
	}
	return commit, err
}

func (g Client) whyNoBranch(ctx context.Context, name, commit string, err error) error {
	if found, e := g.CommitID(ctx, commit); e == nil && found == "" {
		return &MissingError{"commit", commit, ""}
	}
	return &TakenError{
		"branch", name, "cannot be made: " + err.Error(),
		"rename the branch that is in its way, or let the task have another one",
	}
}

// Branches returns all branches, by name. The value of a branch is true if the branch has commits
// that are not in the HEAD of the worktree where [Open] was called.
func (r *Repo) Branches(ctx context.Context) (map[string]bool, error) {
	g := r.Git.In(r.here)
	all, err := g.Run(ctx, "for-each-ref", "--format=%(refname)", Heads)
	if err != nil {
		return nil, err
	}
	more, err := g.Run(ctx, "for-each-ref", "--format=%(refname)", "--no-merged=HEAD", Heads)
	if err != nil {
		return nil, err
	}
	branches := map[string]bool{}
	for name := range strings.Lines(all) {
		branches[strings.TrimPrefix(strings.TrimSpace(name), Heads)] = false
	}
	for name := range strings.Lines(more) {
		branches[strings.TrimPrefix(strings.TrimSpace(name), Heads)] = true
	}
	return branches, nil
}

// Branch returns the last commit of a branch. If the branch does not exist, it creates the branch
// at start.Commit.
func (r *Repo) Branch(ctx context.Context, name string, start Base) (Base, error) {
	if err := r.Git.CheckBranchName(ctx, name); err != nil {
		return Base{}, err
	}
	made := Base{Branch: name}
	err := r.Locked(ctx, func(g Client) (err error) {
		made.Commit, err = g.StartBranch(ctx, name, start.Commit)
		return err
	})
	return made, err
}

// Tip returns the id of the last commit of a branch, or "" if the branch does not exist.
func (r *Repo) Tip(ctx context.Context, branch string) (string, error) {
	return r.Git.CommitID(ctx, Heads+branch)
}

// TreeOf returns the id of the tree of a branch's last commit, or "" if the branch does not exist.
func (r *Repo) TreeOf(ctx context.Context, branch string) (string, error) {
	return r.Git.Resolve(ctx, Heads+branch+"^{tree}")
}

// Contains reports whether a branch contains a commit. It returns false if the branch does not
// exist.
func (r *Repo) Contains(ctx context.Context, branch, commit string) (bool, error) {
	tip, err := r.Git.CommitID(ctx, Heads+branch)
	if err != nil || tip == "" {
		return false, err
	}
	return r.Git.Contains(ctx, tip, commit)
}
