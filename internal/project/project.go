// Package project finds the root folder of a project.
//
// All folders of a git repository have the same root, and so have its linked worktrees, unless the
// repository is bare. So a project keeps its state in only one place.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// EnvVar is the name of the environment variable that sets the root folder of the project.
const EnvVar = "GAFFER_PROJECT"

// ConfigFile is the name of the configuration file in the root folder. If a project does not use
// git, this file marks its root.
const ConfigFile = "gaffer.yaml"

// unmarked is the value of Project.From if no file or folder marks the root.
const unmarked = "current folder"

// Project is one project on this machine.
type Project struct {
	Root string // absolute path of the root folder, with symbolic links resolved
	// From says how the root was found. It is the name of a command-line flag, of an environment
	// variable, or of the file or folder that marks the root.
	From string
}

// Find returns the project to which dir belongs. If the variable GAFFER_PROJECT is set, the root is
// the folder that it names; if there is no such folder, Find returns an error. Otherwise Find uses
// the first of these rules that applies:
//
//   - If dir is in a git worktree, the root is that worktree. If it is a linked worktree of a
//     repository with a main worktree, the root is the main worktree.
//   - If dir or a folder above it contains a gaffer.yaml, the root is the nearest such folder.
//   - If dir or a folder above it contains a .founder-mode or .fctry, which other tools create, the
//     root is the nearest such folder.
//   - The root is dir itself.
func Find(dir string, getenv func(string) string) (Project, error) {
	if set := getenv(EnvVar); set != "" {
		return At(absolute(dir, set), EnvVar)
	}
	p, err := find(dir)
	if err != nil {
		return Project{}, fmt.Errorf("find project: %w", err)
	}
	return p, nil
}

// At returns the project whose root is dir. The parameter source is the name of the flag or
// environment variable with which the user has set dir.
func At(dir, source string) (Project, error) {
	root, err := resolveFolder(dir)
	if err != nil {
		return Project{}, fmt.Errorf("project from %s: %w", source, err)
	}
	return Project{Root: root, From: source}, nil
}

// Contains reports whether the folder dir belongs to the project. A folder in the root belongs to
// it, unless the folder is in another project below the root. A folder in a linked worktree of the
// project's repository belongs to it too.
func (p Project) Contains(dir string) bool {
	found, err := find(dir)
	if err != nil {
		return false
	}
	if found.Root == p.Root {
		return true
	}
	resolved, err := resolveFolder(dir)
	return err == nil && below(p.Root, resolved) && (found.From == unmarked || !below(p.Root, found.Root))
}

// below reports whether dir is root itself or is inside of it.
func below(root, dir string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}

func find(dir string) (Project, error) {
	start, err := resolveFolder(dir)
	if err != nil {
		return Project{}, err
	}
	if p, err := findGit(start); err != nil || p.Root != "" {
		return p, err
	}
	for _, marks := range [][]string{{ConfigFile}, {".founder-mode", ".fctry"}} {
		if p, err := findMark(start, marks); err != nil || p.Root != "" {
			return p, err
		}
	}
	return Project{Root: start, From: unmarked}, nil
}

// findMark looks for a file or folder whose name is in marks, first in start and then in the
// folders above it. It returns the project whose root is the first folder that contains one, or the
// zero Project if there is none.
func findMark(start string, marks []string) (Project, error) {
	for dir := range ancestors(start) {
		for _, mark := range marks {
			if found, err := exists(filepath.Join(dir, mark)); err != nil {
				return Project{}, err
			} else if found {
				return Project{Root: dir, From: mark}, nil
			}
		}
	}
	return Project{}, nil
}

// ancestors yields dir, the folder above it, and so on up to the root of the file system.
func ancestors(dir string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for yield(dir) {
			parent := filepath.Dir(dir)
			if parent == dir {
				return
			}
			dir = parent
		}
	}
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// resolveFolder returns the absolute path of a folder, with symbolic links resolved. That matters
// if path is a link to a subfolder of a repository: the project must be that repository, and not
// the folder that contains the link. It returns an error if path is not an existing folder.
func resolveFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s: not a folder", path)
	}
	return resolved, nil
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}
