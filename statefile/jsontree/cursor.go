package jsontree

// cursor iterates over the parts of an object or array. A part is a member of an object, or an item
// of an array. The fields from lead to after are positions in raw, the bytes of the object or
// array.
type cursor struct {
	raw    []byte
	object bool
	lead   int // start of the white space before the current part
	key    int // start of the member's name; equals val in an array
	colon  int // end of the member's name; white space and the colon follow
	val    int
	end    int // end of the value; white space may follow it
	after  int // position of the following comma or closing bracket

	index           *index // index of the parsed document; nil if an edit has set or changed the object or array
	current         int32  // position of the current part in index.entries
	nextEntry, stop int32  // positions in index.entries: of the next part, and after the last part
	base            int    // position of raw in the whole document
}

// cursor returns a cursor that is positioned before the first member or item of v. If v has none,
// or is neither an object nor an array, the first call of [cursor.next] returns false.
func (v Value) cursor() cursor {
	kind := v.Kind()
	if kind != Object && kind != Array {
		return cursor{raw: []byte("[]")}
	}
	c := cursor{raw: v.raw, object: kind == Object}
	if v.index != nil {
		m := v.index.entries[v.at]
		c.index, c.nextEntry, c.stop, c.base = v.index, v.at+1, m.next, int(m.val)
	}
	return c
}

// value returns the value of the current member or item.
func (c *cursor) value() Value {
	v := Value{raw: c.raw[c.val:c.end]}
	if c.index != nil {
		v.index, v.at = c.index, c.current
	}
	return v
}

// next moves to the next member or item. It returns false if there is none.
func (c *cursor) next() bool {
	if c.index != nil {
		return c.nextIndexed()
	}
	b := c.raw
	if c.after > 0 && b[c.after] != ',' {
		return false
	}
	c.lead = c.after + 1
	c.key = skipSpace(b, c.lead)
	if b[c.key] == '}' || b[c.key] == ']' {
		c.after = c.key
		return false
	}
	c.colon, c.val = c.key, c.key
	if c.object {
		c.colon = skipString(b, c.key)
		c.val = skipSpace(b, skipSpace(b, c.colon)+1)
	}
	c.end = skipValue(b, c.val)
	c.after = skipSpace(b, c.end)
	return true
}

// nextIndexed is like next, for a value of a parsed document. It takes the positions from the
// document's index instead of scanning the text.
func (c *cursor) nextIndexed() bool {
	if c.nextEntry == c.stop {
		return false
	}
	m := &c.index.entries[c.nextEntry]
	c.current, c.nextEntry = c.nextEntry, m.next
	c.lead = c.after + 1
	c.key, c.colon = int(m.key)-c.base, int(m.colon)-c.base
	c.val, c.end = int(m.val)-c.base, int(m.end)-c.base
	c.after = skipSpace(c.raw, c.end)
	return true
}
