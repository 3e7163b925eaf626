package jsonview

// Cursor walks the parts of a container and says where each stands in the
// container's bytes.
type Cursor struct {
	raw    []byte
	object bool
	Lead   int // white space before the part, after the bracket or comma
	Key    int // the member's name; the same as val in an array
	Colon  int // what stands between name and value
	Val    int
	End    int // white space after the value, up to the comma or bracket
	After  int // the comma or bracket

	index      *index // nil if the container was made
	here       int32  // the part's mark
	mark, stop int32  // the next part's, and the one after the container
	base       int    // where raw begins in the document
}

// Cursor starts before the first part of v, and ends there if v has no parts.
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

// Value returns the part's value.
func (c *Cursor) Value() Value {
	v := Value{raw: c.raw[c.Val:c.End]}
	if c.index != nil {
		v.index, v.at = c.index, c.here
	}
	return v
}

// Next goes to the next part and tells whether there is one.
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

// nextMark is next by the marks.
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
