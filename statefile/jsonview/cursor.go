package jsonview

// Cursor iterates over the parts of a container. Its fields are the positions of the
// current part in the container's bytes.
type Cursor struct {
	raw    []byte
	object bool
	Lead   int // start of the white space before the part
	Key    int // start of the member's name; equals Val in an array
	Colon  int // end of the name; the colon and white space follow
	Val    int
	End    int // end of the value; white space may follow
	After  int // position of the comma or closing bracket

	index      *index // nil if the container was not parsed but set
	here       int32  // mark of the current part
	mark, stop int32  // next part's mark, and the mark after the container
	base       int    // start of raw in the document
}

// Cursor returns a cursor before the first part of v. If v has no parts, Next returns
// false.
func (v Value) Cursor() Cursor {
	kind := v.Kind()
	if kind != Object && kind != Array {
		return Cursor{raw: []byte("[]")}
	}
	c := Cursor{raw: v.raw, object: kind == Object}
	if v.index != nil {
		m := v.index.marks[v.at]
		c.index, c.mark, c.stop, c.base = v.index, v.at+1, m.next, int(m.val)
	}
	return c
}

// Value returns the value of the current part.
func (c *Cursor) Value() Value {
	v := Value{raw: c.raw[c.Val:c.End]}
	if c.index != nil {
		v.index, v.at = c.index, c.here
	}
	return v
}

// Next moves to the next part and reports whether there is one.
func (c *Cursor) Next() bool {
	if c.index != nil {
		return c.nextMark()
	}
	b := c.raw
	if c.After > 0 && b[c.After] != ',' {
		return false
	}
	c.Lead = c.After + 1
	c.Key = SkipSpace(b, c.Lead)
	if b[c.Key] == '}' || b[c.Key] == ']' {
		c.After = c.Key
		return false
	}
	c.Colon, c.Val = c.Key, c.Key
	if c.object {
		c.Colon = skipString(b, c.Key)
		c.Val = SkipSpace(b, SkipSpace(b, c.Colon)+1)
	}
	c.End = SkipValue(b, c.Val)
	c.After = SkipSpace(b, c.End)
	return true
}

// nextMark is Next for a parsed container: it uses the index.
func (c *Cursor) nextMark() bool {
	if c.mark == c.stop {
		return false
	}
	m := &c.index.marks[c.mark]
	c.here, c.mark = c.mark, m.next
	c.Lead = c.After + 1
	c.Key, c.Colon = int(m.key)-c.base, int(m.colon)-c.base
	c.Val, c.End = int(m.val)-c.base, int(m.end)-c.base
	c.After = SkipSpace(c.raw, c.End)
	return true
}
