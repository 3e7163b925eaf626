package jsontree

import (
	"fmt"
	"iter"
	"slices"
)

// Node is one value of a document, for editing. Its members or items are called parts. An object or
// array is split into its parts only when one of them is read or edited as a Node.
type Node struct {
	doc    *Doc
	parent *Node
	found  Value // the value as parsed or set; outdated if dirty is true
	split  bool  // true if parts and tail are set
	dirty  bool  // true if a part was edited after found was set
	parts  []part
	tail   []byte // white space before the closing bracket
}

// part is a member or an item, with the white space around it, so that an object or array can be
// written back unchanged.
type part struct {
	lead  []byte // white space before the member or item
	key   []byte // the member's name in quotes; nil in an array
	colon []byte // the colon with the white space around it; nil in an array
	val   *Node
	trail []byte // white space between the value and the next comma
}

// Kind returns the kind of n.
func (n *Node) Kind() Kind { return n.found.Kind() }

// Value returns the current value of n for reading. Later edits do not change the returned Value.
func (n *Node) Value() Value {
	if !n.dirty {
		return n.found
	}
	return unchecked(n.append(nil))
}

// Get returns the current value of the member called name, or the zero Value if there is none.
func (n *Node) Get(name string) Value {
	if !n.split {
		return n.found.Get(name)
	}
	if child := n.Child(name); child != nil {
		return child.Value()
	}
	return Value{}
}

// Child returns the node of the member called name, or nil if there is none.
func (n *Node) Child(name string) *Node {
	if i := n.find(name); i >= 0 {
		return n.parts[i].val
	}
	return nil
}

// Object returns the member called name, which must be an object. If it is missing or null, Object
// first sets it to {}. If it has another kind, Object sets the error of [Doc.Err] and returns an
// empty object that is not part of the document.
func (n *Node) Object(name string) *Node { return n.container(name, Object, "{}") }

// Array returns the member called name, which must be an array. If it is missing or null, Array
// first sets it to []. If it has another kind, Array sets the error of [Doc.Err] and returns an
// empty array that is not part of the document.
func (n *Node) Array(name string) *Node { return n.container(name, Array, "[]") }

func (n *Node) container(name string, kind Kind, empty string) *Node {
	if n.Get(name).Absent() {
		n.Set(name, unchecked([]byte(empty)))
	}
	child := n.Child(name)
	if child == nil || child.Kind() != kind {
		n.doc.fail(fmt.Errorf("%s is %s where %s should be", name, n.Get(name).Kind(), kind))
		return &Node{doc: n.doc, found: unchecked([]byte(empty))}
	}
	return child
}

// Len returns the number of members of an object or items of an array, and 0 for any other kind.
func (n *Node) Len() int {
	if !n.split {
		return n.found.Len()
	}
	return len(n.parts)
}

// Items yields the items of an array with their index. It yields nothing if n is not an array. The
// caller must not add or remove items during the iteration.
func (n *Node) Items() iter.Seq2[int, *Node] {
	return func(yield func(int, *Node) bool) {
		if n.Kind() != Array {
			return
		}
		n.open()
		for i := range n.parts {
			if !yield(i, n.parts[i].val) {
				return
			}
		}
	}
}

// Members yields the members of an object in order. It yields nothing if n is not an object. The
// caller must not add or remove members during the iteration.
func (n *Node) Members() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if n.Kind() != Object {
			return
		}
		n.open()
		for i := range n.parts {
			if !yield(unquote(n.parts[i].key), n.parts[i].val) {
				return
			}
		}
	}
}

