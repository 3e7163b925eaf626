package workflow

import (
	"bytes"

	"gaffer/statefile/jsontree"
)

// Change is a field whose value differs between two versions of the state.
type Change struct {
	Field string
	Value jsontree.Value // the new value; absent if the field was cleared
}

// Changes lists the fields whose values differ between two versions of the state, in the order of
// current. Fields that current lacks come last. A missing field and a null field are equal.
func Changes(previous, current jsontree.Value) []Change {
	var changes []Change
	for name, v := range current.Members() {
		was := previous.Get(name)
		if v.Absent() != was.Absent() || !bytes.Equal(v.Raw(), was.Raw()) && !v.Absent() {
			changes = append(changes, Change{name, v})
		}
	}
	for name, was := range previous.Members() {
		if !was.Absent() && current.Get(name).Kind() == jsontree.Missing {
			changes = append(changes, Change{Field: name})
		}
	}
	return changes
}
