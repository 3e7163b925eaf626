package supervisor

import (
	"errors"
	"fmt"
)

// UsedError reports that an attempt cannot be started in a folder, because the folder was used for
// an attempt before.
type UsedError struct{ Dir string }

func (e *UsedError) Error() string {
	return e.Dir + ": an attempt was started in this folder before; each needs one of its own"
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *UsedError) Conflict() bool { return true }

// SpecError reports an invalid [Spec].
type SpecError struct{ Err error }

func (e *SpecError) Error() string { return "spec: " + e.Err.Error() }
func (e *SpecError) Unwrap() error { return e.Err }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *SpecError) Invalid() bool { return true }

// StartError reports that the start of an attempt failed. For example, the supervisor could not be
// started, or did not receive the spec, or the context that the caller passed had ended. No process
// of the attempt is running, and a later start in another folder may succeed.
type StartError struct{ Err error }

func (e *StartError) Error() string { return "start supervisor: " + e.Err.Error() }
func (e *StartError) Unwrap() error { return e.Err }

// FailedError reports that the agent could not be started. The attempt is over, and no process of
// it is running.
type FailedError struct{ Exit Exit }

func (e *FailedError) Error() string {
	return fmt.Sprintf("start agent of attempt %s: %s", e.Exit.Attempt, e.Exit.Failed)
}

// noReportError reports that the supervisor to which an attempt was handed has died, and has not
// reported whether the agent was started. The caller must find that out from the attempt's lock
// file.
type noReportError struct{ reason error } // reason is why the handover failed; nil if the handover succeeded

func (e *noReportError) Error() string { return "the supervisor died without a report" }

// UnknownError reports that gaffer cannot tell whether an attempt is still running.
type UnknownError struct {
	Dir    string
	Reason error
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s: cannot tell whether the attempt still runs: %v", e.Dir, e.Reason)
}
func (e *UnknownError) Unwrap() error { return e.Reason }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *UnknownError) Conflict() bool { return true }

// Hint returns what the user can do next.
func (e *UnknownError) Hint() string {
	if hint := (interface{ Hint() string })(nil); errors.As(e.Reason, &hint) {
		return hint.Hint()
	}
	return "look at the processes named in started.json in that folder, end them if need be, and try again"
}

// OverError reports that an order was sent to an agent that has already ended.
type OverError struct{ Attempt string }

func (e *OverError) Error() string { return "attempt " + e.Attempt + " has ended" }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *OverError) Conflict() bool { return true }

// OrderError reports an order that the supervisor refused.
type OrderError struct{ Order, Reason string }

func (e *OrderError) Error() string { return e.Order + ": " + e.Reason }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *OrderError) Conflict() bool { return true }

var (
	// ErrClosed is returned by the methods of a Process that was closed with [Process.Close] before
	// its attempt ended. The agent may still be running.
	ErrClosed = errors.New("the process was closed")
	// ErrBroken is returned by [Process.Input] if the connection broke before the supervisor's
	// reply. Then the caller cannot know whether the agent gets the input.
	ErrBroken = errors.New("the connection to the supervisor broke; the order may or may not have arrived")
)
