package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Error wraps an error with an exit code and an optional hint. The field Code determines the exit
// code, even if the wrapped error has methods that mean another code, such as NotFound.
type Error struct {
	Code Code
	Err  error
	Next string // what the user can do next; printed as the hint
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint returns e.Next, which may be empty.
func (e *Error) Hint() string { return e.Next }

// Usage gives err the exit code for a mistake on the command line. It returns nil if err is nil.
func Usage(err error) error { return withCode(CodeUsage, err) }

// NotFound gives err the exit code for something that does not exist. It returns nil if err is nil.
func NotFound(err error) error { return withCode(CodeNotFound, err) }

// Conflict gives err the exit code for a lock that another process holds, or for a change that the
// current state does not allow. It returns nil if err is nil.
func Conflict(err error) error { return withCode(CodeConflict, err) }

// Invalid gives err the exit code for a document that violates its protocol. It returns nil if err
// is nil.
func Invalid(err error) error { return withCode(CodeInvalid, err) }

// Interrupted gives err the exit code for an interruption, even if err already has another code.
// The message of the returned error begins with "interrupted: ". The caller must pass a non-nil
// err.
func Interrupted(err error) error {
	return withCode(CodeInterrupted, fmt.Errorf("interrupted: %w", err))
}

// WithHint adds a hint to err and keeps its exit code. It returns nil if err is nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Of(err), Err: err, Next: hint}
}

func withCode(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// Of returns the exit code for err. If the chain of err contains an [Error], its code is used. If
// not, [context.Canceled] means an interruption. For all other errors, methods such as NotFound
// decide, and [fs.ErrNotExist] counts as not found. If none of this applies, the code is
// CodeFailed.
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
	return kindOf(err)
}

func kindOf(err error) Code {
	switch {
	case anyErrorSays(err, interface{ Usage() bool }.Usage):
		return CodeUsage
	case anyErrorSays(err, interface{ Invalid() bool }.Invalid):
		return CodeInvalid
	case anyErrorSays(err, interface{ Conflict() bool }.Conflict), anyErrorSays(err, interface{ Busy() bool }.Busy):
		return CodeConflict
	case anyErrorSays(err, interface{ NotFound() bool }.NotFound), errors.Is(err, fs.ErrNotExist):
		return CodeNotFound
	}
	return CodeFailed
}

// anyErrorSays reports whether err, or an error that it wraps directly or indirectly, implements E
// and makes the function test return true. errors.As would stop at the first error that implements
// E. anyErrorSays continues after it if test returns false.
func anyErrorSays[E any](err error, test func(E) bool) bool {
	if e, ok := err.(E); ok && test(e) {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // this is the walk that errors.As cannot do
	case interface{ Unwrap() error }:
		return anyErrorSays(e.Unwrap(), test)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(inner error) bool { return anyErrorSays(inner, test) })
	}
	return false
}
