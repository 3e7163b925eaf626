package inbox

import (
	"fmt"

	"gaffer/workflow"
)

// lostError is a result that could not be kept: the item was dismissed, or
// given to another, while it was worked on.
type lostError struct {
	id  string
	err error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("inbox item %s: its result is not kept: %v", e.id, e.err)
}

func (e *lostError) Unwrap() error { return e.err }

// typeError is an item of a type that nothing here handles. It is left alone:
// another program put it there for itself.
type typeError struct{ item workflow.Item }

func (e *typeError) Error() string {
	return fmt.Sprintf("inbox item %s is of type %q, which is another program's", e.item.ID, e.item.Type)
}

// Invalid marks the error as one about a document's content.
func (e *typeError) Invalid() bool { return true }

// Hint says what to do next.
func (e *typeError) Hint() string {
	return "'gaffer inbox dismiss' removes it; evolve, reference and feature can be processed"
}
