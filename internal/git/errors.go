package git

import (
	"fmt"
	"strings"

	"gaffer/internal/text/truncate"
)

// Problem says why a repository cannot be opened.
type Problem string

// Values of Problem.
const (
	NoGit         Problem = "the program git is not installed"
	OldGit        Problem = "the program git is too old"
	NotRepository Problem = "not in a git repository"
	Bare          Problem = "a bare repository, which has no files to work on"
	NoCommit      Problem = "the repository has no commit yet"
)

// OpenError reports that a folder is in no repository that gaffer can use.
type OpenError struct {
	Problem Problem
	Dir     string
	Err     error // the error that caused the problem, or nil
}

func (e *OpenError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Dir, e.Problem, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Dir, e.Problem)
}

func (e *OpenError) Unwrap() error { return e.Err }

// NotFound reports whether git or the repository is missing.
func (e *OpenError) NotFound() bool { return e.Problem == NoGit || e.Problem == NotRepository }

// Conflict reports whether git is too old, or the repository exists but cannot be used.
func (e *OpenError) Conflict() bool { return !e.NotFound() }

// Hint returns advice for the user.
func (e *OpenError) Hint() string {
	switch e.Problem {
	case NoGit:
		return "install git, or run without worktrees"
	case OldGit:
		return fmt.Sprintf("install git %d.%d or newer, or run without worktrees", oldestMajor, oldestMinor)
	case Bare:
		return "go to a worktree of it, or make one with 'git worktree add'"
	case NoCommit:
		return "make a first commit: a worktree starts from one"
	}
	return "go to a folder of the repository, make one with 'git init', or run without worktrees"
}

// Error reports a git command that failed.
type Error struct {
	Args []string
	Dir  string
	Exit int    // exit code; -1 if a signal killed git
	Said string // what git printed on stderr
}

// Error returns git's message, shortened because it may list a thousand files.
func (e *Error) Error() string {
	said := e.Said
	if said == "" {
		said = fmt.Sprintf("exit %d", e.Exit)
	}
	return fmt.Sprintf("git %s in %s: %s", e.Args[0], e.Dir, truncate.Bytes(said, 1000))
}

// SpecError reports an invalid argument, such as a text that cannot be the name of a branch.
type SpecError struct{ Problem string }

func (e *SpecError) Error() string { return e.Problem }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *SpecError) Usage() bool { return true }

// MissingError reports a branch, commit or worktree that does not exist.
type MissingError struct{ What, Name, Advice string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s %s: not found", e.What, e.Name) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *MissingError) NotFound() bool { return true }

// Hint returns advice for the user.
func (e *MissingError) Hint() string { return e.Advice }

// TakenError reports a branch, folder or task that cannot be created or used, because of something
// that already exists.
type TakenError struct {
	What, Name string // the kind of thing that cannot be used, such as "branch", and its name
	By         string // why it cannot be used, such as "it is checked out in /src"
	Advice     string
}

func (e *TakenError) Error() string { return fmt.Sprintf("%s %s: %s", e.What, e.Name, e.By) }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *TakenError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *TakenError) Hint() string { return e.Advice }

// FirstFew returns a text with the first five names. If there are more, it says how many.
func FirstFew(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// Count returns the number n and the noun thing as text, such as "1 file" or "2 files".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
