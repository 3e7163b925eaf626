package credential

import (
	"strings"
	"unicode"
)

type kind int

const (
	unknown kind = iota // a request was sent with a token that does not exist or is no longer valid
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

// Unknown reports whether the token does not exist or is no longer valid.
func (e *Error) Unknown() bool { return e.kind == unknown }

// NotFound reports whether no token has the given name or id.
func (e *Error) NotFound() bool { return e.kind == missing }

// Invalid reports whether the name, the role or the limits of a new token are invalid.
func (e *Error) Invalid() bool { return e.kind == invalid }

// Conflict reports whether the request conflicts with existing tokens or another server: several
// tokens have the requested name, a token has too many descendants, or a server on another database
// uses the token file.
func (e *Error) Conflict() bool { return e.kind == taken }

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}
