package agentsettings

import (
	"bytes"
	"fmt"
)

// TextError is a file whose text is not of its format: it is torn, or something
// else.
type TextError struct {
	Format       Format
	Line, Column int
	Problem      string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("line %d, column %d: not %s: %s", e.Line, e.Column, e.Format, e.Problem)
}

// Invalid marks the error as one about a document's content.
func (e *TextError) Invalid() bool { return true }

// Hint says what to do next.
func (e *TextError) Hint() string { return "nothing was written; mend the file and try again" }

// ShapeError is a value of another kind than the program whose file it is
// expects there.
type ShapeError struct {
	At          string // such as hooks.Stop; empty for the whole file
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

// Invalid marks the error as one about a document's content.
func (e *ShapeError) Invalid() bool { return true }

// Hint says what to do next.
func (e *ShapeError) Hint() string { return "nothing was written; mend the file and try again" }

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

func columnOf(text []byte, at int) int { return at - bytes.LastIndexByte(text[:at], '\n') }

// awryError is a change that would have left a file which its program cannot
// read. That is our mistake, and found before anything is written.
type awryError struct{ problem string }

func (e *awryError) Error() string { return "the change would spoil the file: " + e.problem }

// Hint says what to do next.
func (e *awryError) Hint() string {
	return "nothing was written; make the change by hand, and report this with the file"
}