// Set sets the member called name to v. It appends the member if it is missing. v is a [Value] or
// anything that encoding/json accepts. If the member already has the same JSON text, the document
// stays unchanged. If n is not an object or v cannot be stored, Set changes nothing and sets the
// error of [Doc.Err].
func (n *Node) Set(name string, v any) {
	if n.Kind() != Object {
		n.doc.fail(fmt.Errorf("set %q on %s", name, n.Kind()))
		return
	}
	text, err := encode(v)
	if err != nil {
		n.doc.fail(fmt.Errorf("set %q: %w", name, err))
		return
	}
	if !n.fits(text, n.depth()+1) {
		return
	}
	if i := n.find(name); i >= 0 {
		n.parts[i].val.replace(text)
		return
	}
	n.add(quote(nil, name), text)
}

// fits reports whether a JSON value can be inserted at the given nesting depth without exceeding
// [MaxDepth]. If not, fits sets the error of [Doc.Err]. The parameter text is the JSON text of the
// value.
func (n *Node) fits(text []byte, depth int) bool {
	if depth+nesting(text) <= MaxDepth {
		return true
	}
	n.doc.fail(fmt.Errorf("nested deeper than %d levels", MaxDepth))
	return false
}

// Append appends v to the array n. If n is not an array or v cannot be stored, Append changes
// nothing and sets the error of [Doc.Err].
func (n *Node) Append(v any) {
	if n.Kind() != Array {
		n.doc.fail(fmt.Errorf("append to %s", n.Kind()))
		return
	}
	text, err := encode(v)
	if err != nil {
		n.doc.fail(fmt.Errorf("append: %w", err))
		return
	}
	if n.fits(text, n.depth()+1) {
		n.add(nil, text)
	}
}

// Replace replaces n by v. If v cannot be stored, it changes nothing and sets the error of
// [Doc.Err].
func (n *Node) Replace(v any) {
	text, err := encode(v)
	if err != nil {
		n.doc.fail(fmt.Errorf("replace: %w", err))
		return
	}
	if n.fits(text, n.depth()) {
		n.replace(text)
	}
}

// Delete removes all members called name. It reports whether there were any.
func (n *Node) Delete(name string) bool {
	found := false
	for i := n.find(name); i >= 0; i = n.find(name) {
		n.Remove(i)
		found = true
	}
	return found
}

// Remove removes the item or member with the index i. It panics if there is none.
func (n *Node) Remove(i int) {
	n.open()
	old, oldTail := n.parts, n.tail
	parts := slices.Delete(slices.Clone(old), i, i+1)
	n.change(func() { n.parts, n.tail = old, oldTail })
	n.parts = parts
	switch {
	case len(parts) == 0:
		n.tail = nil
	case i == 0:
		parts[0].lead = old[0].lead
	}
}

// find returns the index in n.parts of the last member called name, or -1 if there is none.
func (n *Node) find(name string) int {
	if n.Kind() != Object {
		return -1
	}
	n.open()
	for i := len(n.parts) - 1; i >= 0; i-- {
		if keyIs(n.parts[i].key, name) {
			return i
		}
	}
	return -1
}

// add appends a member or item to n, formatted like the existing ones. key is the member's name in
// quotes, or nil in an array. text is the JSON text of the value.
func (n *Node) add(key, text []byte) {
	n.open()
	depth := n.depth()
	p, tail := n.doc.style.newPart(n, depth)
	if key == nil {
		p.colon = nil
	}
	p.key = key
	multiline := hasNewline(p.lead) && (key != nil || !n.itemsInline())
	p.val = &Node{doc: n.doc, parent: n, found: unchecked(n.doc.style.layout(text, depth+1, multiline))}
	oldParts, oldTail := n.parts, n.tail
	n.change(func() { n.parts, n.tail = oldParts, oldTail })
	n.parts, n.tail = append(n.parts, p), tail
}

// replace sets the JSON text of n, in the style of the document. It keeps the white space around n.
// If n already has this text, replace changes nothing.
func (n *Node) replace(text []byte) {
	was := n.Value()
	multiline := hasNewline(was.Raw())
	if was.Len() == 0 {
		multiline = n.parent == nil || n.parent.multiline()
	}
	text = n.doc.style.layout(text, n.depth(), multiline)
	if string(was.Raw()) == string(text) {
		return
	}
	old := *n
	n.change(func() { *n = old; n.dirty = n.dirty || n.split })
	n.found, n.split, n.dirty, n.parts, n.tail = unchecked(text), false, false, nil, nil
}

