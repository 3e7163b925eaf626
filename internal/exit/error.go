package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Error wraps an error with an exit code and an optional hint. A command creates one
// only if the error does not report its kind with a method of its own.
type Error struct {
	Code Code
	Err  error
	Next string // what the user can do next; printed as the hint
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns what the user can do next, or "".
func (e *Error) Hint() string { return e.Next }

// Usage marks err as a mistake on the command line.
func Usage(err error) error { return mark(CodeUsage, err) }

// NotFound marks err as being about something that does not exist.
func NotFound(err error) error { return mark(CodeNotFound, err) }

// Conflict marks err as a lock that another process holds, or as a refused transition.
func Conflict(err error) error { return mark(CodeConflict, err) }

// Invalid marks err as being about a document that violates its protocol.
func Invalid(err error) error { return mark(CodeInvalid, err) }

// Interrupted marks err as the result of an interruption, whatever its kind is.
func Interrupted(err error) error {
	return mark(CodeInterrupted, fmt.Errorf("interrupted: %w", err))
}

// WithHint adds a hint to err and keeps its exit code.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Of(err), Err: err, Next: hint}
}

func mark(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// Of returns the exit code for err. An [Error] in the chain decides first, then
// [context.Canceled], then the methods of the errors in the chain.
func Of(err error) Code {
	if err == nil {
		return CodeDone
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if errors.Is(err, context.Canceled) {
		return CodeInterrupted
	}
	return kind(err)
}

func kind(err error) Code {
	switch {
	case says(err, interface{ Usage() bool }.Usage):
		return CodeUsage
	case says(err, interface{ Invalid() bool }.Invalid):
		return CodeInvalid
	case says(err, interface{ Conflict() bool }.Conflict), says(err, interface{ Busy() bool }.Busy):
		return CodeConflict
	case says(err, interface{ NotFound() bool }.NotFound), errors.Is(err, fs.ErrNotExist):
		return CodeNotFound
	}
	return CodeFailed
}

// says reports whether any error in the tree of wrapped errors has the method and
// returns true from it. errors.As would stop at the first error that has the method,
// even if that one returns false.
func says[E any](err error, yes func(E) bool) bool {
	if e, ok := err.(E); ok && yes(e) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // this is the walk that errors.As cannot do
	case interface{ Unwrap() error }:
		return says(e.Unwrap(), yes)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(inner error) bool { return says(inner, yes) })
	}
	return false
}
