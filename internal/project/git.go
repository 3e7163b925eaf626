package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// findGit returns the project of the git worktree that contains the folder start. If that is a
// linked worktree of a repository that has a main worktree, the root of the project is the main
// worktree. Otherwise the root is the worktree that contains start. If start is in no git worktree,
// findGit returns the zero Project.
func findGit(start string) (Project, error) {
	for dir := range ancestors(start) {
		dotGit := filepath.Join(dir, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return Project{}, err
		case info.Mode().IsRegular():
			return fromGitFile(dir, dotGit)
		}
		// Accept the .git folder only if it contains HEAD. git ignores other .git folders too.
		if found, err := exists(filepath.Join(dotGit, "HEAD")); err != nil {
			return Project{}, err
		} else if found {
			return Project{Root: dir, From: ".git"}, nil
		}
	}
	return Project{}, nil
}

// fromGitFile returns the project of a worktree whose .git is a file. That is the case in a linked
// worktree, in a submodule, and in a repository whose git folder is elsewhere. Only in a linked
// worktree does the git folder contain a file commondir.
func fromGitFile(worktree, dotGit string) (Project, error) {
	gitDir, err := gitDirOf(worktree, dotGit)
	if err != nil {
		return Project{}, err
	}
	own := Project{Root: worktree, From: ".git"}
	common, err := readLine(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return own, nil
	}
	if err != nil {
		return Project{}, err
	}
	main, err := mainWorktree(absolute(gitDir, common))
	if err != nil || main == "" {
		return own, err
	}
	return Project{Root: main, From: "git worktree"}, nil
}

// gitDirOf returns the path after "gitdir: " in the file dotGit. If that path does not exist, it
// returns an error, because it is then unknown to which repository the worktree belongs. If gaffer
// treated the worktree as a project of its own, the state of one project would be in two places.
func gitDirOf(worktree, dotGit string) (string, error) {
	line, err := readLine(dotGit)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok {
		return "", &gitError{dotGit, `does not start with "gitdir: "`}
	}
	gitDir := absolute(worktree, path)
	if found, err := exists(gitDir); err != nil {
		return "", err
	} else if !found {
		return "", &gitError{dotGit, "points to " + gitDir + ", which does not exist"}
	}
	return gitDir, nil
}

// mainWorktree returns the path of the main worktree of a repository. The parameter common is the
// path of the repository's git folder. mainWorktree returns "" if the repository is bare, or if its
// main worktree is unknown.
func mainWorktree(common string) (string, error) {
	core, err := readCore(common)
	if err != nil {
		return "", err
	}
	switch {
	case core.worktree != "":
		return resolveFolder(absolute(common, core.worktree))
	case core.bare, filepath.Base(common) != ".git":
		return "", nil
	}
	return resolveFolder(filepath.Dir(common))
}

// readLine returns the first line of one of the small files in which git stores a path.
func readLine(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimRight(line, " \r"), nil
}

type gitError struct{ path, problem string }

func (e *gitError) Error() string { return fmt.Sprintf("%s %s", e.path, e.problem) }

func (e *gitError) Hint() string {
	return "run 'git worktree repair', or name the project's root with --project DIR or " + EnvVar
}
