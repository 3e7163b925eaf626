package ledger

import "gaffer/statefile/jsontree"

// fields holds the members of one record that have a rule.
type fields struct {
	kind   Kind
	values []jsontree.Value // one value for each rule of the record's kind, in the order of the rules; nil if there is no record
}

// collect assigns the members of v to f.values. It returns the names of the members that have no
// rule. If a name occurs twice, the last member counts.
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

// get returns the value of a field, or the zero Value if the record lacks the field.
func (f *fields) get(name string) jsontree.Value {
	at, ok := f.kind.position(name)
	if !ok || f.values == nil {
		return jsontree.Value{}
	}
	return f.values[at]
}

func (f *fields) text(name string) string { return f.get(name).Text() }
