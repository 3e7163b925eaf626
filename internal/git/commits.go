package git

import (
	"context"
	"strconv"
	"strings"
)

// CommitID returns the id of the commit with this name, or "" if there is none. The name may be any
// that git accepts, such as a branch.
func (g Client) CommitID(ctx context.Context, name string) (string, error) {
	return g.Resolve(ctx, name+"^{commit}")
}

// Resolve returns the id of the git object with this name, or "" if there is none.
func (g Client) Resolve(ctx context.Context, name string) (string, error) {
	id, err := g.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name)
	if ExitCode(err) > 0 { // exit code 1: there is no such object; 128: the name is not valid
		return "", nil
	}
	return id, err
}

// Contains reports whether ancestor is the given commit or one of its ancestors.
func (g Client) Contains(ctx context.Context, commit, ancestor string) (bool, error) {
	_, err := g.Run(ctx, "merge-base", "--is-ancestor", ancestor, commit)
	if ExitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// CountCommits counts the commits that git rev-list finds for the arguments.
func (g Client) CountCommits(ctx context.Context, args ...string) (int, error) {
	out, err := g.Line(ctx, append([]string{"rev-list", "--count"}, args...)...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// CommitTree creates a commit with the files of a tree, and returns the commit's id. No branch
// points to the commit.
func (g Client) CommitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := g.Feed(ctx, message, append(args, "-F", "-")...)
	return strings.TrimSpace(out), err
}

// WithAuthor returns a client that can create commits, with the user as author and committer. If
// the user's git configuration lacks a name or an email address, the client uses the name gaffer.
// It does not use what git derives from the names of the user's account and the machine.
func (g Client) WithAuthor(ctx context.Context) (Client, error) {
	for _, role := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		_, err := g.Run(ctx, "-c", "user.useConfigOnly=true", "var", role+"_IDENT")
		switch {
		case ExitCode(err) > 0:
			g = g.With(role+"_NAME=gaffer", role+"_EMAIL=gaffer@localhost")
		case err != nil:
			return Client{}, err
		}
	}
	return g, nil
}

// UpdateRefs changes refs in one transaction: all steps succeed, or none has an effect. steps has
// one line for each change, in the format of git update-ref --stdin. message is written to the
// reflog.
func (g Client) UpdateRefs(ctx context.Context, message, steps string) error {
	_, err := g.Feed(ctx, "start\n"+steps+"prepare\ncommit\n", "update-ref", "-m", message, "--stdin")
	return err
}

// HeadBranch returns the name of the branch that is checked out in the client's folder, or "" if
// HEAD is detached.
func (g Client) HeadBranch(ctx context.Context) (string, error) {
	ref, err := g.Line(ctx, "symbolic-ref", "--quiet", "HEAD")
	if ExitCode(err) == 1 { // HEAD is detached
		return "", nil
	}
	return strings.TrimPrefix(ref, Heads), err
}
