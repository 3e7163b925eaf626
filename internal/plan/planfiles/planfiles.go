// Package planfiles reads the plan files of a project for clients that must not read other files of
// the machine. It reads nothing outside the project's folder, not even through a symbolic link.
package planfiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"gaffer/internal/plan"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

// MaxSize is the maximum size of a plan's text, in bytes.
const MaxSize = 4 << 20

// Files reads the files below a project's folder. The zero value has no files.
type Files struct {
	root *os.Root
	dir  string // absolute path of the project's folder
}

// Open returns a Files for the folder dir. The caller must close it.
func Open(dir string) (*Files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Files{root, dir}, nil
}

// Close closes the project's folder, which Open has opened.
func (f *Files) Close() error {
	if f.root == nil {
		return nil
	}
	return f.root.Close()
}

// NoFileError reports a path that names no plan file of the project.
type NoFileError struct{ Path, Why string }

func (e *NoFileError) Error() string {
	return fmt.Sprintf("%.200q is no plan file of the project: %s", e.Path, e.Why)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NoFileError) NotFound() bool { return true }

// Read returns the text of a plan file. The parameter path is relative to the project's folder. An
// error is always a [*NoFileError].
func (f *Files) Read(path string) (string, error) {
	if f.root == nil || !filepath.IsLocal(path) || !isPlanName(path) {
		return "", &NoFileError{path, "want a path below its folder that ends in .yaml, .yml, .json or .md"}
	}
	data, err := statefile.ReadBytes(f.Host("", ""), filepath.Join(f.dir, path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", &NoFileError{path, "it does not exist"}
	case err != nil:
		return "", &NoFileError{path, "it cannot be read"}
	case len(data) > MaxSize:
		return "", &NoFileError{path, fmt.Sprintf("it has %d MiB, want %d at most", len(data)>>20, MaxSize>>20)}
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 || !plan.IsPlan(path, data):
		return "", &NoFileError{path, "it contains no plan"}
	}
	return string(data), nil
}

func isPlanName(path string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".md"}, strings.ToLower(filepath.Ext(path)))
}

// Limits of List.
const (
	maxDepth   = 5
	maxVisited = 20_000
	maxListed  = 200
	maxLooked  = 256 << 10 // maximum size of a listed file, in bytes
)

// List returns the paths of the plan files, sorted. It leaves out large files, hidden folders,
// deeply nested folders, and the folders node_modules and vendor. The result more is true if the
// search ended early, because it found too many paths or plan files.
func (f *Files) List() (paths []string, more bool, err error) {
	if f.root == nil {
		return nil, false, nil
	}
	visited := 0
	err = fs.WalkDir(f.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		visited++
		name := entry.Name()
		switch {
		case err != nil:
			return nil //nolint:nilerr // a folder that cannot be read has no plans
		case visited > maxVisited || len(paths) == maxListed:
			more = true
			return fs.SkipAll
		case entry.IsDir() && path != "." && (name[0] == '.' || name == "node_modules" || name == "vendor" || strings.Count(path, "/") >= maxDepth):
			return fs.SkipDir
		case !entry.Type().IsRegular() || !isPlanName(path):
			return nil
		}
		if info, err := entry.Info(); err != nil || info.Size() > maxLooked {
			return nil //nolint:nilerr // the file is too large, or it was deleted meanwhile
		}
		if _, err := f.Read(path); err == nil {
			paths = append(paths, path)
		}
		return nil
	})
	slices.Sort(paths)
	return paths, more, err
}

// Host returns a [host.Host] through which only the files of the project can be read. If name is
// not empty, it is a path relative to the project's folder. Reading the file at that path returns
// the parameter text, whether the file exists or not. Write operations are not restricted, so the
// caller must use the result only to read.
func (f *Files) Host(name, text string) host.Host {
	h := &confined{Host: host.OS(), files: f, text: text}
	if name != "" {
		h.name = filepath.Join(f.Dir(), name)
	}
	return h
}

// Dir returns the path of the project's folder. For the zero value of Files it returns "/", but the
// result of [Files.Host] can read no files there.
func (f *Files) Dir() string {
	if f.root == nil {
		return "/"
	}
	return f.dir
}

