// Package snapshot keeps the content of tasks' worktrees as it was at certain moments: when the
// user looked at a change, and when an attempt ended. Refs point to the snapshots, so that git does
// not delete them, even after the worktree and its branch are gone:
//
//	refs/gaffer/review/<run>/<task>/<n>         what the user has looked at
//	refs/gaffer/attempt/<run>/<task>/<attempt>  the content at the end of an attempt
//
// A snapshot includes uncommitted files, but no ignored ones. Taking a snapshot changes neither the
// worktree nor its index, and runs no program of the repository.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// Snapshot is the content of a task's worktree at one moment.
type Snapshot struct {
	Ref string
	// Commit is the id of the commit that the ref points to. Its tree is Tree, and its parents are
	// Tip and Base. If Tip and Base are the same, it has only one parent.
	Commit string
	Branch string
	Base   string // id of the commit with which Tree is compared; the differences are the task's change
	Tip    string // id of the branch's newest commit
	Tree   string // id of the tree with all files that are not ignored, committed or not
}

const (
	reviewPrefix  = "refs/gaffer/review/"
	attemptPrefix = "refs/gaffer/attempt/"
)

// ForReview takes a snapshot of a task's worktree for a review by the user. If an earlier snapshot
// for reviews has the same content, ForReview returns that one. If only the worktree's folder is
// missing, the snapshot has the content of the branch. If the branch is missing too, ForReview
// returns the task's last snapshot, or a [*git.MissingError] if there is none.
func ForReview(ctx context.Context, r *worktree.Repo, run, task string) (Snapshot, error) {
	list, err := List(ctx, r, run, task)
	if err != nil {
		return Snapshot{}, err
	}
	t, err := r.Lookup(run, task)
	if errors.Is(err, fs.ErrNotExist) {
		return last(ctx, r, run, task, list)
	}
	if err != nil {
		return Snapshot{}, err
	}
	k, err := take(ctx, r, t)
	if missing := (*git.MissingError)(nil); errors.As(err, &missing) {
		return last(ctx, r, run, task, list)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("content of %s: %w", t.Path, err)
	}
	number := 1
	for _, old := range list {
		if old.Tree == k.Tree && old.Tip == k.Tip && old.Base == k.Base {
			return old, nil
		}
		number = max(number, old.number()+1)
	}
	if k.Commit, err = commit(ctx, r, t, k); err != nil {
		return Snapshot{}, err
	}
	const tries = 20
	// If another process has just created a ref with this number, try the next number.
	for range tries {
		k.Ref = refPrefix(reviewPrefix, run, task) + strconv.Itoa(number)
		if _, err = r.Git.Run(ctx, "update-ref", "-m", "gaffer: review", k.Ref, k.Commit, strings.Repeat("0", len(k.Commit))); err == nil || ctx.Err() != nil {
			break
		}
		number++
	}
	return k, err
}

// OfAttempt takes a snapshot of a task's worktree at the end of an attempt. The parameter number is
// the number of the attempt. The result list has the differences between the snapshot's Base and
// its Tree, in the same form as [worktree.Repo.Diff]. The result there is false if the worktree is
// missing, or its folder is missing or empty.
func OfAttempt(ctx context.Context, r *worktree.Repo, run, task string, number int) (list []git.FileDiff, there bool, err error) {
	t, err := r.Lookup(run, task)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if filled, err := folder.IsFilled(t.Path); err != nil || !filled {
		return nil, false, err
	}
	k, err := take(ctx, r, t)
	if err == nil {
		k.Commit, err = commit(ctx, r, t, k)
	}
	if err == nil {
		_, err = r.Git.Run(ctx, "update-ref", "-m", "gaffer: attempt", refPrefix(attemptPrefix, run, task)+strconv.Itoa(number), k.Commit)
	}
	if err != nil {
		return nil, true, fmt.Errorf("diff of %s: %w", t.Path, err)
	}
	out, err := r.Inspect(ctx, "", "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", k.Base, k.Tree)
	return git.ParseNumstat(out), true, err
}

// List returns the snapshots that were taken for reviews of a task, oldest first.
func List(ctx context.Context, r *worktree.Repo, run, task string) ([]Snapshot, error) {
	return list(ctx, r, reviewPrefix, run, task)
}

