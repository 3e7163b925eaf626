package protocol

import (
	"errors"

	"gaffer/internal/api/credential"
	"gaffer/internal/engine/store"
)

// Checks and errors that packages runs and workers use too.

// MaySpeak returns an error if the client may not act for any worker.
func MaySpeak(by credential.Identity) error { return maySpeak(by) }

// SpeaksFor returns an error unless the client may act for a worker.
func SpeaksFor(by credential.Identity, w store.Worker) error { return speaksFor(by, w) }

// runRows reads runs.
type runRows interface {
	Run(id string) (store.Run, error)
}

// NoRun returns an error if an id is the id of a run. The worker of a local run has that
// id, and no other client may register it.
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

// CheckID returns an error unless a value is a valid id.
func CheckID(field, value string) error {
	var c check
	c.id(field, value)
	return c.err
}

// CheckLine returns an error unless a value is one line. most is its maximum length in
// bytes.
func CheckLine(field, value string, most int) error {
	var c check
	c.line(field, value, most)
	return c.err
}

// CheckText returns an error unless a value is a valid text. most is its maximum length in
// bytes.
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

// Invalid returns the error for an invalid request.
func Invalid(format string, args ...any) error {
	var c check
	c.fail(format, args...)
	return c.err
}

// Conflict returns the error for a request that conflicts with another client's.
func Conflict(code, format string, args ...any) error { return conflict(code, format, args...) }

// Denied returns the error for a client that lacks the permission.
func Denied(format string, args ...any) error { return denied(format, args...) }

// Missing turns store.ErrNotFound into an error that names the missing thing.
func Missing(err error, what, id string) error { return missing(err, what, id) }

// Nothing returns the error for a request that currently finds nothing, such as a claim.
func Nothing(code, text string) error { return nothing(code, text) }
