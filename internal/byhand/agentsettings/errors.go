package agentsettings

import (
	"bytes"
	"fmt"
)

// TextError reports a syntax error in a settings file, and its position.
type TextError struct {
	Format       Format
	Line, Column int
	Problem      string
}

func (e *TextError) Error() string {
	return fmt.Sprintf("line %d, column %d: not %s: %s", e.Line, e.Column, e.Format, e.Problem)
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *TextError) Invalid() bool { return true }

// Hint returns advice for the user.
func (e *TextError) Hint() string { return "nothing was written; correct the file and try again" }

// ShapeError reports that a value in a settings file has another type than the file's program
// expects.
type ShapeError struct {
	At          string // path of the value in the file, such as hooks.Stop; empty for the whole file
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

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *ShapeError) Invalid() bool { return true }

// Hint returns advice for the user.
func (e *ShapeError) Hint() string { return "nothing was written; correct the file and try again" }

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }

// unsafeChangeError reports that the new content that gaffer has planned for a file is wrong: it
// cannot be parsed, lacks an entry, or could not be undone. This is a bug in gaffer. It is detected
// before anything is written.
type unsafeChangeError struct{ problem string }

func (e *unsafeChangeError) Error() string { return "the change would spoil the file: " + e.problem }

// Hint returns advice for the user.
func (e *unsafeChangeError) Hint() string {
	return "nothing was written; make the change by hand, and report this with the file"
}
