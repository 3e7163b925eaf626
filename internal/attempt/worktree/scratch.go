package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gaffer/internal/git"
)

// savedFiles has the ids of git trees with the content of a worktree.
type savedFiles struct {
	tree string // id of the tree with all files that are not ignored
	// staged is the id of the tree of the index. It is empty if it equals tree, or if the index has
	// conflicts.
	staged string
}

// scratch is a temporary folder with a copy of a worktree's index, so that git can add
// files without changing the worktree's own index.
type scratch struct {
	git git.Client
	dir string
}

// newScratch creates the temporary folder for the worktree in which g works. It copies the index,
// so that git need not read unchanged files. The caller must call close.
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
		err = s.checkAll(ctx)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// copyIndex copies an index and its modification time. Git uses this time to find changed files: it
// always reads a file that is not older than the index.
func copyIndex(from, to string) error {
	// Read the time before the content. If the index is changed in between, the time is too early,
	// and git only reads more files than necessary.
	info, err := os.Stat(from)
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

// checkAll makes git also check files that are marked assume-unchanged or
// skip-worktree.
func (s *scratch) checkAll(ctx context.Context) error {
	paths, err := uncheckedFiles(ctx, s.git)
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

// uncheckedFiles lists existing files that git takes as unchanged without reading them.
func uncheckedFiles(ctx context.Context, g git.Client) ([]string, error) {
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

func (s *scratch) close() { _ = os.RemoveAll(s.dir) } // ignore the error: files left in the temporary folder are harmless

// saveFiles writes the files and the index as git trees. It leaves out ignored files and nested
// repositories, whose paths are in the parameter nested.
func (s *scratch) saveFiles(ctx context.Context, nested []string) (savedFiles, error) {
	staged, err := s.git.Line(ctx, "write-tree")
	if git.ExitCode(err) > 0 { // git cannot write an index with conflicts as a tree
		staged, err = "", nil
	}
	if err != nil {
		return savedFiles{}, err
	}
	args := []string{"add", "--all", "--sparse", "--", "."}
	for _, path := range nested {
		args = append(args, ":(exclude,literal)"+path)
	}
	if _, err := s.git.Run(ctx, args...); err != nil {
		return savedFiles{}, err
	}
	tree, err := s.git.Line(ctx, "write-tree")
	if staged == tree {
		staged = ""
	}
	return savedFiles{tree: tree, staged: staged}, err
}

// WriteFiles writes the files of a worktree as a git tree, and returns the id of that git tree. It
// leaves out ignored files and nested repositories. It changes neither the folder nor its index. An
// agent may change files in the folder meanwhile: a file that is gone when git reads it counts as
// deleted. WriteFiles returns a [*git.MissingError] if the folder is missing.
func (r *Repo) WriteFiles(ctx context.Context, t Tree) (string, error) {
	g, err := r.inTree(r.Git, t)
	if err != nil {
		return "", err
	}
	dirty, err := uncommittedFiles(ctx, g)
	if err != nil {
		return "", err
	}
	without, err := nestedRepositories(ctx, g, dirty)
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
			if path == "" || strings.HasSuffix(path, "/") { // skip a nested repository
				continue
			}
			if info, err := os.Lstat(filepath.Join(g.Dir, path)); err != nil || info.IsDir() {
				gone.WriteString(path + "\x00")
			} else {
				there.WriteString(path + "\x00")
			}
		}
		// Unlike git add, update-index accepts files that are gone before git starts. If a file is
		// deleted while git reads it, update-index fails, and the loop tries everything again.
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