// Attempts returns the snapshots of a task's attempts, by attempt number.
func Attempts(ctx context.Context, r *worktree.Repo, run, task string) (map[int]Snapshot, error) {
	list, err := list(ctx, r, attemptPrefix, run, task)
	all := map[int]Snapshot{}
	for _, k := range list {
		all[k.number()] = k
	}
	return all, err
}

// Release deletes old snapshots that were taken for reviews of a task. It keeps the last ones; the
// parameter newest says how many. It also keeps a snapshot if the parameter trees contains its Tree
// or its Base. Git later deletes content that no ref leads to.
func Release(ctx context.Context, r *worktree.Repo, run, task string, newest int, trees []string) error {
	list, err := List(ctx, r, run, task)
	if err != nil || len(list) <= newest {
		return err
	}
	var commands strings.Builder
	for _, k := range list[:len(list)-newest] {
		if !slices.Contains(trees, k.Tree) && !slices.Contains(trees, k.Base) {
			fmt.Fprintf(&commands, "delete %s %s\n", k.Ref, k.Commit)
		}
	}
	if commands.Len() == 0 {
		return nil
	}
	_, err = r.Git.Feed(ctx, commands.String(), "update-ref", "--stdin")
	return err
}

// Forget deletes all snapshots of these runs. It does not delete the rescue refs, under which
// package worktree keeps the content of removed worktrees.
func Forget(ctx context.Context, r *worktree.Repo, runs []string) error {
	gone := map[string]bool{}
	for _, run := range runs {
		gone[git.RefPart(run)] = true
	}
	out, err := r.Git.Run(ctx, "for-each-ref", "--format=%(refname) %(objectname)", reviewPrefix, attemptPrefix)
	if err != nil {
		return err
	}
	var commands strings.Builder
	for line := range strings.Lines(out) {
		if parts := strings.Split(line, "/"); len(parts) > 3 && gone[parts[3]] { // the fourth part of a ref's name is the run
			commands.WriteString("delete " + line)
		}
	}
	if commands.Len() == 0 {
		return nil
	}
	_, err = r.Git.Feed(ctx, commands.String(), "update-ref", "--stdin")
	return err
}

// refPrefix returns the common start of the names of a task's refs.
func refPrefix(prefix, run, task string) string {
	return prefix + git.RefPart(run) + "/" + git.RefPart(task) + "/"
}

// number returns the last part of the ref's name as a number.
func (k Snapshot) number() int {
	n, _ := strconv.Atoi(k.Ref[strings.LastIndexByte(k.Ref, '/')+1:]) // a name that is not a number counts as 0
	return n
}

// list returns the snapshots of a task whose refs start with a prefix, sorted by number.
func list(ctx context.Context, r *worktree.Repo, prefix, run, task string) ([]Snapshot, error) {
	if err := worktree.CheckIDs(run, task); err != nil {
		return nil, err
	}
	out, err := r.Git.Run(ctx, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(tree)%00%(contents:body)%00", refPrefix(prefix, run, task))
	if err != nil {
		return nil, err
	}
	var list []Snapshot
	words := strings.Split(out, "\x00")
	for i := 0; i+3 < len(words); i += 4 {
		k := Snapshot{Ref: strings.TrimPrefix(words[i], "\n"), Commit: words[i+1], Tree: words[i+2]}
		for line := range strings.Lines(words[i+3]) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "Branch":
				k.Branch = value
			case "Base":
				k.Base = value
			case "Tip":
				k.Tip = value
			}
		}
		// Agents can create refs below refs/gaffer, with any content. So use the values as
		// arguments of git only if they are object ids.
		if git.IsID(k.Tree) && git.IsID(k.Base) && git.IsID(k.Tip) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b Snapshot) int { return a.number() - b.number() })
	return list, nil
}

