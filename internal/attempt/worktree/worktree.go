// Package worktree gives each task of a run a git worktree and a branch of its
// own, brings the branches together again, and takes the worktrees away without
// losing what was done in them. It runs the git program, of version 2.38 or
// newer.
//
// What it has made is written down in the repository's git folder:
//
//	gaffer/lock                     held by who changes something
//	gaffer/busy                     held by the git that does it, which may outlive its gaffer
//	gaffer/trees/<run>/<task>.json  one worktree, as a record
//	gaffer/checks/<name>.json       the worktree in which a merge is checked
//	gaffer/checks/<name>.lock       held by who checks it
//
// A record comes before what it describes and goes after it. So whoever finds
// one knows what was begun, and does the same steps again: each may be repeated.
//
// The person's own worktree and index are never touched, with one exception:
// [Repo.Merge] moves a worktree forward that has the target branch checked out
// and no changes to its files.
//
// Submodules are not supported: they are not checked out, and a worktree in
// which there is another repository is not removed.
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

// Repo is a git repository with a worktree. It holds nothing open and is safe
// for concurrent use, by several processes as well.
type Repo struct {
	git    git // runs nothing that the repository's own settings name
	plain  git // may, see writer
	host   host.Host
	main   string // the main worktree
	here   string // the worktree that Open was called in
	common string // the git folder that all worktrees share

	programs []trust.Program // see Programs
}

// Main is the folder of the repository's main worktree. Where there is none,
// since the worktrees belong to a bare repository, it is the one that [Open]
// was called in.
func (r *Repo) Main() string { return r.main }

// Open finds the repository of a folder, which may be anywhere in it, in a
// linked worktree too. What cannot be used is an [*OpenError].
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

// merge-tree --write-tree came with this one.
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

// find fills in where the repository and its worktrees are.
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
	r.here, _ = r.git.line(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel") // none in a git folder
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

// findMain gives the folder of the main worktree, or "" if there is none.
func (r *Repo) findMain(ctx context.Context, own string) (string, error) {
	if r.here != "" && own == r.common {
		return r.here, nil
	}
	g := r.git.in(r.common).with("GIT_DIR=" + r.common)
	// Settings that are not there make git exit with 1.
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

// checkCommit lets a branch without commits pass as long as another has some.
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
