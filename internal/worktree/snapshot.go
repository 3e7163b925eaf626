package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// at is git as it is at work in a tree. The tree's git folder is named, so
// that git cannot take another repository for it.
func (r *Repo) at(g git, t Tree) (git, error) {
	filled, err := isFilled(t.Path)
	if err != nil {
		return git{}, err
	}
	if !filled {
		return git{}, &MissingError{"worktree", t.Path, "its folder is gone; its branch is " + t.Branch}
	}
	dir, err := r.gitFolder(t.Path)
	if err != nil {
		return git{}, err
	}
	return g.in(t.Path).with("GIT_DIR="+dir, "GIT_WORK_TREE="+t.Path), nil
}

// File is a path in a worktree that is not as it was committed.
type File struct {
	State string // git's two letters: for the index and for the file
	Path  string
}

// files lists what is not committed and not ignored.
func files(ctx context.Context, g git) ([]File, error) {
	out, err := g.run(ctx, "status", "--porcelain=v1", "-z", "--no-renames",
		"--untracked-files=all", "--ignored=no", "--ignore-submodules=none")
	if err != nil {
		return nil, err
	}
	var list []File
	for line := range strings.SplitSeq(out, "\x00") {
		if len(line) > 3 {
			list = append(list, File{State: line[:2], Path: line[3:]})
		}
	}
	return list, nil
}

// nested lists the repositories that are in a worktree. They are of no branch
// of ours, and git keeps nothing of what is in them.
func nested(ctx context.Context, g git, dirty []File) ([]string, error) {
	var found []string
	for _, f := range dirty {
		if f.State == "??" && strings.HasSuffix(f.Path, "/") {
			found = append(found, strings.TrimSuffix(f.Path, "/"))
		}
	}
	out, err := g.run(ctx, "ls-files", "--stage", "-z")
	for line := range strings.SplitSeq(out, "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(about, "160000 ") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(g.dir, path, ".git")); err == nil {
			found = append(found, path)
		}
	}
	return found, err
}

// snapshot is what a worktree holds, as objects.
type snapshot struct {
	tree   string // all files that are not ignored
	staged string // the tree of the index, if that has something else; else empty
}

// scratch is a place for an index that is not the worktree's.
type scratch struct {
	git git
	dir string
}

// newScratch copies the index: it knows which files have not changed. Who makes
// one closes it.
func newScratch(ctx context.Context, g git, gitFolder string) (*scratch, error) {
	dir, err := os.MkdirTemp("", "gaffer-worktree-")
	if err != nil {
		return nil, err
	}
	index := filepath.Join(dir, "index")
	s := &scratch{git: g.with("GIT_INDEX_FILE=" + index), dir: dir}
	data, err := os.ReadFile(filepath.Join(gitFolder, "index"))
	switch {
	case err == nil:
		err = os.WriteFile(index, data, 0o600)
	case errors.Is(err, fs.ErrNotExist):
		_, err = s.git.run(ctx, "read-tree", "HEAD")
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *scratch) close() { _ = os.RemoveAll(s.dir) } // it is in the folder for such things

// apart lets the scratch write its objects beside itself, to be thrown away.
func (s *scratch) apart(common string) error {
	objects := filepath.Join(s.dir, "objects")
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(filepath.Join(common, "objects"))
	s.git = s.git.with("GIT_OBJECT_DIRECTORY="+objects, `GIT_ALTERNATE_OBJECT_DIRECTORIES="`+escaped+`"`)
	return os.Mkdir(objects, 0o700)
}

// take makes the snapshot, without the repositories that are nested in it.
func (s *scratch) take(ctx context.Context, without []string) (snapshot, error) {
	staged, err := s.git.line(ctx, "write-tree")
	if exitCode(err) > 0 { // in the middle of a merge
		staged, err = "", nil
	}
	if err != nil {
		return snapshot{}, err
	}
	args := []string{"add", "--all", "--sparse", "--", "."}
	for _, path := range without {
		args = append(args, ":(exclude,literal)"+path)
	}
	if _, err := s.git.run(ctx, args...); err != nil {
		return snapshot{}, err
	}
	tree, err := s.git.line(ctx, "write-tree")
	if staged == tree {
		staged = ""
	}
	return snapshot{tree: tree, staged: staged}, err
}
