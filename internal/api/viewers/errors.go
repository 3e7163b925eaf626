package viewers

import (
	"errors"
	"fmt"

	"gaffer/workflow"
)

// Error is a request that is refused. Nothing was changed.
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

// Code is one word for what is wrong.
func (e *Error) Code() string { return e.code }

// NotFound marks what is not there.
func (e *Error) NotFound() bool { return e.kind == missing }

// Conflict marks what does not fit how things are.
func (e *Error) Conflict() bool { return e.kind == conflict }

// Invalid marks what cannot be asked for.
func (e *Error) Invalid() bool { return e.kind == invalid }

// told says what an error of the documents means for whoever asked: a document
// that cannot be read is not their mistake.
func told(err error) error {
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
