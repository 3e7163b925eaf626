package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// Kept is the content of a task's worktree at one moment. A ref keeps it, so that git
// does not delete it, even after the worktree and its branch are gone.
type Kept struct {
	Ref    string
	Commit string // it has the tree; its parents are Tip and Base
	Branch string
	Base   string // the commit that the content is compared with
	Tip    string // the commit of the branch
	Tree   string // all files that are not ignored, with uncommitted ones
}

const (
	reviewPrefix  = "refs/gaffer/review/"
	attemptPrefix = "refs/gaffer/attempt/"
)

// KeepForReview keeps the current content of a task's worktree under
// refs/gaffer/review/<run>/<task>/<n>. If one of these refs has the content already, it
// returns that one. If the folder is missing, it keeps the branch. If the whole worktree
// was removed, it returns what was kept last. It returns a [*MissingError] if nothing is
// known of the task.
//
// The worktree and its index are not changed, and no program of the repository runs.
func (r *Repo) KeepForReview(ctx context.Context, run, task string) (Kept, error) {
	list, err := r.ListKept(ctx, run, task)
	if err != nil {
		return Kept{}, err
	}
	rec, err := r.read(run, task)
	if errors.Is(err, fs.ErrNotExist) {
		return r.lastKept(ctx, run, task, list)
	}
	if err != nil {
		return Kept{}, err
	}
	k, err := r.content(ctx, rec.Tree)
	if missing := (*git.MissingError)(nil); errors.As(err, &missing) {
		return r.lastKept(ctx, run, task, list)
	}
	if err != nil {
		return Kept{}, fmt.Errorf("content of %s: %w", rec.Path, err)
	}
	number := 1
	for _, old := range list {
		if old.Tree == k.Tree && old.Tip == k.Tip && old.Base == k.Base {
			return old, nil
		}
		number = max(number, old.number()+1)
	}
	if k.Commit, err = r.keptCommit(ctx, rec.Tree, k); err != nil {
		return Kept{}, err
	}
	const tries = 20
	for range tries { // another process may take the number at the same moment
		k.Ref = keptPrefix(reviewPrefix, run, task) + strconv.Itoa(number)
		if _, err = r.Git.Run(ctx, "update-ref", "-m", "gaffer: review", k.Ref, k.Commit, strings.Repeat("0", len(k.Commit))); err == nil || ctx.Err() != nil {
			break
		}
		number++
	}
	return k, err
}

// KeepAttempt keeps the current content of a task's worktree as the end of an attempt,
// under refs/gaffer/attempt/<run>/<task>/<number>. It returns the differences from the
// base, as [Repo.Diff] does.
func (r *Repo) KeepAttempt(ctx context.Context, run, task string, number int) (list []FileDiff, there bool, err error) {
	rec, err := r.read(run, task)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if filled, err := folder.IsFilled(rec.Path); err != nil || !filled {
		return nil, false, err
	}
	k, err := r.content(ctx, rec.Tree)
	if err == nil {
		k.Commit, err = r.keptCommit(ctx, rec.Tree, k)
	}
	if err == nil {
		_, err = r.Git.Run(ctx, "update-ref", "-m", "gaffer: attempt", keptPrefix(attemptPrefix, run, task)+strconv.Itoa(number), k.Commit)
	}
	if err != nil {
		return nil, true, fmt.Errorf("diff of %s: %w", rec.Path, err)
	}
	out, err := r.Inspect(ctx, "", "diff-tree", "-r", "-z", "--numstat", "--no-renames", "--no-ext-diff", k.Base, k.Tree)
	return parseNumstat(out), true, err
}

// ListKept returns what [Repo.KeepForReview] has kept of a task, oldest first.
func (r *Repo) ListKept(ctx context.Context, run, task string) ([]Kept, error) {
	return r.listKept(ctx, reviewPrefix, run, task)
}

// ListAttempts returns what [Repo.KeepAttempt] has kept of a task, by attempt number.
func (r *Repo) ListAttempts(ctx context.Context, run, task string) (map[int]Kept, error) {
	list, err := r.listKept(ctx, attemptPrefix, run, task)
	all := map[int]Kept{}
	for _, k := range list {
		all[k.number()] = k
	}
	return all, err
}

// ReleaseKept deletes the review refs of a task, except the newest ones and those whose
// tree or base is in the list. Git deletes the content later, if nothing else has it.
func (r *Repo) ReleaseKept(ctx context.Context, run, task string, newest int, trees []string) error {
	list, err := r.ListKept(ctx, run, task)
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

// ForgetKept deletes everything that was kept of the tasks of these runs, as far as it is
// of no use without them: the contents for reviews, and those at the end of attempts.
// Rescue refs stay.
func (r *Repo) ForgetKept(ctx context.Context, runs []string) error {
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
		if parts := strings.Split(line, "/"); len(parts) > 3 && gone[parts[3]] { // refs/gaffer/review/RUN/…
			commands.WriteString("delete " + line)
		}
	}
	if commands.Len() == 0 {
		return nil
	}
	_, err = r.Git.Feed(ctx, commands.String(), "update-ref", "--stdin")
	return err
}

func keptPrefix(prefix, run, task string) string {
	return prefix + git.RefPart(run) + "/" + git.RefPart(task) + "/"
}

func (k Kept) number() int {
	n, _ := strconv.Atoi(k.Ref[strings.LastIndexByte(k.Ref, '/')+1:]) // other names count as 0
	return n
}

