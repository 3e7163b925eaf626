// Package change reads the change of a task: the difference between the task's worktree, including
// uncommitted files, and the commit that the task's branch is based on. It also finds the current
// lines of review comments after the files were edited again.
//
// An agent can edit the repository's git settings, attributes and refs. Therefore this package does
// not compare files in the repository itself. It runs git diff-tree in an empty git folder that
// only shares the repository's objects, see [worktree.Repo.Inspect]. There, the repository's
// settings have no effect, and git does not start the programs that these settings name.
package change

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/snapshot"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/git"
	"gaffer/internal/text/truncate"
)

// Reader reads the changes in one repository. It is safe for concurrent use.
type Reader struct{ repo *worktree.Repo }

// Open returns a Reader for the repository that contains the folder dir.
func Open(ctx context.Context, dir string) (*Reader, error) {
	repo, err := worktree.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	return &Reader{repo}, nil
}

// Change returns the current change of a task. The parameter task is the name of the task's
// worktree. Change stores the files of the worktree in git as a snapshot, see [snapshot.ForReview],
// so that review comments can be moved to their new lines later. If the worktree and its branch
// were deleted, Change returns the change of the last snapshot.
func (r *Reader) Change(ctx context.Context, run, task string) (fleet.Change, error) {
	kept, err := snapshot.ForReview(ctx, r.repo, run, task)
	if err != nil {
		return fleet.Change{}, err
	}
	return r.of(ctx, run, task, kept)
}

// Attempt returns the change of a task at the end of the attempt with this number. gaffer stores
// the files as a snapshot in git at that time. If there is no snapshot of that attempt, Attempt
// returns an [*AttemptError].
func (r *Reader) Attempt(ctx context.Context, run, task string, number int) (fleet.Change, error) {
	all, err := snapshot.Attempts(ctx, r.repo, run, task)
	if err != nil {
		return fleet.Change{}, err
	}
	kept, ok := all[number]
	if !ok {
		e := &AttemptError{Number: number}
		for n := range all {
			e.Kept = append(e.Kept, n)
		}
		slices.Sort(e.Kept)
		return fleet.Change{}, e
	}
	return r.of(ctx, run, task, kept)
}

// At returns the change of a task at one of the task's snapshots. The parameter tree is the id of
// the snapshot's git tree. At returns a [*git.MissingError] if the task has no such snapshot.
func (r *Reader) At(ctx context.Context, run, task, tree string) (fleet.Change, error) {
	list, err := r.keptAndAttempts(ctx, run, task)
	if err != nil {
		return fleet.Change{}, err
	}
	for _, kept := range list {
		if kept.Tree == tree {
			return r.of(ctx, run, task, kept)
		}
	}
	return fleet.Change{}, &git.MissingError{What: "tree of the change", Name: truncate.Bytes(tree, 70), Advice: "read the change again: it has moved on since"}
}

// Keeps returns nil if the parameter tree is the id of the git tree or of the base commit of one of
// the task's snapshots. If it is not, Keeps returns a [*git.MissingError].
func (r *Reader) Keeps(ctx context.Context, run, task, tree string) error {
	list, err := r.keptAndAttempts(ctx, run, task)
	if err == nil && !slices.ContainsFunc(list, func(k snapshot.Snapshot) bool { return k.Tree == tree || k.Base == tree }) {
		err = &git.MissingError{What: "earlier tree of the change", Name: truncate.Bytes(tree, 70), Advice: "only trees of this task's change can be compared"}
	}
	return err
}

// keptAndAttempts returns all snapshots of a task: first those for reviews, then those of attempts.
// In each of the two groups, the latest snapshot comes first.
func (r *Reader) keptAndAttempts(ctx context.Context, run, task string) ([]snapshot.Snapshot, error) {
	list, err := snapshot.List(ctx, r.repo, run, task)
	if err != nil {
		return nil, err
	}
	slices.Reverse(list)
	attempts, err := snapshot.Attempts(ctx, r.repo, run, task)
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(attempts))) {
		list = append(list, attempts[n])
	}
	return list, err
}

// Since returns the part of the change c that is newer than an earlier git tree: the files that
// differ between that tree and c. If c.Files also has such a file, the file keeps the digest that
// it has there.
func (r *Reader) Since(ctx context.Context, c fleet.Change, tree string) (fleet.Change, error) {
	if err := r.checkTree(ctx, tree); err != nil {
		return c, err
	}
	whole := map[string]string{}
	for _, f := range c.Files {
		whole[f.Path] = f.Digest
	}
	files, err := r.compare(ctx, tree, c.Tree)
	if err != nil {
		return c, err
	}
	for i, f := range files {
		if digest, ok := whole[f.Path]; ok {
			files[i].Digest = digest
		}
	}
	setFiles(&c, files)
	return c, nil
}

