package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/git"
)

// commitBuilder creates the commits that bring a branch into a target branch. It moves no branch:
// at first, no ref points to the new commits.
type commitBuilder struct {
	git            git.Client
	target         *target
	branch, tip    string
	title, message string

	// earlier has the ids of commits of the branch that were already merged into the target. If
	// that was done by squash or rebase, the target has their changes in commits with other ids.
	earlier []string
}

// build creates the commits for a merge with this method, on top of the commit base. It returns the
// id of the commit to which the target branch can move. If a squash or rebase has no change to add
// to base, that is base.
func (b commitBuilder) build(ctx context.Context, method Method, base string) (string, error) {
	if method == ByRebase {
		return b.copyCommits(ctx, base)
	}
	tree, conflicts, err := b.mergedTree(ctx, base)
	if err != nil {
		return "", err
	}
	if len(conflicts) > 0 {
		return "", b.target.conflict(b.branch, conflicts)
	}
	if method == ByMerge {
		title := b.title
		if title == "" {
			title = fmt.Sprintf("Merge branch '%s' into %s", b.branch, b.target.branch)
		}
		return b.git.CommitTree(ctx, tree, withBody(title, b.message), base, b.tip)
	}
	if same, err := b.git.Resolve(ctx, base+"^{tree}"); err != nil || same == tree {
		return base, err
	}
	return b.squash(ctx, tree, base)
}

// mergedTree returns the git tree that results from merging the branch into the commit target. If
// there are conflicts, it returns the files with conflicts instead.
//
// The target may already have the changes of the commits in b.earlier, in commits with other ids.
// Git does not know that, and could report conflicts. So mergedTree merges the branch into a
// temporary commit instead. The temporary commit has the content of target, and its parents are
// target and the commits in b.earlier.
func (b commitBuilder) mergedTree(ctx context.Context, target string) (tree string, conflicts []string, err error) {
	if len(b.earlier) > 0 {
		tree, err := b.git.Resolve(ctx, target+"^{tree}")
		if err != nil {
			return "", nil, err
		}
		if target, err = b.git.CommitTree(ctx, tree, "gaffer: bridge\n", append([]string{target}, b.earlier...)...); err != nil {
			return "", nil, err
		}
	}
	tree, conflicts, err = mergeTrees(ctx, b.git, target, b.tip)
	if err != nil {
		return "", nil, fmt.Errorf("branch %s: %w", b.branch, err)
	}
	return tree, conflicts, nil
}

// squash creates one commit with the given tree on top of the commit base. The commit has the
// author of the branch's first commit. Its message names the other authors. If the branch has
// several commits, the message also lists their subjects.
func (b commitBuilder) squash(ctx context.Context, tree, base string) (string, error) {
	out, err := b.git.Run(ctx, append([]string{
		"log", "--reverse", "--no-merges", "--encoding=UTF-8",
		"--format=%x00%an%x01%ae%x01%aI%x01%s%x01%(trailers:key=Co-authored-by,valueonly,separator=%x02)", b.tip, "--not", base,
	}, b.earlier...)...)
	if err != nil {
		return "", err
	}
	var subjects, authors []string
	g := b.git
	for entry := range strings.SplitSeq(out, "\x00") {
		part := strings.Split(strings.TrimSuffix(entry, "\n"), "\x01")
		if len(part) != 5 {
			continue
		}
		author := fmt.Sprintf("%s <%s>", part[0], part[1])
		if len(subjects) == 0 { // the first commit: its author becomes the author of the squash
			g = g.With("GIT_AUTHOR_NAME="+part[0], "GIT_AUTHOR_EMAIL="+part[1], "GIT_AUTHOR_DATE="+part[2])
			authors = append(authors, author)
		}
		subjects = append(subjects, "* "+git.CleanSubject(part[3]))
		for _, also := range append([]string{author}, strings.Split(part[4], "\x02")...) {
			if also = strings.TrimSpace(also); also != "" && !slices.Contains(authors, also) {
				authors = append(authors, also)
			}
		}
	}
	text := b.title
	if text == "" {
		text = fmt.Sprintf("Squash branch '%s'", b.branch)
	}
	if len(subjects) > 1 {
		text = withBody(text, strings.Join(subjects, "\n"))
	}
	text = withBody(text, b.message)
	if len(authors) > 1 {
		text += "\n"
		for _, also := range authors[1:] {
			text += "Co-authored-by: " + also + "\n"
		}
	}
	return g.CommitTree(ctx, tree, text, base)
}

