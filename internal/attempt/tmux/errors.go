package tmux

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gaffer/internal/text/truncate"
)

// MissingError reports that tmux is not installed.
type MissingError struct{ Err error }

func (e *MissingError) Error() string { return "tmux is not installed: " + e.Err.Error() }
func (e *MissingError) Unwrap() error { return e.Err }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *MissingError) NotFound() bool { return true }

// Hint returns what the user can do next.
func (e *MissingError) Hint() string { return installHint() }

// OldError reports a tmux version that is too old.
type OldError struct {
	Program string
	Version string // the version as tmux prints it, such as "tmux 3.1c"
}

func (e *OldError) Error() string {
	return fmt.Sprintf("%s is too old: it is %q", e.Program, e.Version)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *OldError) Conflict() bool { return true }

// Hint returns what the user can do next.
func (e *OldError) Hint() string { return installHint() }

func installHint() string {
	return fmt.Sprintf("install tmux %d.%d or newer (the package is called tmux), or use --headless, which needs none", oldestMajor, oldestMinor)
}

// SocketError reports that a server's socket cannot be used, for example because its path is too
// long.
type SocketError struct{ Socket, Problem, Advice string }

func (e *SocketError) Error() string { return fmt.Sprintf("tmux socket %s: %s", e.Socket, e.Problem) }

// Hint returns what the user can do next.
func (e *SocketError) Hint() string { return e.Advice }

// SpecError reports invalid arguments for a new session.
type SpecError struct{ Session, Problem string }

func (e *SpecError) Error() string { return fmt.Sprintf("start session %q: %s", e.Session, e.Problem) }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *SpecError) Usage() bool { return true }

// ExistsError reports that a session of that name already exists.
type ExistsError struct{ Session, Socket string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("start session %s: there is one already (duplicate session on %s)", e.Session, e.Socket)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ExistsError) Conflict() bool { return true }

// NotFoundError reports a session that does not exist, or no longer exists.
type NotFoundError struct{ Session string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("session %s: not found", e.Session) }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }

// TimeoutError reports that a server did not answer in time. The server may still execute the
// command later.
type TimeoutError struct {
	Command, Socket string
	Waited          time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("tmux %s on %s: no answer in %s", e.Command, e.Socket, e.Waited)
}

// Hint returns what the user can do next.
func (e *TimeoutError) Hint() string {
	return "see what the tmux server on this socket does; if it hangs, end it: its agents get a hangup signal"
}

// CommandError reports that a tmux command has failed.
type CommandError struct {
	Command, Socket string
	Stderr          string
	Err             error // the error from running tmux, usually its exit status
}

func (e *CommandError) Error() string {
	reason := e.Stderr
	if reason == "" {
		reason = e.Err.Error()
	}
	return fmt.Sprintf("tmux %s on %s: %s", e.Command, e.Socket, truncate.Bytes(reason, 1000))
}

func (e *CommandError) Unwrap() error { return e.Err }

// stderrContains reports whether tmux failed and its stderr contains the text.
func stderrContains(err error, text string) bool {
	failed, ok := errors.AsType[*CommandError](err)
	return ok && strings.Contains(failed.Stderr, text)
}
