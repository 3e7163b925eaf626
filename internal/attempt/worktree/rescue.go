package worktree

import (
	"context"
	"fmt"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// rescuePrefix is the start of the names of refs that keep the content of removed worktrees.
const rescuePrefix = "refs/gaffer/rescue/"

// Rescue keeps the content of a worktree under a ref and returns the ref's name:
// refs/gaffer/rescue/<run>/<task>, with a number appended if that ref already keeps other content.
// The ref points to the checked-out commit. If there are uncommitted files, it points to a new
// commit on top of the checked-out one, with every file that is not ignored. If the index differs
// from both commits, a commit of the index is the second parent of the new commit. Rescue changes
// neither the worktree nor its index.
//
// If the worktree's folder is missing, Rescue keeps only the worktree's commits.
func (r *Repo) Rescue(ctx context.Context, t Tree) (ref string, err error) {
	rec, err := r.records.find(t)
	if err == nil {
		ref, err = r.rescue(ctx, r.Git, rec.Tree)
	}
	if err != nil {
		return "", fmt.Errorf("rescue %s: %w", t.Path, err)
	}
	return ref, nil
}

func (r *Repo) rescue(ctx context.Context, g git.Client, t Tree) (string, error) {
	if filled, err := folder.IsFilled(t.Path); err != nil {
		return "", err
	} else if !filled {
		return r.rescueCommits(ctx, g, t)
	}
	at, err := r.inTree(g, t)
	if err != nil {
		return "", err
	}
	commit, err := commitFiles(ctx, at, t)
	if err != nil {
		return "", err
	}
	return KeepCommit(ctx, g, t, commit)
}

// rescueCommits keeps the commits of a worktree under a rescue ref. It does not read the worktree's
// folder, which may be missing. It keeps the commit that git has recorded as the worktree's HEAD.
// If git has recorded none, it keeps the newest commit of the worktree's branch. If the branch is
// missing too, it keeps the worktree's base commit.
func (r *Repo) rescueCommits(ctx context.Context, g git.Client, t Tree) (string, error) {
	list, err := r.Worktrees(ctx, g)
	if err != nil {
		return "", err
	}
	e, _ := git.FindLinked(list, t.Path)
	if e.Head == "" {
		if e.Head, err = g.CommitID(ctx, git.Heads+t.Branch); err != nil {
			return "", err
		}
	}
	if e.Head == "" {
		e.Head = t.Base.Commit
	}
	return KeepCommit(ctx, g, t, e.Head)
}

// commitFiles creates a commit of all files in a worktree that are not ignored. If neither the
// files nor the index differ from HEAD, it returns HEAD instead.
func commitFiles(ctx context.Context, g git.Client, t Tree) (string, error) {
	snap, err := saveAllFiles(ctx, g)
	if err != nil {
		return "", err
	}
	head, err := g.CommitID(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	var parents []string
	if head != "" {
		parents = append(parents, head)
		tree, err := g.Resolve(ctx, head+"^{tree}")
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
	if g, err = g.WithAuthor(ctx); err != nil {
		return "", err
	}
	if snap.staged != "" {
		index, err := g.CommitTree(ctx, snap.staged, rescueMessage(t, "what was staged"), parents...)
		if err != nil {
			return "", err
		}
		parents = append(parents, index)
	}
	return g.CommitTree(ctx, snap.tree, rescueMessage(t, "what was not committed"), parents...)
}

func rescueMessage(t Tree, what string) string {
	return fmt.Sprintf("gaffer rescue: %s in task %s\n\nRun: %s\nTask: %s\nBranch: %s\nWorktree: %s\n",
		what, t.Task, t.Run, t.Task, t.Branch, t.Path)
}

func saveAllFiles(ctx context.Context, g git.Client) (savedFiles, error) {
	dirty, err := uncommittedFiles(ctx, g)
	if err != nil {
		return savedFiles{}, err
	}
	without, err := nestedRepositories(ctx, g, dirty)
	if err != nil {
		return savedFiles{}, err
	}
	s, err := newScratch(ctx, g)
	if err != nil {
		return savedFiles{}, err
	}
	defer s.close()
	return s.saveFiles(ctx, without)
}

// KeepCommit creates a rescue ref for a commit of a worktree, so that git does not delete the
// commit. It uses the first ref name that is free or already keeps the same content, and returns
// that name. The caller must hold the repository's lock.
func KeepCommit(ctx context.Context, g git.Client, t Tree, commit string) (string, error) {
	base := rescuePrefix + git.RefPart(t.Run) + "/" + git.RefPart(t.Task)
	want, err := contentID(ctx, g, commit)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		ref := base
		if n > 1 {
			ref = fmt.Sprintf("%s-%d", base, n)
		}
		found, err := g.CommitID(ctx, ref)
		if err != nil {
			return "", err
		}
		if found == "" {
			_, err := g.Run(ctx, "update-ref", "-m", "gaffer: rescue", ref, commit, "")
			return ref, err
		}
		if got, err := contentID(ctx, g, found); err != nil || found == commit || got == want {
			return ref, err
		}
	}
}

// contentID returns a text that is equal for two commits with the same content, even if their times
// differ. The text consists of the ids of the commit's tree, its first parent, and the tree of its
// second parent.
func contentID(ctx context.Context, g git.Client, commit string) (string, error) {
	var parts []string
	for _, of := range []string{"^{tree}", "^1", "^2^{tree}"} {
		part, err := g.Resolve(ctx, commit+of)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " "), nil
}
