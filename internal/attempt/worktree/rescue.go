package worktree

import (
	"context"
	"fmt"
	"strings"
)

// Rescue keeps the content of a tree under a ref and returns the ref:
// refs/gaffer/rescue/<run>/<task>, with a number appended if that one keeps something
// else. The ref points to the checked-out commit. If there are uncommitted files, it
// points to a commit on top that has every file that is not ignored. If the index
// differs from both, a commit of the index is its second parent. The worktree and its
// index are not changed.
//
// If the tree's folder is missing, Rescue keeps its commits.
func (r *Repo) Rescue(ctx context.Context, t Tree) (ref string, err error) {
	rec, err := r.findRecord(t)
	if err == nil {
		ref, err = r.rescue(ctx, r.git, rec.Tree)
	}
	if err != nil {
		return "", fmt.Errorf("rescue %s: %w", t.Path, err)
	}
	return ref, nil
}

func (r *Repo) rescue(ctx context.Context, g git, t Tree) (string, error) {
	if filled, err := isFilled(t.Path); err != nil {
		return "", err
	} else if !filled {
		return r.rescueGone(ctx, g, t)
	}
	at, err := r.at(g, t)
	if err != nil {
		return "", err
	}
	commit, err := r.snapshotCommit(ctx, at, t)
	if err != nil {
		return "", err
	}
	return r.keep(ctx, g, t, commit)
}

// rescueGone keeps the commits that git still knows of a worktree without a folder.
func (r *Repo) rescueGone(ctx context.Context, g git, t Tree) (string, error) {
	list, err := r.entries(ctx, g)
	if err != nil {
		return "", err
	}
	e, _ := linked(list, t.Path)
	if e.head == "" {
		if e.head, err = g.commit(ctx, headsPrefix+t.Branch); err != nil {
			return "", err
		}
	}
	if e.head == "" {
		e.head = t.Base.Commit
	}
	return r.keep(ctx, g, t, e.head)
}

// snapshotCommit creates a commit of all files in a worktree. It returns HEAD if that
// has the same content.
func (r *Repo) snapshotCommit(ctx context.Context, g git, t Tree) (string, error) {
	snap, err := snapshotOf(ctx, g)
	if err != nil {
		return "", err
	}
	head, err := g.commit(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	var parents []string
	if head != "" {
		parents = append(parents, head)
		tree, err := g.resolve(ctx, head+"^{tree}")
		if err != nil {
			return "", err
		}
		if snap.staged == tree {
			snap.staged = ""
		}
		if snap.tree == tree && snap.staged == "" {
			return head, nil
		}
	}
	if g, err = g.withAuthor(ctx); err != nil {
		return "", err
	}
	if snap.staged != "" {
		index, err := g.commitTree(ctx, snap.staged, rescueMessage(t, "what was staged"), parents...)
		if err != nil {
			return "", err
		}
		parents = append(parents, index)
	}
	return g.commitTree(ctx, snap.tree, rescueMessage(t, "what was not committed"), parents...)
}

func rescueMessage(t Tree, what string) string {
	return fmt.Sprintf("gaffer rescue: %s in task %s\n\nRun: %s\nTask: %s\nBranch: %s\nWorktree: %s\n",
		what, t.Task, t.Run, t.Task, t.Branch, t.Path)
}

func snapshotOf(ctx context.Context, g git) (snapshot, error) {
	dirty, err := files(ctx, g)
	if err != nil {
		return snapshot{}, err
	}
	without, err := nested(ctx, g, dirty)
	if err != nil {
		return snapshot{}, err
	}
	s, err := newScratch(ctx, g)
	if err != nil {
		return snapshot{}, err
	}
	defer s.close()
	return s.take(ctx, without)
}

// keep assigns a commit to the tree's first rescue ref that is free or already has the
// same content.
func (r *Repo) keep(ctx context.Context, g git, t Tree, commit string) (string, error) {
	base := rescuePrefix + refPart(t.Run) + "/" + refPart(t.Task)
	want, err := g.content(ctx, commit)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		ref := base
		if n > 1 {
			ref = fmt.Sprintf("%s-%d", base, n)
		}
		found, err := g.commit(ctx, ref)
		if err != nil {
			return "", err
		}
		if found == "" {
			_, err := g.run(ctx, "update-ref", "-m", "gaffer: rescue", ref, commit, "")
			return ref, err
		}
		if got, err := g.content(ctx, found); err != nil || found == commit || got == want {
			return ref, err
		}
	}
}

// content identifies a commit apart from its time: by its tree, its first parent and
// the tree of its second parent.
func (g git) content(ctx context.Context, commit string) (string, error) {
	var parts []string
	for _, of := range []string{"^{tree}", "^1", "^2^{tree}"} {
		part, err := g.resolve(ctx, commit+of)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " "), nil
}

// commitTree creates a commit and changes nothing else.
func (g git) commitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	out, err := g.feed(ctx, message, append(args, "-F", "-")...)
	return strings.TrimSpace(out), err
}

// withAuthor returns git with a name for authors and committers: the user's, or "gaffer" if
// the user has configured none. A name that git derives from the machine's name does
// not count.
func (g git) withAuthor(ctx context.Context) (git, error) {
	for _, role := range []string{"GIT_AUTHOR", "GIT_COMMITTER"} {
		_, err := g.run(ctx, "-c", "user.useConfigOnly=true", "var", role+"_IDENT")
		switch {
		case exitCode(err) > 0:
			g = g.with(role+"_NAME=gaffer", role+"_EMAIL=gaffer@localhost")
		case err != nil:
			return git{}, err
		}
	}
	return g, nil
}
