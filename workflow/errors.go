package workflow

import (
	"errors"
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// ShapeError reports that a document cannot be read or changed, because a value in it has an
// unexpected form, for example the wrong type. The document is unchanged.
type ShapeError struct {
	Path  string // file path of the document
	At    string // path of the value within the document, such as "buildRun.chunks"
	Want  string // the expected form, such as "an array"
	Found string
}

func (e *ShapeError) Error() string {
	text := fmt.Sprintf("%s is %s where %s should be", e.At, e.Found, e.Want)
	if e.Path != "" {
		return e.Path + ": " + text
	}
	return text
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *ShapeError) Invalid() bool { return true }

// Hint tells the user what to do next.
func (e *ShapeError) Hint() string {
	return "correct it by hand; 'gaffer validate --workflow' lists every violation"
}

// withPath adds the file path of the document to err, if err is a ShapeError without a path. It
// returns err.
func withPath(path string, err error) error {
	if shape, ok := errors.AsType[*ShapeError](err); ok && shape.Path == "" {
		shape.Path = path
	}
	return err
}

// TransitionError reports that a status cannot change in the requested way.
type TransitionError struct {
	What     string // the object whose status should change, such as "chunk 3"
	From, To string
	May      []string // statuses that may follow From
	Why      string   // why the change is not allowed; if set, the message omits May
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

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *TransitionError) Conflict() bool { return true }

// NotFoundError reports that an object does not exist, such as an inbox item.
type NotFoundError struct {
	What string // the message, such as `no inbox item "x"`
	Next string // what the user can do next; may be empty
}

func (e *NotFoundError) Error() string { return e.What }

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NotFoundError) NotFound() bool { return true }

// Hint tells the user what to do next.
func (e *NotFoundError) Hint() string { return e.Next }

// ArgumentError reports that an argument of a function or command is invalid.
type ArgumentError struct {
	What    string // the argument, such as `step "x"` or a field's path
	Problem string
	Next    string // what the user can do next; may be empty
}

func (e *ArgumentError) Error() string { return e.What + ": " + e.Problem }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *ArgumentError) Usage() bool { return true }

// Hint tells the user what to do next.
func (e *ArgumentError) Hint() string { return e.Next }

// object returns the member of the JSON object n called name, for editing. If the member is absent,
// object creates it as an empty JSON object. If it has another type, object returns a ShapeError.
// The parameter at is the member's path in the document, which this error contains.
func object(n *jsontree.Node, at, name string) (*jsontree.Node, error) {
	if v := n.Get(name); !v.Absent() && v.Kind() != jsontree.Object {
		return nil, &ShapeError{At: at, Want: jsontree.Object.String(), Found: v.Kind().String()}
	}
	return n.Object(name), nil
}

// array returns the member of the JSON object n called name, for editing. If the member is absent,
// array creates it as an empty JSON array. If it has another type, array returns a ShapeError. The
// parameter at is the member's path in the document, which this error contains.
func array(n *jsontree.Node, at, name string) (*jsontree.Node, error) {
	if v := n.Get(name); !v.Absent() && v.Kind() != jsontree.Array {
		return nil, &ShapeError{At: at, Want: jsontree.Array.String(), Found: v.Kind().String()}
	}
	return n.Array(name), nil
}

// clearField sets the member of the JSON object n called name to null, which is how the workflow
// protocol clears a field. If the member is absent, it stays absent.
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