// confined is a [host.Host] through which only the files of a project can be read. For the path
// name, if it is set, the text is read instead of the file's content. confined does not restrict
// the write operations of the embedded Host.
type confined struct {
	host.Host
	files *Files
	name  string // path of the file whose content the field text replaces; empty if there is none
	text  string
}

// local converts the absolute path name to a path relative to the project's folder. It returns an
// error if name is outside of that folder.
func (h *confined) local(name string) (string, error) {
	rel, err := filepath.Rel(h.files.Dir(), name)
	if err != nil || h.files.root == nil || !filepath.IsLocal(rel) {
		return "", &fs.PathError{Op: "open", Path: name, Err: errOutside}
	}
	return rel, nil
}

// errOutside is the error for a path outside of the project's folder. It wraps fs.ErrNotExist, so
// that error messages do not reveal whether the file exists.
var errOutside = fmt.Errorf("it is outside the project's folder: %w", fs.ErrNotExist)

// Open implements [host.Host].
func (h *confined) Open(_ host.Op, name string) (host.File, error) {
	if h.name != "" && name == h.name {
		return &givenFile{Reader: strings.NewReader(h.text)}, nil
	}
	rel, err := h.local(name)
	if err != nil {
		return nil, err
	}
	f, err := h.files.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return readFile{File: f}, nil
}

// Stat implements [host.Host].
func (h *confined) Stat(_ host.Op, name string) (fs.FileInfo, error) {
	if h.name != "" && name == h.name {
		return givenInfo(len(h.text)), nil
	}
	rel, err := h.local(name)
	if err != nil {
		return nil, err
	}
	return h.files.root.Stat(rel)
}

// Lstat implements [host.Host].
func (h *confined) Lstat(_ host.Op, name string) (fs.FileInfo, error) {
	rel, err := h.local(name)
	if err != nil {
		return nil, err
	}
	return h.files.root.Lstat(rel)
}

// ReadDir implements [host.Host].
func (h *confined) ReadDir(_ host.Op, name string) ([]fs.DirEntry, error) {
	rel, err := h.local(name)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(h.files.root.FS(), filepath.ToSlash(rel))
}

// Names implements [host.Host].
func (h *confined) Names(op host.Op, name string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := h.ReadDir(op, name)
		if err != nil {
			yield("", err)
			return
		}
		for _, e := range entries {
			if !yield(e.Name(), nil) {
				return
			}
		}
	}
}

// readOnly implements the methods of a [host.File] that would change the file. They always return
// an error.
type readOnly struct{}

func (readOnly) Write(host.Op, []byte) error      { return errors.ErrUnsupported }
func (readOnly) Chmod(host.Op, fs.FileMode) error { return errors.ErrUnsupported }
func (readOnly) Chown(host.Op, int, int) error    { return errors.ErrUnsupported }
func (readOnly) Sync(host.Op) error               { return errors.ErrUnsupported }

// readFile is an open file of the project, which can only be read.
type readFile struct {
	readOnly
	File *os.File
}

func (f readFile) Read(p []byte) (int, error) { return f.File.Read(p) }
func (f readFile) Stat() (fs.FileInfo, error) { return f.File.Stat() }
func (f readFile) Close() error               { return f.File.Close() }

// givenFile is an open file whose content is the text that was passed to [Files.Host].
type givenFile struct {
	readOnly
	*strings.Reader
}

func (f *givenFile) Stat() (fs.FileInfo, error) { return givenInfo(f.Size()), nil }
func (f *givenFile) Close() error               { return nil }

// givenInfo is the [fs.FileInfo] of a givenFile. The integer is the length of the file's text.
type givenInfo int64

func (i givenInfo) Name() string     { return "plan" }
func (i givenInfo) Size() int64      { return int64(i) }
func (givenInfo) Mode() fs.FileMode  { return 0o400 }
func (givenInfo) ModTime() time.Time { return time.Time{} }
func (givenInfo) IsDir() bool        { return false }
func (givenInfo) Sys() any           { return nil }
