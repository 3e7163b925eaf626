package protocol

import (
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
)

// problem is what went wrong, with the protocol's word for it.
type problem struct{ code, text string }

func (p *problem) Error() string { return p.text }

// Code is the protocol's word.
func (p *problem) Code() string { return p.code }

// NotFoundError is something that is not there.
type NotFoundError struct{ problem }

// NotFound marks the error as one about something that is not there.
func (*NotFoundError) NotFound() bool { return true }

// ConflictError is a request that came too late, or for what somebody else has.
// Nothing was changed.
type ConflictError struct{ problem }

// Conflict marks the error as one about what somebody else did.
func (*ConflictError) Conflict() bool { return true }

// InvalidError is a request that cannot be meant.
type InvalidError struct{ problem }

// Invalid marks the error as one about what was given.
func (*InvalidError) Invalid() bool { return true }

// DeniedError is a request by somebody who may not make it.
type DeniedError struct{ problem }

// Denied marks the error as one about who asks.
func (*DeniedError) Denied() bool { return true }

func conflict(code, format string, args ...any) error {
	return &ConflictError{problem{code, fmt.Sprintf(format, args...)}}
}

func denied(format string, args ...any) error {
	return &DeniedError{problem{"forbidden", fmt.Sprintf(format, args...)}}
}

// Limited is a request that is beyond the limits of a token.
func Limited(why string) error { return &DeniedError{problem{"limited", why}} }

// missing says of a row that is not there what it would have been.
func missing(err error, what, id string) error {
	if errors.Is(err, store.ErrNotFound) {
		return &NotFoundError{problem{what + "_not_found", fmt.Sprintf("%s %s: not found", what, id)}}
	}
	return err
}

// nothing is a request for something of which there is none now.
func nothing(code, text string) error { return &NotFoundError{problem{code, text}} }
