package workflow

import (
	"errors"
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// ShapeError is a part of a document of such a type that what was asked cannot
// be done to it. Nothing was changed.
type ShapeError struct {
	Path  string // the document
	At    string // where in it
	Want  string // such as "an array"
	Found string
}

func (e *ShapeError) Error() string {
	text := fmt.Sprintf("%s is %s where %s should be", e.At, e.Found, e.Want)
	if e.Path != "" {
		return e.Path + ": " + text
	}
	return text
}

// Invalid marks the error as one about a document's content.
func (e *ShapeError) Invalid() bool { return true }

// Hint says what to do next.
func (e *ShapeError) Hint() string {
	return "correct it by hand; 'gaffer validate --workflow' lists every departure"
}

// located adds the document to an error that does not know it.
func located(path string, err error) error {
	if shape, ok := errors.AsType[*ShapeError](err); ok && shape.Path == "" {
		shape.Path = path
	}
	return err
}

// TransitionError is a change of status that the protocol does not allow.
type TransitionError struct {
	What     string // such as "chunk 3"
	From, To string
	May      []string // what may follow From
	Why      string   // instead of May, where the table alone does not say it
}

func (e *TransitionError) Error() string {
	text := fmt.Sprintf("%s: cannot go from %s to %s", e.What, e.From, e.To)
	switch {
	case e.Why != "":
		return text + ": " + e.Why
	case len(e.May) == 0:
		return text + ": nothing may follow " + e.From
	}
	return text + fmt.Sprintf(": %s may be followed by %s", e.From, list(e.May, "or"))
}

// Conflict marks the error as a refused transition.
func (e *TransitionError) Conflict() bool { return true }

// NotFoundError is something that is not there.
type NotFoundError struct {
	What string // such as `inbox item "x"`
	Next string // what to do next
}

func (e *NotFoundError) Error() string { return e.What }

// NotFound marks the error as one about something that is not there.
func (e *NotFoundError) NotFound() bool { return true }

// Hint says what to do next.
func (e *NotFoundError) Hint() string { return e.Next }

// ArgumentError is something that the caller may not ask for in this form.
type ArgumentError struct {
	What    string // such as "completedSteps"
	Problem string
	Next    string // what to do next
}

func (e *ArgumentError) Error() string { return e.What + ": " + e.Problem }

// Usage marks the error as the caller's mistake: no document is at fault.
func (e *ArgumentError) Usage() bool { return true }

// Hint says what to do next.
func (e *ArgumentError) Hint() string { return e.Next }

// object returns the member called name for editing, made first if it is
// absent.
func object(n *jsontree.Node, at, name string) (*jsontree.Node, error) {
	if v := n.Get(name); !v.Absent() && v.Kind() != jsontree.Object {
		return nil, &ShapeError{At: at, Want: jsontree.Object.String(), Found: v.Kind().String()}
	}
	return n.Object(name), nil
}

// array is like object for an array.
func array(n *jsontree.Node, at, name string) (*jsontree.Node, error) {
	if v := n.Get(name); !v.Absent() && v.Kind() != jsontree.Array {
		return nil, &ShapeError{At: at, Want: jsontree.Array.String(), Found: v.Kind().String()}
	}
	return n.Array(name), nil
}

// clearField sets a member to null, which is how the protocol clears one.
// An absent member stays absent.
func clearField(n *jsontree.Node, name string) {
	if !n.Get(name).Absent() {
		n.Set(name, nil)
	}
}

// list joins words as a sentence does: a, b or c.
func list[T ~string](words []T, last string) string {
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = string(w)
	}
	if len(plain) < 2 {
		return strings.Join(plain, "")
	}
	end := len(plain) - 1
	return strings.Join(plain[:end], ", ") + " " + last + " " + plain[end]
}

// shorten keeps a message readable whatever it quotes.
func shorten(s string) string {
	const most = 60
	if text := []rune(s); len(text) > most {
		return string(text[:most]) + "…"
	}
	return s
}
