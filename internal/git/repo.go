// Package git runs the git program, version 2.38 or newer, on a user's repository.
//
// It is safe to use on a repository that a stranger or an agent has prepared: no hook, filter,
// merge driver or other program that the repository's own settings name runs before the user trusts
// it, see [Repo.Programs]. Git gets a clean environment. A command that is stopped gets time to
// delete its lock files.
//
// [Client] calls git in one folder. [Repo] finds a repository, answers questions about its branches
// and commits, and has the lock that all gaffer processes use for changes of branches and
// worktrees. gaffer's own files are in the repository's git folder, below gaffer/:
//
//	gaffer/lock  locked by the process that changes branches or worktrees
//	gaffer/busy  locked by the git commands of that process; they may still run after it has ended
//
// Worktrees and merges are created by the packages worktree and merge, which use this package.
package git

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
	Git Client // runs no programs that the repository's own settings name, such as filters
	// plain also runs the programs that the repository's own settings name. It is used only if the
	// user trusts these programs.
	plain  Client
	Host   host.Host
	main   string // path of the main worktree
	here   string // path of the worktree where Open was called
	Folder string // path of the git folder that all worktrees share

	programs []trust.Program // programs that the repository's own settings name
}

// Main returns the path of the repository's main worktree. A bare repository has no main worktree.
// For such a repository, Main returns the path of the worktree where [Open] was called.
func (r *Repo) Main() string { return r.main }

// Open finds the repository that contains the folder dir, which may also be in a linked worktree.
// It returns an [*OpenError] if the repository cannot be used.
func Open(ctx context.Context, dir string) (*Repo, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, &OpenError{Problem: NoGit, Dir: dir, Err: err}
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	r := &Repo{Git: Client{program: program, Dir: dir, env: environ(os.Environ())}, Host: host.OS()}
	if err := r.checkVersion(ctx, dir); err != nil {
		return nil, err
	}
	if err := r.find(ctx, dir); err != nil {
		return nil, err
	}
	r.Git.Dir = r.main
	if err := r.readPrograms(ctx); err != nil {
		return nil, err
	}
	return r, r.checkCommit(ctx)
}

var version = lazyregexp.New(`(\d+)\.(\d+)`)

// oldestMajor and oldestMinor are the oldest version of git that gaffer supports: 2.38, the first
// version with git merge-tree --write-tree.
const oldestMajor, oldestMinor = 2, 38

func (r *Repo) checkVersion(ctx context.Context, dir string) error {
	text, err := r.Git.Line(ctx, "version")
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

// find sets r.Folder, r.main and r.here. It returns an [*OpenError] if dir is in no repository, or
// in a bare repository and in none of its worktrees.
func (r *Repo) find(ctx context.Context, dir string) error {
	common, err := r.Git.Line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok && strings.Contains(e.Said, "not a git repository") {
			return &OpenError{Problem: NotRepository, Dir: dir}
		}
		return err
	}
	r.Folder = common
	own, err := r.Git.Line(ctx, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		return err
	}
	// This command fails if dir is inside a git folder. Then r.here stays empty until it is set to
	// the main worktree below.
	r.here, _ = r.Git.Line(ctx, "rev-parse", "--path-format=absolute", "--show-toplevel")
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

// findMain returns the path of the main worktree, or "" if the repository has none or its path is
// not known. own is the git folder of the worktree where [Open] was called.
func (r *Repo) findMain(ctx context.Context, own string) (string, error) {
	if r.here != "" && own == r.Folder {
		return r.here, nil
	}
	g := r.Git.In(r.Folder).With("GIT_DIR=" + r.Folder)
	// The exit code 1 of git config means that the setting is missing.
	bare, err := g.Line(ctx, "config", "--type=bool", "--get", "core.bare")
	if err != nil && ExitCode(err) != 1 {
		return "", err
	}
	elsewhere, err := g.Line(ctx, "config", "--get", "core.worktree")
	if err != nil && ExitCode(err) != 1 {
		return "", err
	}
	switch {
	case elsewhere != "" && filepath.IsAbs(elsewhere):
		return elsewhere, nil
	case elsewhere != "":
		return filepath.Join(r.Folder, elsewhere), nil
	case bare == "true", filepath.Base(r.Folder) != ".git":
		return "", nil
	}
	return filepath.Dir(r.Folder), nil
}

// checkCommit returns an error if the repository has no commit on any branch. It returns no error
// if only the checked-out branch has no commit.
func (r *Repo) checkCommit(ctx context.Context) error {
	if tip, err := r.Git.In(r.here).CommitID(ctx, "HEAD"); err != nil || tip != "" {
		return err
	}
	some, err := r.Git.Line(ctx, "for-each-ref", "--count=1", "refs/heads")
	if err == nil && some == "" {
		err = &OpenError{Problem: NoCommit, Dir: r.here}
	}
	return err
}