// change must be called for every edit of n. The parameter undo is the function that undoes the
// edit; change stores it for [Doc.Rollback]. change also marks n and its ancestors as dirty if they
// are split, because their text in found is then outdated. A node that is not split has its current
// text in found.
func (n *Node) change(undo func()) {
	n.doc.undo = append(n.doc.undo, undo)
	for at := n; at != nil; at = at.parent {
		at.dirty = at.split
	}
}

func (n *Node) depth() int {
	depth := 0
	for at := n.parent; at != nil; at = at.parent {
		depth++
	}
	return depth
}

// multiline reports whether the members or items of n are on separate lines. If n has none, it
// returns true if a line break is between the brackets of n, or if the document's style puts
// members on separate lines.
func (n *Node) multiline() bool {
	n.open()
	if len(n.parts) == 0 {
		return hasNewline(n.tail) || n.doc.style.multiline
	}
	return hasNewline(n.parts[0].lead)
}

// itemsInline reports whether the last item of the array n is a non-empty object or array on a
// single line. If it is, [Node.add] also writes a new item on a single line.
func (n *Node) itemsInline() bool {
	if len(n.parts) == 0 {
		return false
	}
	last := n.parts[len(n.parts)-1].val.Value()
	return last.Len() > 0 && !hasNewline(last.Raw())
}

// open splits an object or array into its members or items. It does nothing if n is already split,
// or is neither an object nor an array.
func (n *Node) open() {
	if n.split || (n.Kind() != Object && n.Kind() != Array) {
		return
	}
	raw := n.found.Raw()
	c := n.found.cursor()
	count := n.found.Len()
	nodes := make([]Node, count)
	n.parts = make([]part, 0, count)
	for c.next() {
		val := &nodes[len(n.parts)]
		*val = Node{doc: n.doc, parent: n, found: c.value()}
		next := part{lead: raw[c.lead:c.key], val: val, trail: raw[c.end:c.after]}
		if n.Kind() == Object {
			next.key, next.colon = raw[c.key:c.colon], raw[c.colon:c.val]
		}
		n.parts = append(n.parts, next)
	}
	// The white space before the closing bracket belongs to n.tail, but the loop has stored it in
	// the last part.
	if len(n.parts) > 0 {
		last := &n.parts[len(n.parts)-1]
		n.tail, last.trail = last.trail, nil
	} else {
		n.tail = raw[1 : len(raw)-1]
	}
	n.split = true
}

// length returns the number of bytes that [Node.append] adds.
func (n *Node) length() int {
	if !n.dirty {
		return len(n.found.Raw())
	}
	sum := 2 + max(len(n.parts)-1, 0) + len(n.tail)
	for _, p := range n.parts {
		sum += len(p.lead) + len(p.key) + len(p.colon) + p.val.length() + len(p.trail)
	}
	return sum
}

// append appends the current JSON text of n to b.
func (n *Node) append(b []byte) []byte {
	n.Pieces(func(piece []byte) { b = append(b, piece...) })
	return b
}

// Pieces passes the current JSON text of n to the function yield, piece by piece, so that the whole
// text need not be in memory a second time. yield must not modify a piece.
func (n *Node) Pieces(yield func(piece []byte)) {
	raw := n.found.Raw()
	if !n.dirty {
		yield(raw)
		return
	}
	yield(raw[:1])
	for i, p := range n.parts {
		if i > 0 {
			yield(comma)
		}
		yield(p.lead)
		yield(p.key)
		yield(p.colon)
		p.val.Pieces(yield)
		yield(p.trail)
	}
	yield(n.tail)
	yield(raw[len(raw)-1:])
}

var comma = []byte{','}
