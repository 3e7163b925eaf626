package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Inspect runs a git command that only reads objects. The command runs in a new, empty git folder
// that uses the object store of the repository. So no setting, attribute, hook, replacement or
// graft of the repository has an effect, and nothing is written to the repository.
func (r *Repo) Inspect(ctx context.Context, stdin string, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "gaffer-worktree-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // errors are harmless: the folder is in the system's temporary folder
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	first, _, _ := strings.Cut(stdin, "\n")
	if slices.ContainsFunc(append([]string{first}, args...), func(word string) bool { return len(word) == 64 && IsID(word) }) {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "refs"), 0o700); err != nil {
		return "", err
	}
	g := r.Git.In(dir).With("GIT_DIR="+dir, "GIT_OBJECT_DIRECTORY="+filepath.Join(r.Folder, "objects"), "GIT_ATTR_NOSYSTEM=1", "GIT_CONFIG_COUNT=0")
	return g.Feed(ctx, stdin, args...)
}

// IsID reports whether a text is the full id of a git object.
func IsID(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// LinesOf returns the text of a range of lines of a file in a tree. The parameters first and last
// are the numbers of the first and the last line of the range. The first line of a file has the
// number 1. LinesOf returns "" if there is no such file, or if the file lacks one of these lines.
func (r *Repo) LinesOf(ctx context.Context, tree, path string, first, last int) (string, error) {
	out, err := r.Inspect(ctx, "", "cat-file", "blob", tree+":"+path)
	if ExitCode(err) > 0 {
		return "", nil
	}
	lines := slices.Collect(strings.Lines(out))
	if first < 1 || last < first || last > len(lines) {
		return "", err
	}
	return strings.Join(lines[first-1:last], ""), err
}

// WithObjectsIn returns a copy of the client g that writes new git objects to a folder below dir
// instead of the repository. The caller deletes dir later, and with it these objects.
func (r *Repo) WithObjectsIn(g Client, dir string) (Client, error) {
	objects := filepath.Join(dir, "objects")
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(filepath.Join(r.Folder, "objects"))
	return g.With("GIT_OBJECT_DIRECTORY="+objects, `GIT_ALTERNATE_OBJECT_DIRECTORIES="`+escaped+`"`), os.Mkdir(objects, 0o700)
}
