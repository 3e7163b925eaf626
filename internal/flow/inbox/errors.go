package inbox

import (
	"fmt"

	"gaffer/workflow"
)

// lostError reports that the result of processing an inbox item could not be stored because, in the
// meantime, the item was dismissed or another process has taken it.
type lostError struct {
	id  string
	err error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("inbox item %s: its result is not kept: %v", e.id, e.err)
}

func (e *lostError) Unwrap() error { return e.err }

// typeError reports an inbox item of an unknown type. gaffer does not change the item, because it
// belongs to another program.
type typeError struct{ item workflow.Item }

func (e *typeError) Error() string {
	return fmt.Sprintf("inbox item %s is of type %q, which belongs to another program", e.item.ID, e.item.Type)
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *typeError) Invalid() bool { return true }

// Hint returns what the user can do next.
func (e *typeError) Hint() string {
	return "'gaffer inbox dismiss' removes it; evolve, reference and feature can be processed"
}
