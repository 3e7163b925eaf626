package credential

import (
	"strings"
	"unicode"
)

type kind int

const (
	unknown kind = iota // an invalid token
	missing
	invalid
	taken
)

// Error reports why a token is refused, or cannot be created or found.
type Error struct {
	kind kind
	text string
}

func (e *Error) Error() string { return e.text }

// Unknown reports that the token is not known, or no longer valid.
func (e *Error) Unknown() bool { return e.kind == unknown }

// NotFound reports that no token has the name or id.
func (e *Error) NotFound() bool { return e.kind == missing }

// Invalid reports that a name or a role is invalid.
func (e *Error) Invalid() bool { return e.kind == invalid }

// Conflict reports that the name is taken, or that several tokens have it.
func (e *Error) Conflict() bool { return e.kind == taken }

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}
