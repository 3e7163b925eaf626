package jsontree

// index holds the position of every value in a checked document, so that reading does
// not scan again.
type index struct {
	src     []byte
	entries []entry
	escaped bool // some member's name contains an escape
}

// entry is the position of one value. It is followed by the entries of the value's
// parts.
type entry struct {
	key, colon int32 // start and end of the member's name; both equal the value's start in an array
	val, end   int32
	next       int32 // index of the entry after this value and its parts
}

// value returns the value at an entry.
func (x *index) value(at int32) Value {
	m := &x.entries[at]
	return Value{raw: x.src[m.val:m.end], index: x, at: at}
}

// get returns the last member called name of the object at an entry.
func (x *index) get(object int32, name string) Value {
	found := int32(-1)
	for i, end := object+1, x.entries[object].next; i < end; i = x.entries[i].next {
		m := &x.entries[i]
		quoted := x.src[m.key:m.colon]
		if x.escaped && keyIs(quoted, name) || !x.escaped && string(quoted[1:len(quoted)-1]) == name {
			found = i
		}
	}
	if found < 0 {
		return Value{}
	}
	return x.value(found)
}

// len returns the number of parts of the container at an entry.
func (x *index) len(container int32) int {
	n := 0
	for i, end := container+1, x.entries[container].next; i < end; i = x.entries[i].next {
		n++
	}
	return n
}
