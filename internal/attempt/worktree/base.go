package worktree

import (
	"context"
	"strings"
)

// Base is the commit from which work starts.
type Base struct {
	Commit string `json:"commit"`           // full id
	Branch string `json:"branch,omitempty"` // the branch whose tip this is, if it was named or checked out
}

// Base resolves the name of a branch or commit. An empty name means the commit that is
// checked out in the worktree where [Open] was called. It returns a [*MissingError] if
// the name does not exist.
func (r *Repo) Base(ctx context.Context, name string) (Base, error) {
	if name == "" || name == "HEAD" {
		return r.head(ctx)
	}
	name = strings.TrimPrefix(name, headsPrefix)
	tip, err := r.git.commit(ctx, headsPrefix+name)
	if err != nil || tip != "" {
		return Base{Commit: tip, Branch: name}, err
	}
	tip, err = r.git.in(r.here).commit(ctx, name)
	if err == nil && tip == "" {
		err = &MissingError{"branch or commit", name, "'git branch --all' lists the branches"}
	}
	return Base{Commit: tip}, err
}

func (r *Repo) head(ctx context.Context) (Base, error) {
	g := r.git.in(r.here)
	tip, err := g.commit(ctx, "HEAD")
	if err != nil {
		return Base{}, err
	}
	if tip == "" {
		return Base{}, &OpenError{Problem: NoCommit, Dir: r.here}
	}
	branch, err := g.line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if exitCode(err) == 1 { // detached HEAD
		err = nil
	}
	return Base{Commit: tip, Branch: strings.TrimPrefix(branch, headsPrefix)}, err
}

// Branches returns the names of all branches. The value is true if the branch has
// commits that are not in HEAD of the worktree where [Open] was called.
func (r *Repo) Branches(ctx context.Context) (map[string]bool, error) {
	g := r.git.in(r.here)
	all, err := g.run(ctx, "for-each-ref", "--format=%(refname)", headsPrefix)
	if err != nil {
		return nil, err
	}
	more, err := g.run(ctx, "for-each-ref", "--format=%(refname)", "--no-merged=HEAD", headsPrefix)
	if err != nil {
		return nil, err
	}
	branches := map[string]bool{}
	for name := range strings.Lines(all) {
		branches[strings.TrimPrefix(strings.TrimSpace(name), headsPrefix)] = false
	}
	for name := range strings.Lines(more) {
		branches[strings.TrimPrefix(strings.TrimSpace(name), headsPrefix)] = true
	}
	return branches, nil
}

// Branch creates a branch at a base if it does not exist, and returns the branch's tip.
func (r *Repo) Branch(ctx context.Context, name string, from Base) (Base, error) {
	if err := r.git.checkBranch(ctx, name); err != nil {
		return Base{}, err
	}
	made := Base{Branch: name}
	err := r.locked(ctx, func(g git) (err error) {
		made.Commit, err = g.startBranch(ctx, name, from.Commit)
		return err
	})
	return made, err
}

// startBranch returns the tip of a branch. It creates the branch at commit if it does
// not exist.
func (g git) startBranch(ctx context.Context, name, commit string) (string, error) {
	tip, err := g.commit(ctx, headsPrefix+name)
	if err != nil || tip != "" {
		return tip, err
	}
	_, err = g.run(ctx, "update-ref", "-m", "gaffer: start", headsPrefix+name, commit, "")
	if exitCode(err) > 0 {
		return "", g.whyNoBranch(ctx, name, commit, err)
	}
	return commit, err
}

func (g git) whyNoBranch(ctx context.Context, name, commit string, err error) error {
	if found, e := g.commit(ctx, commit); e == nil && found == "" {
		return &MissingError{"commit", commit, ""}
	}
	return &TakenError{
		"branch", name, "cannot be made: " + err.Error(),
		"rename the branch that is in its way, or let the task have another one",
	}
}
