package workflow

import (
	"bytes"

	"gaffer/statefile/jsontree"
)

// Change is a field of state.json whose value differs between two versions of the file.
type Change struct {
	Field string
	Value jsontree.Value // the new value; absent if the field was cleared
}

// Changes lists the fields whose values differ between two versions of state.json. First come the
// fields of the version current, in their order, and then the fields that only the version previous
// contains. A missing field and a field with the value null are equal.
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
