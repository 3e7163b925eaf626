package statefile

import (
	"errors"
	"fmt"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// CorruptError reports a file that is not JSON.
type CorruptError struct {
	Path   string
	Syntax *jsontree.SyntaxError
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s:%d:%d: not JSON: %s", e.Path, e.Syntax.Line, e.Syntax.Column, e.Syntax.Problem)
}

// Unwrap returns the syntax error.
func (e *CorruptError) Unwrap() error { return e.Syntax }

// Invalid marks the error as invalid content of a document.
func (e *CorruptError) Invalid() bool { return true }

// FormError reports that a document's path holds something that cannot be a document:
// a folder, a pipe, or a file larger than [MaxSize].
type FormError struct {
	Path, Problem string
}

func (e *FormError) Error() string { return e.Path + ": " + e.Problem }

// Invalid marks the error as invalid content of a document.
func (e *FormError) Invalid() bool { return true }

// StepError reports the step of an update that failed.
type StepError struct {
	Step     host.Op
	Path     string // path of the document
	Replaced bool   // the new document is in place, but may be lost in a power cut
	Err      error
}

func (e *StepError) Error() string {
	state := "the document is unchanged"
	if e.Replaced {
		state = "the new document is in place but may not survive a power cut"
	}
	return fmt.Sprintf("%s: %s: %v (%s)", e.Path, e.Step, cause(e.Err), state)
}

func (e *StepError) Unwrap() error { return e.Err }

// LockError reports that a lock was not released in time.
type LockError struct {
	Path   string // path of the lock
	Waited time.Duration
	Holder string // description of the holder
}

func (e *LockError) Error() string {
	return fmt.Sprintf("%s: locked for %s by %s", e.Path, e.Waited.Round(time.Millisecond), e.Holder)
}

// Conflict marks the error as a conflict with another program.
func (e *LockError) Conflict() bool { return true }

// Hint returns what the user can do next.
func (e *LockError) Hint() string {
	return "end that program or wait for it; a lock whose owner died is broken by itself"
}

// NameError reports an id that cannot be part of a path.
type NameError struct {
	What, Name, Problem string
}

func (e *NameError) Error() string { return fmt.Sprintf("%s %q: %s", e.What, e.Name, e.Problem) }

// Usage marks the error as a mistake in the command's arguments.
func (e *NameError) Usage() bool { return true }

// cause returns the innermost error. It drops the path of a file error, because the
// surrounding message already has one.
func cause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
