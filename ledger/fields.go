package ledger

import "gaffer/statefile/jsontree"

// fields holds the values of the known JSON members of one record. A member is known if there is a
// rule for it in this kind of record (run or result).
type fields struct {
	kind Kind
	// values has one value for each rule of the record's kind, in the order of the rules. It is nil
	// if the file could not be read or is not a JSON object.
	values []jsontree.Value
}

// collect sets f.values to the values of the members of the record v. It returns the names of the
// members for which there is no rule. If a name occurs twice, the last member counts.
func (f *fields) collect(v jsontree.Value) (unknown []string) {
	f.values = make([]jsontree.Value, len(f.kind.rules()))
	for name, member := range v.Members() {
		if at, ok := f.kind.position(name); ok {
			f.values[at] = member
		} else {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// get returns the value of a field, or the zero Value if the record lacks the field or there is no
// rule for it.
func (f *fields) get(name string) jsontree.Value {
	at, ok := f.kind.position(name)
	if !ok || f.values == nil {
		return jsontree.Value{}
	}
	return f.values[at]
}

func (f *fields) text(name string) string { return f.get(name).Text() }