// last returns the newest snapshot of a task whose worktree is gone. The parameter list has the
// snapshots that were taken for reviews. If it is empty, last returns the newest snapshot of an
// attempt.
func last(ctx context.Context, r *worktree.Repo, run, task string, list []Snapshot) (Snapshot, error) {
	if len(list) > 0 {
		return list[len(list)-1], nil
	}
	attempts, err := Attempts(ctx, r, run, task)
	if err != nil {
		return Snapshot{}, err
	}
	var newest Snapshot
	for _, k := range attempts {
		if newest.Ref == "" || k.number() > newest.number() {
			newest = k
		}
	}
	if newest.Ref == "" {
		return Snapshot{}, &git.MissingError{What: "worktree of task", Name: task, Advice: "the task has not started yet, or its worktree was removed before its change was looked at"}
	}
	return newest, nil
}

// take reads the content of a worktree, and writes its files as git objects. If the worktree's
// folder is missing, take uses the files of the branch's newest commit.
func take(ctx context.Context, r *worktree.Repo, t worktree.Tree) (k Snapshot, err error) {
	k.Branch = t.Branch
	if k.Tip, err = r.Tip(ctx, t.Branch); err != nil {
		return k, err
	}
	k.Tree, err = r.WriteFiles(ctx, t)
	if missing := (*git.MissingError)(nil); err != nil && (k.Tip == "" || !errors.As(err, &missing)) {
		return k, err
	}
	if k.Tip == "" { // the branch is missing: the agent has deleted or renamed it
		if k.Tip, err = r.HeadOf(ctx, r.Git, t); err != nil {
			return k, err
		}
	}
	if k.Tree == "" {
		if k.Tree, err = r.Git.Resolve(ctx, k.Tip+"^{tree}"); err != nil {
			return k, err
		}
	}
	k.Base, err = baseOf(ctx, r, t, k.Tip)
	return k, err
}

// baseOf returns the commit that a task's change is compared with. Usually that is the commit that
// was recorded as the base when the worktree was created. But the agent may later have rebased its
// work onto newer commits of the branch that the work started from, or may have merged such
// commits. They are not the work of the agent. In that case baseOf returns the newest of these
// commits that the work contains.
func baseOf(ctx context.Context, r *worktree.Repo, t worktree.Tree, tip string) (string, error) {
	base := t.Base.Commit
	target := "HEAD"
	if t.Base.Branch != "" {
		target = git.Heads + t.Base.Branch
	}
	into, err := r.Git.CommitID(ctx, target)
	if err != nil || into == "" {
		return base, err
	}
	common, err := r.Git.Line(ctx, "merge-base", into, tip)
	if git.ExitCode(err) == 1 || err == nil && common == base { // exit code 1: the commits into and tip have no common ancestor
		return base, nil
	}
	if err != nil {
		return "", err
	}
	later, err := r.Git.Contains(ctx, common, base)
	if err != nil || !later {
		return base, err
	}
	// If the work was merged into the target branch, that branch contains all commits of the work.
	// So consider only commits that were made on the target branch itself.
	out, err := r.Git.Run(ctx, "rev-list", "--first-parent", into, "--not", base)
	if err != nil {
		return "", err
	}
	own, err := r.Git.Run(ctx, "rev-list", tip, "--not", base)
	if err != nil {
		return "", err
	}
	inWork := map[string]bool{}
	for id := range strings.Lines(own) {
		inWork[id] = true
	}
	for id := range strings.Lines(out) {
		if inWork[id] && strings.TrimSuffix(id, "\n") != tip {
			return strings.TrimSuffix(id, "\n"), nil
		}
		if inWork[id] {
			return base, nil // the target branch was fast-forwarded to the last commit of the work
		}
	}
	return base, nil
}

// commit creates the commit that keeps a snapshot, and returns its id.
func commit(ctx context.Context, r *worktree.Repo, t worktree.Tree, k Snapshot) (string, error) {
	parents := []string{k.Tip}
	if k.Base != k.Tip {
		parents = append(parents, k.Base)
	}
	message := fmt.Sprintf("gaffer: content of task %s\n\nRun: %s\nTask: %s\nBranch: %s\nBase: %s\nTip: %s\n", t.Task, t.Run, t.Task, k.Branch, k.Base, k.Tip)
	g := r.Git.With("GIT_AUTHOR_NAME=gaffer", "GIT_AUTHOR_EMAIL=gaffer@localhost", "GIT_COMMITTER_NAME=gaffer", "GIT_COMMITTER_EMAIL=gaffer@localhost")
	return g.CommitTree(ctx, k.Tree, message, parents...)
}
