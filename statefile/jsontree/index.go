package jsontree

// index holds the position of every value in a parsed document, so that reading does not scan the
// document again.
type index struct {
	src     []byte
	entries []entry
	escaped bool // at least one member's name contains an escape such as \u0061
}

// entry holds the positions of one value in the document's text. In the index, the entries of the
// value's members or items follow directly after it.
type entry struct {
	// key and colon are the start and end of the member's name. Without a name, both equal val.
	key, colon int32
	val, end   int32
	next       int32 // position in index.entries of the first entry after this value and its contents
}

// value returns the value whose entry is entries[number].
func (x *index) value(number int32) Value {
	m := &x.entries[number]
	return Value{raw: x.src[m.val:m.end], index: x, at: number}
}

// get returns the member called name of the object whose entry is entries[object]. If several
// members have this name, it returns the last one. If none has, it returns the zero Value.
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

// len returns the number of members of an object, or items of an array, whose entry is
// entries[container].
func (x *index) len(container int32) int {
	n := 0
	for i, end := container+1, x.entries[container].next; i < end; i = x.entries[i].next {
		n++
	}
	return n
}
