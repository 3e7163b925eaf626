package protocol

import (
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
)

// problem is an error with an error code of the protocol.
type problem struct{ code, text string }

func (p *problem) Error() string { return p.text }

// Code returns the error code of the protocol.
func (p *problem) Code() string { return p.code }

// NotFoundError reports that the requested object does not exist.
type NotFoundError struct{ problem }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (*NotFoundError) NotFound() bool { return true }

// ConflictError reports a request that the current state does not allow, for example because it
// came too late or another client has the task. Usually the request has changed nothing. If the
// code is "unattended", all changes are stored, but no process could be started for the run.
type ConflictError struct{ problem }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*ConflictError) Conflict() bool { return true }

// InvalidError reports an invalid request.
type InvalidError struct{ problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (*InvalidError) Invalid() bool { return true }

// DeniedError reports that the client lacks the permission.
type DeniedError struct{ problem }

// Denied tells the server to answer with status 403.
func (*DeniedError) Denied() bool { return true }

// Conflict returns the error for a request that the current state does not allow.
func Conflict(code, format string, args ...any) error {
	return &ConflictError{problem{code, fmt.Sprintf(format, args...)}}
}

// Denied returns the error for a client that lacks the permission.
func Denied(format string, args ...any) error {
	return &DeniedError{problem{"forbidden", fmt.Sprintf(format, args...)}}
}

// Invalid returns the error for an invalid request.
func Invalid(format string, args ...any) error {
	return &InvalidError{problem{"invalid_request", fmt.Sprintf(format, args...)}}
}

// ExceedsLimits returns the error for a request that exceeds the limits of its token.
func ExceedsLimits(why string) error { return &DeniedError{problem{"limited", why}} }

// NotFound converts store.ErrNotFound into an error that names the missing object. It returns other
// errors unchanged.
func NotFound(err error, what, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{problem{what + "_not_found", fmt.Sprintf("%s %s: not found", what, id)}}
	}
	return err
}

// NothingFound returns the error for a request that has no result at the moment, for example a
// claim while no task is queued.
func NothingFound(code, text string) error { return &NotFoundError{problem{code, text}} }
