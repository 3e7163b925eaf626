package workflow

import (
	"errors"
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// ShapeError reports that a change is not possible, because a value in the document has the wrong
// type. Nothing was changed.
type ShapeError struct {
	Path  string // path of the document
	At    string // path of the value within the document
	Want  string // the expected type, such as "an array"
	Found string
}

func (e *ShapeError) Error() string {
	text := fmt.Sprintf("%s is %s where %s should be", e.At, e.Found, e.Want)
	if e.Path != "" {
		return e.Path + ": " + text
	}
	return text
}

// Invalid reports true: the content of a document is invalid.
func (e *ShapeError) Invalid() bool { return true }

// Hint tells the user what to do next.
func (e *ShapeError) Hint() string {
	return "correct it by hand; 'gaffer validate --workflow' lists every violation"
}

// withPath returns err. If err is a ShapeError without a path, it sets the path of the document.
func withPath(path string, err error) error {
	if shape, ok := errors.AsType[*ShapeError](err); ok && shape.Path == "" {
		shape.Path = path
	}
	return err
}

// TransitionError reports a change of status that the protocol does not allow.
type TransitionError struct {
	What     string // the object whose status should change, such as "chunk 3"
	From, To string
	May      []string // statuses that may follow From
	Why      string   // why the change is not allowed; if set, the message contains it instead of May
}

func (e *TransitionError) Error() string {
	text := fmt.Sprintf("%s: cannot go from %s to %s", e.What, e.From, e.To)
	switch {
	case e.Why != "":
		return text + ": " + e.Why
	case len(e.May) == 0:
		return text + ": nothing may follow " + e.From
	}
	return text + fmt.Sprintf(": %s may be followed by %s", e.From, joinWords(e.May, "or"))
}

// Conflict reports true: the protocol does not allow this change of status.
func (e *TransitionError) Conflict() bool { return true }

// NotFoundError reports that an object does not exist, such as an inbox item.
type NotFoundError struct {
	What string // the missing object, such as `inbox item "x"`
	Next string // what the user can do next
}

func (e *NotFoundError) Error() string { return e.What }

// NotFound reports true: the object does not exist.
func (e *NotFoundError) NotFound() bool { return true }

// Hint tells the user what to do next.
func (e *NotFoundError) Hint() string { return e.Next }

// ArgumentError reports an invalid argument of the caller.
type ArgumentError struct {
	What    string // name of the argument, such as "completedSteps"
	Problem string
	Next    string // what the user can do next
}

func (e *ArgumentError) Error() string { return e.What + ": " + e.Problem }

// Usage reports true: an argument of the command is wrong.
func (e *ArgumentError) Usage() bool { return true }

// Hint tells the user what to do next.
func (e *ArgumentError) Hint() string { return e.Next }

// object returns the member called name for editing. If the member is absent, object creates it as
// an empty object. If it has another type, object returns a ShapeError, which contains the path at.
func object(n *jsontree.Node, at, name string) (*jsontree.Node, error) {
	if v := n.Get(name); !v.Absent() && v.Kind() != jsontree.Object {
		return nil, &ShapeError{At: at, Want: jsontree.Object.String(), Found: v.Kind().String()}
	}
	return n.Object(name), nil
}

// array returns the member called name for editing. If the member is absent, array creates it as an
// empty array. If it has another type, array returns a ShapeError, which contains the path at.
func array(n *jsontree.Node, at, name string) (*jsontree.Node, error) {
	if v := n.Get(name); !v.Absent() && v.Kind() != jsontree.Array {
		return nil, &ShapeError{At: at, Want: jsontree.Array.String(), Found: v.Kind().String()}
	}
	return n.Array(name), nil
}

// clearField sets the member called name to null, which is how the protocol clears a field. If the
// member is absent, it is not added.
func clearField(n *jsontree.Node, name string) {
	if !n.Get(name).Absent() {
		n.Set(name, nil)
	}
}

// joinWords joins words with commas, and puts the conjunction before the last word, as in "a, b or
// c".
func joinWords[T ~string](words []T, conjunction string) string {
	plain := make([]string, len(words))
	for i, w := range words {
		plain[i] = string(w)
	}
	if len(plain) < 2 {
		return strings.Join(plain, "")
	}
	end := len(plain) - 1
	return strings.Join(plain[:end], ", ") + " " + conjunction + " " + plain[end]
}

// shorten cuts a text after 60 characters, for use in messages.
func shorten(s string) string {
	const most = 60
	if text := []rune(s); len(text) > most {
		return string(text[:most]) + "…"
	}
	return s
}
