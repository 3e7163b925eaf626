// Package project finds the root folder of a project.
//
// All subfolders and linked worktrees of a repository have the same root. So a project keeps its
// state in one place only.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// EnvVar is the environment variable that sets the path of the root.
const EnvVar = "GAFFER_PROJECT"

// ConfigFile is the name of the configuration file in the root folder. If a project does not use
// git, this file marks its root.
const ConfigFile = "gaffer.yaml"

// unmarked is the value of Project.From if no file or folder marks the root.
const unmarked = "current folder"

// Project is one project on this machine.
type Project struct {
	Root string // absolute path of the root folder, with symbolic links resolved
	From string // how the root was found: name of a flag, of a variable, or of the file or folder that marks the root
}

// Find returns the project that dir belongs to. If the variable GAFFER_PROJECT is set, the root is
// the folder that it names; if there is no such folder, Find returns an error. Otherwise the root
// is the first of these that exists: the git worktree that contains dir, or its main worktree if it
// is a linked one; the nearest folder, from dir upwards, with a gaffer.yaml; the nearest folder
// with a .founder-mode or .fctry; dir itself.
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

// At returns the project whose root is dir. source is the name of the flag or the variable that has
// set dir.
func At(dir, source string) (Project, error) {
	root, err := resolveFolder(dir)
	if err != nil {
		return Project{}, fmt.Errorf("project from %s: %w", source, err)
	}
	return Project{Root: root, From: source}, nil
}

// Contains reports whether the folder dir belongs to the project. It belongs to the project if it
// is the root or below the root, and not in another project there. It also belongs to the project
// if it is in a linked worktree of the project's repository.
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

// below reports whether dir is the folder root or is inside of it.
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

// findMark looks for a folder that contains one of marks, in start and then in the folders above
// it. It returns the project whose root is the first folder found, or the zero Project if there is
// none.
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
