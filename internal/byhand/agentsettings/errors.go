package agentsettings

import (
	"bytes"
	"fmt"
)

// TextError reports a file with invalid syntax.
type TextError struct {
	Format       Format
	Line, Column int
	Problem      string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("line %d, column %d: not %s: %s", e.Line, e.Column, e.Format, e.Problem)
}

// Invalid tells callers that the error is about a document's content.
func (e *TextError) Invalid() bool { return true }

// Hint returns what to do next.
func (e *TextError) Hint() string { return "nothing was written; correct the file and try again" }

// ShapeError reports a value of another type than the file's program expects.
type ShapeError struct {
	At          string // path of the value, such as hooks.Stop; empty for the whole file
	Line        int
	Found, Want string
}

func (e *ShapeError) Error() string {
	at := "the file"
	if e.At != "" {
		at = e.At
	}
	return fmt.Sprintf("line %d: %s is %s where %s should be", e.Line, at, e.Found, e.Want)
}

// Invalid tells callers that the error is about a document's content.
func (e *ShapeError) Invalid() bool { return true }

// Hint returns what to do next.
func (e *ShapeError) Hint() string { return "nothing was written; correct the file and try again" }

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// unsafeChangeError reports a planned change that would make a file unreadable for its
// program. That is a bug in gaffer; it is detected before anything is written.
type unsafeChangeError struct{ problem string }

func (e *unsafeChangeError) Error() string { return "the change would spoil the file: " + e.problem }

// Hint returns what to do next.
func (e *unsafeChangeError) Hint() string {
	return "nothing was written; make the change by hand, and report this with the file"
}
