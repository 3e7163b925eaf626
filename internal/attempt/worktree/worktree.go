// Package worktree creates a git worktree and a branch for each task of a run. It
// merges the branches, and deletes worktrees without losing the work in them. It runs
// the git program, version 2.38 or newer.
//
// Its state is in the repository's git folder:
//
//	gaffer/lock                     held by the process that changes something
//	gaffer/busy                     held by its git commands, which may outlive gaffer
//	gaffer/trees/<run>/<task>.json  the record of one worktree
//	gaffer/checks/<name>.json       the worktree in which a merge is checked
//	gaffer/checks/<name>.lock       held by the process that checks the merge
//
// The repository's refs keep what was landed, taken back and discarded, so that nothing
// is lost and a crash leaves no doubt:
//
//	refs/gaffer/undo/<run>/<task>/<n>    a landing: the target's commits before and after
//	refs/gaffer/undone/<run>/<task>/<n>  a landing that was taken back
//	refs/gaffer/rescue/<run>/<task>      the content of a removed worktree
//	refs/gaffer/discarded/<run>/<task>   a worktree that the user has discarded
//
// A record is written before the thing that it describes, and deleted after it. So a
// process that finds a record knows what was started and repeats the same steps, which
// are idempotent.
//
// The user's own worktree and index are never changed, with two exceptions. [Repo.Merge]
// moves a worktree forward if it has the target branch checked out and no changed
// files. [Repo.Land] and [Repo.Undo] do so only if the caller says that the user agrees.
//
// Submodules are not supported: they are not checked out, and a worktree that contains
// another repository is not removed.
package worktree

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"gaffer/internal/project/trust"
	"gaffer/statefile/host"
	"gaffer/statefile/lazyregexp"
)

// Repo is a git repository with a worktree. It keeps no files open. It is safe for
// concurrent use, also by several processes.
type Repo struct {
	git    git // ignores programs in the repository's own git settings, such as filters
	plain  git // runs such programs; used once the user trusts them, see [Repo.writer]
	host   host.Host
	main   string // the main worktree
	here   string // the worktree where Open was called
	common string // the git folder that all worktrees share

	programs []trust.Program // see Programs
}

// Main returns the folder of the repository's main worktree. A bare repository has
// none: then it returns the worktree where [Open] was called.
func (r *Repo) Main() string { return r.main }

// Open finds the repository of a folder, which may be anywhere in it or in a linked
// worktree. It returns an [*OpenError] if the repository cannot be used.
func Open(ctx context.Context, dir string) (*Repo, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, &OpenError{Problem: NoGit, Dir: dir, Err: err}
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	r := &Repo{git: git{program: program, dir: dir, env: environ(os.Environ())}, host: host.OS()}
	if err := r.checkVersion(ctx, dir); err != nil {
		return nil, err
	}
	if err := r.find(ctx, dir); err != nil {
		return nil, err
	}
	r.git.dir = r.main
	if err := r.readPrograms(ctx); err != nil {
		return nil, err
	}
	return r, r.checkCommit(ctx)
}

var version = lazyregexp.New(`(\d+)\.(\d+)`)

// The first version with merge-tree --write-tree.
const oldestMajor, oldestMinor = 2, 38

func (r *Repo) checkVersion(ctx context.Context, dir string) error {
	text, err := r.git.line(ctx, "version")
	if err != nil {
		return err
	}
	if !newEnough(text) {
		return &OpenError{Problem: OldGit, Dir: dir, Err: errors.New("found " + text)}
	}
	return nil
}

func newEnough(text string) bool {
	n := version().FindStringSubmatch(text)
	if n == nil {
		return false
	}
	major, _ := strconv.Atoi(n[1])
	minor, _ := strconv.Atoi(n[2])
	return major > oldestMajor || major == oldestMajor && minor >= oldestMinor
}

// find sets the paths of the repository and its worktrees.
func (r *Repo) find(ctx context.Context, dir string) error {
	common, err := r.git.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		if e, ok := errors.AsType[*GitError](err); ok && strings.Contains(e.Said, "not a git repository") {
			return &OpenError{Problem: NotRepository, Dir: dir}
		}
		return err
	}
	r.common = common
	own, err := r.git.line(ctx, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		return err
	}
	r.here, _ = r.git.line(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel") // fails inside a git folder
	if r.main, err = r.findMain(ctx, own); err != nil {
		return err
	}
	switch {
	case r.main == "" && r.here == "":
		return &OpenError{Problem: Bare, Dir: dir}
	case r.main == "":
		r.main = r.here
	case r.here == "":
		r.here = r.main
	}
	return nil
}

// findMain returns the folder of the main worktree, or "" if there is none.
func (r *Repo) findMain(ctx context.Context, own string) (string, error) {
	if r.here != "" && own == r.common {
		return r.here, nil
	}
	g := r.git.in(r.common).with("GIT_DIR=" + r.common)
	// Git exits with 1 for missing settings.
	bare, err := g.line(ctx, "config", "--type=bool", "--get", "core.bare")
	if err != nil && exitCode(err) != 1 {
		return "", err
	}
	elsewhere, err := g.line(ctx, "config", "--get", "core.worktree")
	if err != nil && exitCode(err) != 1 {
		return "", err
	}
	switch {
	case elsewhere != "" && filepath.IsAbs(elsewhere):
		return elsewhere, nil
	case elsewhere != "":
		return filepath.Join(r.common, elsewhere), nil
	case bare == "true", filepath.Base(r.common) != ".git":
		return "", nil
	}
	return filepath.Dir(r.common), nil
}

// checkCommit returns an error if no branch has a commit. HEAD may be a branch without
// commits as long as another branch has some.
func (r *Repo) checkCommit(ctx context.Context) error {
	if tip, err := r.git.in(r.here).commit(ctx, "HEAD"); err != nil || tip != "" {
		return err
	}
	some, err := r.git.line(ctx, "for-each-ref", "--count=1", "refs/heads")
	if err == nil && some == "" {
		err = &OpenError{Problem: NoCommit, Dir: r.here}
	}
	return err
}
