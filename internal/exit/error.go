package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// Error gives an error the code that it ends with, and optionally a hint.
// A command makes one only when the error does not already say its kind.
type Error struct {
	Code Code
	Err  error
	Next string // what to do next, shown as the hint
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint is what to do next, or "".
func (e *Error) Hint() string { return e.Next }

// Usage marks err as a mistake on the command line.
func Usage(err error) error { return mark(CodeUsage, err) }

// NotFound marks err as something that is not there.
func NotFound(err error) error { return mark(CodeNotFound, err) }

// Conflict marks err as a lock held by another or a refused transition.
func Conflict(err error) error { return mark(CodeConflict, err) }

// Invalid marks err as a document that departs from its protocol.
func Invalid(err error) error { return mark(CodeInvalid, err) }

// Interrupted marks err as what came of ending early, whatever kind it is.
func Interrupted(err error) error {
	return mark(CodeInterrupted, fmt.Errorf("interrupted: %w", err))
}

// WithHint adds what to do next and keeps the code that err has.
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

// Of is the code that err ends with. An explicit Error decides first, then an
// interruption, then what the errors in the chain say of themselves.
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

// says asks the whole tree of wrapped errors. errors.As would stop at the
// first one that has the method, also when its answer is no.
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
