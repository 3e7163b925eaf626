package inbox

import (
	"fmt"

	"gaffer/workflow"
)

// lostError reports a result that could not be stored because the item was dismissed
// or taken by another process in the meantime.
type lostError struct {
	id  string
	err error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("inbox item %s: its result is not kept: %v", e.id, e.err)
}

func (e *lostError) Unwrap() error { return e.err }

// typeError reports an item of an unknown type. Such an item belongs to another
// program, so gaffer does not change it.
type typeError struct{ item workflow.Item }

func (e *typeError) Error() string {
	return fmt.Sprintf("inbox item %s is of type %q, which belongs to another program", e.item.ID, e.item.Type)
}

// Invalid marks the error as invalid content of a document.
func (e *typeError) Invalid() bool { return true }

// Hint returns what the user can do next.
func (e *typeError) Hint() string {
	return "'gaffer inbox dismiss' removes it; evolve, reference and feature can be processed"
}
