package workflow

import (
	"bytes"

	"gaffer/statefile/jsontree"
)

// Change is a field of the state that differs between two versions.
type Change struct {
	Field string
	Value jsontree.Value // the new value; absent if the field was cleared
}

// Changes lists the fields that differ between two versions of the state, in the
// order of the document.
func Changes(before, after jsontree.Value) []Change {
	var changes []Change
	for name, v := range after.Members() {
		was := before.Get(name)
		if v.Absent() != was.Absent() || !bytes.Equal(v.Raw(), was.Raw()) && !v.Absent() {
			changes = append(changes, Change{name, v})
		}
	}
	for name, was := range before.Members() {
		if !was.Absent() && after.Get(name).Kind() == jsontree.Missing {
			changes = append(changes, Change{Field: name})
		}
	}
	return changes
}
