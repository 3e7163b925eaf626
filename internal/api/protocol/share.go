package protocol

import (
	"errors"

	"gaffer/internal/api/credential"
	"gaffer/internal/engine/store"
)

// What holds for requests about runs and for those of gaffer's own workers too.

// MaySpeak returns an error if somebody may speak for no worker at all.
func MaySpeak(by credential.Identity) error { return maySpeak(by) }

// SpeaksFor returns an error unless somebody may speak for a worker.
func SpeaksFor(by credential.Identity, w store.Worker) error { return speaksFor(by, w) }

// runRows is where runs are looked up.
type runRows interface {
	Run(id string) (store.Run, error)
}

// NoRun returns an error if an id is that of a run: its worker is nobody's who asks
// from elsewhere.
func NoRun(r runRows, id string) error {
	_, err := r.Run(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return denied("agent %.40q: is the worker of a run", id)
}

// CheckID returns an error unless a value may name something.
func CheckID(field, value string) error {
	var c check
	c.id(field, value)
	return c.err
}

// CheckLine returns an error unless a value is a line of at most so many bytes.
func CheckLine(field, value string, most int) error {
	var c check
	c.line(field, value, most)
	return c.err
}

// CheckText returns an error unless a value is a text of at most so many bytes.
func CheckText(field, value string, most int) error {
	var c check
	c.text(field, value, most)
	return c.err
}

// CheckNumber returns an error unless a value is within its bounds.
func CheckNumber(field string, value, least, most int) error {
	var c check
	c.number(field, value, least, most)
	return c.err
}

// Invalid is a request that cannot be meant.
func Invalid(format string, args ...any) error {
	var c check
	c.fail(format, args...)
	return c.err
}

// Conflict is a request for what somebody else has.
func Conflict(code, format string, args ...any) error { return conflict(code, format, args...) }

// Denied is a request by somebody who may not make it.
func Denied(format string, args ...any) error { return denied(format, args...) }

// Missing says of a row that is not there what it would have been.
func Missing(err error, what, id string) error { return missing(err, what, id) }

// Nothing is a request for something of which there is none now.
func Nothing(code, text string) error { return nothing(code, text) }