func (r *Repo) listKept(ctx context.Context, prefix, run, task string) ([]Kept, error) {
	if err := checkIDs(run, task); err != nil {
		return nil, err
	}
	out, err := r.Git.Run(ctx, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(tree)%00%(contents:body)%00", keptPrefix(prefix, run, task))
	if err != nil {
		return nil, err
	}
	var list []Kept
	words := strings.Split(out, "\x00")
	for i := 0; i+3 < len(words); i += 4 {
		k := Kept{Ref: strings.TrimPrefix(words[i], "\n"), Commit: words[i+1], Tree: words[i+2]}
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
		// Agents can write refs too. Only ids go on to other commands.
		if git.IsID(k.Tree) && git.IsID(k.Base) && git.IsID(k.Tip) {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, func(a, b Kept) int { return a.number() - b.number() })
	return list, nil
}

func (r *Repo) lastKept(ctx context.Context, run, task string, list []Kept) (Kept, error) {
	if len(list) > 0 {
		return list[len(list)-1], nil
	}
	attempts, err := r.ListAttempts(ctx, run, task)
	if err != nil {
		return Kept{}, err
	}
	var last Kept
	for _, k := range attempts {
		if last.Ref == "" || k.number() > last.number() {
			last = k
		}
	}
	if last.Ref == "" {
		return Kept{}, &git.MissingError{What: "worktree of task", Name: task, Advice: "the task has not started yet, or its worktree was removed before its change was looked at"}
	}
	return last, nil
}

// content examines a worktree. It writes its files as git objects. If the folder is
// missing, the content is that of the branch.
func (r *Repo) content(ctx context.Context, t Tree) (k Kept, err error) {
	k.Branch = t.Branch
	if k.Tip, err = r.Git.CommitID(ctx, git.Heads+t.Branch); err != nil {
		return k, err
	}
	g, err := r.at(r.Git, t)
	missing := (*git.MissingError)(nil)
	switch {
	case err == nil:
		if k.Tip == "" { // the agent has deleted or renamed its branch
			if k.Tip, err = g.CommitID(ctx, "HEAD"); err != nil {
				return k, err
			}
		}
		if k.Tree, err = treeOfFiles(ctx, g); err != nil {
			return k, err
		}
	case !errors.As(err, &missing) || k.Tip == "":
		return k, err
	}
	if k.Tip == "" {
		k.Tip = t.Base.Commit
	}
	if k.Tree == "" {
		if k.Tree, err = r.Git.Resolve(ctx, k.Tip+"^{tree}"); err != nil {
			return k, err
		}
	}
	k.Base, err = r.baseOf(ctx, t, k.Tip)
	return k, err
}

// treeOfFiles writes the files of a worktree as a tree, without nested repositories. An
// agent may be at work there: a file that is gone when git reads it counts as deleted.
func treeOfFiles(ctx context.Context, g git.Client) (string, error) {
	dirty, err := files(ctx, g)
	if err != nil {
		return "", err
	}
	without, err := nested(ctx, g, dirty)
	if err != nil {
		return "", err
	}
	s, err := newScratch(ctx, g)
	if err != nil {
		return "", err
	}
	defer s.close()
	list := []string{"ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard", "--", "."}
	for _, path := range without {
		list = append(list, ":(exclude,literal)"+path)
	}
	const tries = 10
	for range tries {
		var out string
		if out, err = s.git.Run(ctx, list...); err != nil {
			return "", err
		}
		var gone, there strings.Builder
		for path := range strings.SplitSeq(out, "\x00") {
			if path == "" || strings.HasSuffix(path, "/") { // a nested repository
				continue
			}
			if info, err := os.Lstat(filepath.Join(g.Dir, path)); err != nil || info.IsDir() {
				gone.WriteString(path + "\x00")
			} else {
				there.WriteString(path + "\x00")
			}
		}
		// Unlike git add, update-index accepts files that are gone. One that goes while git
		// reads it is an error still.
		if _, err = s.git.Feed(ctx, gone.String(), "update-index", "-z", "--force-remove", "--stdin"); err == nil {
			_, err = s.git.Feed(ctx, there.String(), "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
		}
		if git.ExitCode(err) < 1 {
			break
		}
	}
	if err != nil {
		return "", err
	}
	return s.git.Line(ctx, "write-tree")
}

// baseOf returns the commit that a change is compared with: the recorded one, or a later
// commit of the branch that the work started from, if the work contains it because the
// agent merged that branch or was rebased onto it. The content of that branch is not the
// agent's work.
func (r *Repo) baseOf(ctx context.Context, t Tree, tip string) (string, error) {
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
	if git.ExitCode(err) == 1 || err == nil && common == base { // exit code 1: they have no common commit
		return base, nil
	}
	if err != nil {
		return "", err
	}
	later, err := r.Git.Contains(ctx, common, base)
	if err != nil || !later {
		return base, err
	}
	// The target may contain the tip, because the work was merged. Therefore only commits
	// that were made on the target itself count.
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
			return base, nil // the target was moved to the work itself
		}
	}
	return base, nil
}

// keptCommit creates the commit of a Kept.
func (r *Repo) keptCommit(ctx context.Context, t Tree, k Kept) (string, error) {
	parents := []string{k.Tip}
	if k.Base != k.Tip {
		parents = append(parents, k.Base)
	}
	message := fmt.Sprintf("gaffer: content of task %s\n\nRun: %s\nTask: %s\nBranch: %s\nBase: %s\nTip: %s\n", t.Task, t.Run, t.Task, k.Branch, k.Base, k.Tip)
	g := r.Git.With("GIT_AUTHOR_NAME=gaffer", "GIT_AUTHOR_EMAIL=gaffer@localhost", "GIT_COMMITTER_NAME=gaffer", "GIT_COMMITTER_EMAIL=gaffer@localhost")
	return g.CommitTree(ctx, k.Tree, message, parents...)
}
