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

// Unwrap returns the error that says where the file is not JSON.
func (e *CorruptError) Unwrap() error { return e.Syntax }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *CorruptError) Invalid() bool { return true }

// FormError reports that the file at a path cannot be a document, for example because it is a
// folder, a pipe, or a file larger than [MaxSize].
type FormError struct {
	Path, Problem string
}

func (e *FormError) Error() string { return e.Path + ": " + e.Problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *FormError) Invalid() bool { return true }

// StepError reports that a step of an update failed, such as the sync of the new file.
type StepError struct {
	Step     host.Op
	Path     string // path of the document
	Replaced bool   // the document was replaced, but a power cut may still undo that
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

// LockError reports that another program did not release the document's lock in time.
type LockError struct {
	Path   string // path of the lock
	Waited time.Duration
	Holder string // description of the program that holds the lock
}

func (e *LockError) Error() string {
	return fmt.Sprintf("%s: locked for %s by %s", e.Path, e.Waited.Round(time.Millisecond), e.Holder)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *LockError) Conflict() bool { return true }

// Hint tells the user what to do next.
func (e *LockError) Hint() string {
	return "end that program or wait for it; a lock whose owner died is broken by itself"
}

// NameError reports an id that cannot be used as a file name.
type NameError struct {
	What, Name, Problem string
}

func (e *NameError) Error() string { return fmt.Sprintf("%s %q: %s", e.What, e.Name, e.Problem) }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *NameError) Usage() bool { return true }

// cause returns the innermost error in err. This drops the path of a file error, because the
// message of the caller already contains a path.
func cause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