func withBody(title, body string) string {
	title = strings.TrimRight(title, "\n") + "\n"
	if body = strings.Trim(body, "\n"); body == "" {
		return title
	}
	return title + "\n" + body + "\n"
}

// copyCommits copies the commits of the branch onto the commit base, oldest first, and returns the
// id of the resulting last commit. As in a rebase, a commit is not copied if it is already in the
// right place: its parent is base, or the previous commit was not copied either and is its parent.
func (b commitBuilder) copyCommits(ctx context.Context, base string) (string, error) {
	out, err := b.git.Run(ctx, append([]string{"rev-list", "--reverse", "--topo-order", "--parents", b.tip, "--not", base}, b.earlier...)...)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		switch {
		case len(ids) > 2:
			return "", &NotLinearError{b.branch}
		case len(ids) == 2 && ids[1] == base:
			base = ids[0]
			continue
		}
		if base, err = b.copyCommit(ctx, base, ids[0], ids[1:]); err != nil {
			return "", err
		}
	}
	return base, nil
}

// copyCommit copies a commit onto the commit base, with its author and message, and returns the id
// of the copy. As in a cherry-pick, the merge base must be the parent of the copied commit. The
// oldest supported version of git merge-tree has no option to set the merge base. So copyCommit
// uses a temporary commit that has the content of base and the parents of the copied commit, and
// merges the copied commit into it.
func (b commitBuilder) copyCommit(ctx context.Context, base, commit string, parents []string) (string, error) {
	tree, err := b.git.Resolve(ctx, base+"^{tree}")
	if err != nil {
		return "", err
	}
	ours, err := b.git.CommitTree(ctx, tree, "gaffer: base\n", parents...)
	if err != nil {
		return "", err
	}
	args := []string{ours, commit}
	if len(parents) == 0 {
		args = append([]string{"--allow-unrelated-histories"}, args...)
	}
	merged, conflicts, err := mergeTrees(ctx, b.git, args...)
	if err != nil {
		return "", fmt.Errorf("commit %.12s: %w", commit, err)
	}
	if len(conflicts) > 0 {
		return "", b.target.rebaseConflict(b.branch, conflicts)
	}
	if merged == tree {
		return base, nil // the commit would be empty: base already has the same change
	}
	out, err := b.git.Run(ctx, "log", "-1", "--no-show-signature", "--encoding=UTF-8", "--format=%an%x00%ae%x00%aI%x00%B", commit)
	if err != nil {
		return "", err
	}
	part := strings.SplitN(out, "\x00", 4)
	if len(part) != 4 {
		return "", fmt.Errorf("commit %.12s: cannot read its author", commit)
	}
	g := b.git.With("GIT_AUTHOR_NAME="+part[0], "GIT_AUTHOR_EMAIL="+part[1], "GIT_AUTHOR_DATE="+part[2])
	return g.CommitTree(ctx, merged, strings.TrimRight(part[3], "\n")+"\n", base)
}

// mergeTrees runs git merge-tree, which merges two commits without a worktree. It returns the tree
// of the result. If there are conflicts, it returns the files with conflicts instead. Git exits
// with code 1 both for conflicts and for other errors, but prints a tree only for conflicts.
func mergeTrees(ctx context.Context, g git.Client, args ...string) (tree string, conflicts []string, err error) {
	out, err := g.Run(ctx, append([]string{"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"}, args...)...)
	tree, files, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "\x00")
	valid := git.IsID(tree)
	if git.ExitCode(err) == 1 && valid {
		conflicts = strings.FieldsFunc(files, func(c rune) bool { return c == 0 })
		if len(conflicts) > 0 {
			return "", conflicts, nil
		}
	}
	if err == nil && !valid {
		err = errors.New("git merge-tree printed no tree")
	}
	return tree, nil, err
}
