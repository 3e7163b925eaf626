package viewers

import (
	"errors"
	"fmt"

	"gaffer/workflow"
)

// Error is the reason why a request was refused.
type Error struct {
	kind, code, text string
}

const (
	missing  = "missing"
	conflict = "conflict"
	invalid  = "invalid"
)

func refuse(kind, code, format string, args ...any) error {
	return &Error{kind, code, fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string { return e.text }

// Code returns the error code.
func (e *Error) Code() string { return e.code }

// NotFound reports whether the requested object does not exist.
func (e *Error) NotFound() bool { return e.kind == missing }

// Conflict reports whether the current state does not allow the request.
func (e *Error) Conflict() bool { return e.kind == conflict }

// Invalid reports whether the request itself is invalid.
func (e *Error) Invalid() bool { return e.kind == invalid }

// clientError converts an error from reading or writing a document to the error for the client. An
// error about an argument becomes an [*Error] of the kind invalid. An error about the content of a
// document becomes one of the kind conflict. Other errors, such as those of the disk, stay
// unchanged.
func clientError(err error) error {
	if a, ok := errors.AsType[*workflow.ArgumentError](err); ok {
		return refuse(invalid, "invalid_request", "%s", a.Error())
	}
	if d, ok := errors.AsType[interface {
		error
		Invalid() bool
	}](err); ok && d.Invalid() {
		if _, mine := d.(*Error); !mine {
			return refuse(conflict, "invalid_document", "%s", err.Error())
		}
	}
	return err
}
