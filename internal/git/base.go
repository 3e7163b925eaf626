package git

import (
	"context"
	"strings"
)

// Base is the commit at which a task's branch starts.
type Base struct {
	Commit string `json:"commit"` // full id of the commit
	// Branch is the name of the branch whose last commit was chosen as Commit. It is empty if the
	// user named a commit, or if the user named nothing and HEAD is detached.
	Branch string `json:"branch,omitempty"`
}

// Base resolves the name of a branch or commit. An empty name means the commit that is
// checked out in the worktree where [Open] was called. It returns a [*MissingError] if
// the name does not exist.
func (r *Repo) Base(ctx context.Context, name string) (Base, error) {
	if name == "" || name == "HEAD" {
		return r.head(ctx)
	}
	name = strings.TrimPrefix(name, Heads)
	tip, err := r.Git.CommitID(ctx, Heads+name)
	if err != nil || tip != "" {
		return Base{Commit: tip, Branch: name}, err
	}
	tip, err = r.Git.In(r.here).CommitID(ctx, name)
	if err == nil && tip == "" {
		err = &MissingError{"branch or commit", name, "'git branch --all' lists the branches"}
	}
	return Base{Commit: tip}, err
}

func (r *Repo) head(ctx context.Context) (Base, error) {
	g := r.Git.In(r.here)
	tip, err := g.CommitID(ctx, "HEAD")
	if err != nil {
		return Base{}, err
	}
	if tip == "" {
		return Base{}, &OpenError{Problem: NoCommit, Dir: r.here}
	}
	branch, err := g.HeadBranch(ctx)
	return Base{Commit: tip, Branch: branch}, err
}
