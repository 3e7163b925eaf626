package supervisor

import (
	"errors"
	"fmt"
)

// UsedError is a folder in which an attempt was started before.
type UsedError struct{ Dir string }

func (e *UsedError) Error() string {
	return e.Dir + ": an attempt was started in this folder before; each needs one of its own"
}

// Conflict marks the error as one about what is there already.
func (e *UsedError) Conflict() bool { return true }

// SpecError is a spec that nothing can be run from.
type SpecError struct{ Err error }

func (e *SpecError) Error() string { return "spec: " + e.Err.Error() }
func (e *SpecError) Unwrap() error { return e.Err }

// Invalid marks the error as one about content.
func (e *SpecError) Invalid() bool { return true }

// StartError is a supervisor that could not be started, or not be told what to run.
// There was no agent, and another attempt may fare better.
type StartError struct{ Err error }

func (e *StartError) Error() string { return "start supervisor: " + e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// FailedError is an agent that could not be started. It is over: nothing runs.
type FailedError struct{ Exit Exit }

func (e *FailedError) Error() string {
	return fmt.Sprintf("start agent of attempt %s: %s", e.Exit.Attempt, e.Exit.Failed)
}

// silentError is a supervisor that was handed an attempt and is dead, and has not
// said what became of that. The lock tells.
type silentError struct{ reason error } // nil if nothing more is known

func (e *silentError) Error() string { return "the supervisor has not said a word" }

// UnknownError is an attempt of which cannot be told whether it runs.
type UnknownError struct {
	Dir    string
	Reason error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s: cannot tell whether the attempt still runs: %v", e.Dir, e.Reason)
}
func (e *UnknownError) Unwrap() error { return e.Reason }

// Conflict marks the error as one about another program's doing.
func (e *UnknownError) Conflict() bool { return true }

// Hint says what to do next.
func (e *UnknownError) Hint() string {
	if hint := (interface{ Hint() string })(nil); errors.As(e.Reason, &hint) {
		return hint.Hint()
	}
	return "look at the processes named in started.json in that folder, end them if need be, and try again"
}

// OverError is an order to an agent that has ended.
type OverError struct{ Attempt string }

func (e *OverError) Error() string { return "attempt " + e.Attempt + " has ended" }

// Conflict marks the error as one about what is there already.
func (e *OverError) Conflict() bool { return true }

// OrderError is an order that the supervisor refused.
type OrderError struct{ Order, Reason string }

func (e *OrderError) Error() string { return e.Order + ": " + e.Reason }

// Conflict marks the error as one about the state of things.
func (e *OrderError) Conflict() bool { return true }

var (
	// ErrClosed is a Process that was let go.
	ErrClosed = errors.New("the process was let go")
	// ErrBroken is an order of which cannot be told whether it has arrived.
	ErrBroken = errors.New("the connection to the supervisor broke; the order may or may not have arrived")
)