// Release deletes old snapshots that were taken for reviews of a task. It keeps the newest 20, and
// those whose tree or base commit is in the parameter trees.
func (r *Reader) Release(ctx context.Context, run, task string, trees []string) error {
	const newest = 20
	return snapshot.Release(ctx, r.repo, run, task, newest, trees)
}

// AttemptError reports that gaffer has stored no snapshot of the change at the end of an attempt.
type AttemptError struct {
	Number int
	Kept   []int // numbers of the task's attempts that have a snapshot
}

func (e *AttemptError) Error() string {
	text := fmt.Sprintf("the change at the end of attempt %d was not kept", e.Number)
	for i, n := range e.Kept {
		if i == 0 {
			text += "; kept are those of attempt "
		} else {
			text += ", "
		}
		text += strconv.Itoa(n)
	}
	return text
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *AttemptError) NotFound() bool { return true }

// Hint returns advice for the user.
func (e *AttemptError) Hint() string { return "leave out --attempt for the current change" }

func (r *Reader) of(ctx context.Context, run, task string, kept snapshot.Snapshot) (fleet.Change, error) {
	c := fleet.Change{Run: run, Task: task, Branch: kept.Branch, Base: kept.Base, Tip: kept.Tip, Tree: kept.Tree, Commits: []fleet.Commit{}}
	files, err := r.compare(ctx, kept.Base, kept.Tree)
	if err != nil {
		return c, err
	}
	setFiles(&c, files)
	const most = 1000
	out, err := r.repo.Inspect(ctx, "", "rev-list", "--first-parent", "--reverse", "--max-count="+strconv.Itoa(most), "--no-commit-header",
		"--encoding=UTF-8", "--format=%H%x00%T%x00%an%x00%at%x00%s", kept.Tip, "--not", kept.Base)
	if err != nil {
		return c, err
	}
	c.Dirty = len(files) > 0
	for line := range strings.Lines(out) {
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), "\x00", 5)
		if len(part) < 5 {
			continue
		}
		const longest = 200
		at, _ := strconv.ParseInt(part[3], 10, 64) // ignore the error: git always writes a number
		c.Commits = append(c.Commits, fleet.Commit{ID: part[0], Subject: truncate.Bytes(part[4], longest), Author: truncate.Bytes(part[2], longest), At: time.Unix(at, 0).UTC()})
		c.Dirty = part[1] != kept.Tree
	}
	return c, nil
}

func setFiles(c *fleet.Change, files []fleet.ChangeFile) {
	c.Files, c.Added, c.Removed = files, 0, 0
	for _, f := range files {
		c.Added, c.Removed = c.Added+f.Added, c.Removed+f.Removed
	}
}

func (r *Reader) checkTree(ctx context.Context, tree string) error {
	if git.IsID(tree) {
		if _, err := r.repo.Inspect(ctx, "", "cat-file", "-e", tree+"^{tree}"); err == nil || !isGit(err) {
			return err
		}
	}
	return &git.MissingError{What: "tree", Name: truncate.Bytes(tree, 70), Advice: "the repository does not have it any more"}
}

func isGit(err error) bool {
	var failed *git.Error
	return errors.As(err, &failed)
}

// Limits of the diff of a file. A diff that exceeds one of the first three is not shown.
const (
	maxBlob      = 4 << 20 // maximum size of a file, in bytes
	maxLineBytes = 20_000  // maximum length of a line of a diff, in bytes
	maxDiffLines = 20_000  // maximum number of lines of a diff
	maxRenames   = 1000    // git's option -l: number of files above which git skips the full search for renamed and copied files
)

// diffTree returns the arguments of a git diff-tree command with this package's options. It appends
// the parameter args to them.
func diffTree(args ...string) []string {
	return append([]string{
		"-c", "core.bigFileThreshold=" + strconv.Itoa(maxBlob), "diff-tree", "-r", "-M", "-C", "-l" + strconv.Itoa(maxRenames), "--no-ext-diff", "--no-textconv",
		"--no-color", "--full-index", "--indent-heuristic", "--diff-algorithm=default", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/",
	}, args...)
}

// list lists the files that differ between two trees or commits, sorted by path. It is faster than
// the method compare, because it does not determine the files' line counts and sizes.
func (r *Reader) list(ctx context.Context, from, to string) ([]fleet.ChangeFile, error) {
	out, err := r.repo.Inspect(ctx, "", diffTree("-z", "--raw", from, to)...)
	if err != nil {
		return nil, err
	}
	return parseList(out)
}

