package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
)

// at returns a client for work in a tree. It returns a [*git.MissingError] if the tree's
// folder is missing.
func (r *Repo) at(g git.Client, t Tree) (git.Client, error) {
	filled, err := folder.IsFilled(t.Path)
	if err != nil {
		return git.Client{}, err
	}
	if !filled {
		return git.Client{}, &git.MissingError{What: "worktree", Name: t.Path, Advice: "its folder is gone; its branch is " + t.Branch}
	}
	return r.InWorktree(g, t.Path)
}

// File is a path in a worktree that differs from the commit.
type File struct {
	State string // git's two status letters, for the index and for the file
	Path  string
}

// files lists files that are neither committed nor ignored.
func files(ctx context.Context, g git.Client) ([]File, error) {
	paths, err := unwatched(ctx, g)
	if err != nil {
		return nil, err
	}
	if len(paths) > 0 {
		s, err := newScratch(ctx, g)
		if err != nil {
			return nil, err
		}
		defer s.close()
		g = s.git
	}
	out, err := g.Run(ctx, "status", "--porcelain=v1", "-z", "--no-renames",
		"--untracked-files=all", "--ignored=no",
		"--ignore-submodules=dirty") // looking into submodules would run programs of their own settings
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

// nested lists the repositories inside a worktree. They are not on our branches, and
// git keeps none of their content.
func nested(ctx context.Context, g git.Client, dirty []File) ([]string, error) {
	var found []string
	for _, f := range dirty {
		if f.State == "??" && strings.HasSuffix(f.Path, "/") {
			found = append(found, strings.TrimSuffix(f.Path, "/"))
		}
	}
	out, err := g.Run(ctx, "ls-files", "--stage", "-z")
	for line := range strings.SplitSeq(out, "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(about, "160000 ") {
			continue
		}
		// Git does not look into a submodule that is not checked out.
		if filled, err := folder.IsFilled(filepath.Join(g.Dir, path)); err != nil || filled {
			found = append(found, path)
		}
	}
	return found, err
}

// hidden lists the repositories that were created in folders with files of the branch.
// Git still looks into these folders.
func hidden(ctx context.Context, g git.Client) ([]string, error) {
	out, err := g.Run(ctx, "ls-files", "-z")
	var found []string
	seen := map[string]bool{".": true}
	for path := range strings.SplitSeq(out, "\x00") {
		for dir := filepath.Dir(path); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			if _, err := os.Lstat(filepath.Join(g.Dir, dir, ".git")); err == nil {
				found = append(found, dir)
			}
		}
	}
	return found, err
}

// snapshot holds the content of a worktree as git objects.
type snapshot struct {
	tree   string // tree of all files that are not ignored
	staged string // tree of the index, if it differs; else empty
}

// scratch is a temporary folder with a copy of the index.
type scratch struct {
	git git.Client
	dir string
}

// newScratch copies the index, which saves git from reading unchanged files. The caller
// must call close.
func newScratch(ctx context.Context, g git.Client) (*scratch, error) {
	dir, err := os.MkdirTemp("", "gaffer-worktree-")
	if err != nil {
		return nil, err
	}
	index := filepath.Join(dir, "index")
	s := &scratch{git: g.With("GIT_INDEX_FILE=" + index), dir: dir}
	err = copyIndex(filepath.Join(g.GitFolder, "index"), index)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = s.git.Run(ctx, "read-tree", "HEAD")
	}
	if err == nil {
		err = s.watchAll(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// copyIndex keeps the modification time: git reads files that are not older than the
// index.
func copyIndex(from, to string) error {
	info, err := os.Stat(from) // before reading: with a time that is too early, git only reads more files
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// watchAll makes git also check files that are marked assume-unchanged or
// skip-worktree.
func (s *scratch) watchAll(ctx context.Context) error {
	paths, err := unwatched(ctx, s.git)
	if err != nil || len(paths) == 0 {
		return err
	}
	list := strings.Join(paths, "\x00") + "\x00"
	for _, how := range []string{"--no-assume-unchanged", "--no-skip-worktree"} {
		if _, err := s.git.Feed(ctx, list, "update-index", how, "-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// unwatched lists existing files that git assumes to be unchanged, whatever their
// content.
func unwatched(ctx context.Context, g git.Client) ([]string, error) {
	out, err := g.Run(ctx, "ls-files", "-v", "-z")
	var found []string
	for line := range strings.SplitSeq(out, "\x00") {
		if len(line) < 3 || line[0] != 'S' && (line[0] < 'a' || line[0] > 'z') {
			continue
		}
		if _, err := os.Lstat(filepath.Join(g.Dir, line[2:])); err == nil {
			found = append(found, line[2:])
		}
	}
	return found, err
}

func (s *scratch) close() { _ = os.RemoveAll(s.dir) } // in the temporary folder, so leftovers are harmless

// take creates the snapshot, without nested repositories.
func (s *scratch) take(ctx context.Context, without []string) (snapshot, error) {
	staged, err := s.git.Line(ctx, "write-tree")
	if git.ExitCode(err) > 0 { // in the middle of a merge
		staged, err = "", nil
	}
	if err != nil {
		return snapshot{}, err
	}
	args := []string{"add", "--all", "--sparse", "--", "."}
	for _, path := range without {
		args = append(args, ":(exclude,literal)"+path)
	}
	if _, err := s.git.Run(ctx, args...); err != nil {
		return snapshot{}, err
	}
	tree, err := s.git.Line(ctx, "write-tree")
	if staged == tree {
		staged = ""
	}
	return snapshot{tree: tree, staged: staged}, err
}

// WriteFiles writes the files of a tree's folder as a git tree, without ignored files and
// nested repositories. It changes neither the folder nor its index. An agent may be at
// work there: a file that is gone when git reads it counts as deleted. WriteFiles returns
// a [*git.MissingError] if the folder is missing.
func (r *Repo) WriteFiles(ctx context.Context, t Tree) (string, error) {
	g, err := r.at(r.Git, t)
	if err != nil {
		return "", err
	}
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
