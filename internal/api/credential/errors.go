package credential

import (
	"strings"
	"unicode"
)

type kind int

const (
	unknown kind = iota // a token that is none
	missing
	invalid
	taken
)

// Error is why a token is refused, or cannot be made or found.
type Error struct {
	kind kind
	text string
}

func (e *Error) Error() string { return e.text }

// Unknown says that a token was shown that is not known, or is no longer.
func (e *Error) Unknown() bool { return e.kind == unknown }

// NotFound says that no token has the name or id.
func (e *Error) NotFound() bool { return e.kind == missing }

// Invalid says that a name or a role is none.
func (e *Error) Invalid() bool { return e.kind == invalid }

// Conflict says that the name is taken, or is that of several.
func (e *Error) Conflict() bool { return e.kind == taken }

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}