// compare lists the files that differ between two trees or commits, with their line counts, sorted
// by path.
func (r *Reader) compare(ctx context.Context, from, to string) ([]fleet.ChangeFile, error) {
	out, err := r.repo.Inspect(ctx, "", diffTree("-z", "--raw", "--numstat", from, to)...)
	if err != nil {
		return nil, err
	}
	files, err := parseList(out)
	if err != nil {
		return nil, fmt.Errorf("list of changed files: %w", err)
	}
	return files, r.markLarge(ctx, files)
}

// parseList parses the output of git diff-tree -z --raw, which may also have the line counts of
// --numstat. It returns the files sorted by path.
func parseList(out string) ([]fleet.ChangeFile, error) {
	words := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		words = nil
	}
	files, index := []fleet.ChangeFile{}, map[string]int{}
	next := func() string {
		if len(words) == 0 {
			return ""
		}
		word := words[0]
		words = words[1:]
		return word
	}
	for len(words) > 0 && strings.HasPrefix(words[0], ":") {
		about := strings.Fields(strings.TrimPrefix(next(), ":"))
		if len(about) != 5 {
			return nil, fmt.Errorf("git printed %d words for a file, want 5", len(about))
		}
		f := fleet.ChangeFile{OldMode: about[0], NewMode: about[1], OldBlob: about[2], NewBlob: about[3], Path: next()}
		switch about[4][0] {
		case 'A':
			f.Status, f.OldMode, f.OldBlob = "added", "", ""
		case 'D':
			f.Status, f.NewMode, f.NewBlob = "deleted", "", ""
		case 'M':
			f.Status = "changed"
		case 'T':
			f.Status = "type"
		case 'R', 'C':
			f.Status, f.From, f.Path = "renamed", f.Path, next()
			if about[4][0] == 'C' {
				f.Status = "copied"
			}
		default:
			return nil, fmt.Errorf("git printed the status %q", about[4])
		}
		if f.Path == "" {
			return nil, errors.New("git printed a file without a name")
		}
		sum := sha256.Sum256([]byte(strings.Join([]string{f.Path, f.From, f.OldMode, f.NewMode, f.OldBlob, f.NewBlob}, "\x00")))
		f.Digest = hex.EncodeToString(sum[:16])
		index[f.Path] = len(files)
		files = append(files, f)
	}
	for len(words) > 0 {
		part := strings.SplitN(next(), "\t", 3)
		if len(part) != 3 {
			return nil, errors.New("git printed counts without a name")
		}
		path := part[2]
		if path == "" { // a renamed or copied file: its old and new name follow
			next()
			path = next()
		}
		i, ok := index[path]
		if !ok {
			return nil, fmt.Errorf("git counted lines of %q, which it did not list", path)
		}
		f := &files[i]
		if f.Binary = part[0] == "-"; !f.Binary {
			added, errAdded := strconv.Atoi(part[0])
			removed, errRemoved := strconv.Atoi(part[1])
			if err := errors.Join(errAdded, errRemoved); err != nil {
				return nil, err
			}
			f.Added, f.Removed = added, removed
		}
	}
	slices.SortFunc(files, func(a, b fleet.ChangeFile) int { return cmp.Compare(a.Path, b.Path) })
	return files, nil
}

// markLarge sets the sizes of the files that git reports as binary. Git also reports a file as
// binary, without reading it, if the file is larger than maxBlob. Such a file may be text, so
// markLarge sets its field Binary to false.
func (r *Reader) markLarge(ctx context.Context, files []fleet.ChangeFile) error {
	var ids []string
	for _, f := range files {
		if f.Binary {
			ids = append(ids, f.OldBlob, f.NewBlob)
		}
	}
	sizes, err := r.sizes(ctx, ids)
	if err != nil {
		return err
	}
	for i, f := range files {
		if f.Binary {
			files[i].OldSize, files[i].NewSize = sizes[f.OldBlob], sizes[f.NewBlob]
			files[i].Binary = max(files[i].OldSize, files[i].NewSize) <= maxBlob
		}
	}
	return nil
}

// sizes returns the sizes of blobs in bytes, by id. It leaves out an id if the repository has no
// blob with it, for example because it is the id of a submodule's commit.
func (r *Reader) sizes(ctx context.Context, ids []string) (map[string]int64, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := r.repo.Inspect(ctx, strings.Join(ids, "\n")+"\n", "cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)")
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for line := range strings.Lines(out) {
		if part := strings.Fields(line); len(part) == 3 && part[1] == "blob" {
			sizes[part[0]], _ = strconv.ParseInt(part[2], 10, 64) // ignore the error: git always writes a number
		}
	}
	return sizes, nil
}
