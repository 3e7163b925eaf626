// Package jsontree reads and edits JSON documents. It keeps everything that an edit does not
// change, byte for byte: unknown members, their order, the formatting of numbers, and white space.
//
// [Parse] checks a whole document once and indexes the position of every value. A [Value] is for
// reading and uses the index. A [Node] is for editing. An edit splits an object or array into its
// members or items only if it contains the changed value. So to change one member of a large
// document, jsontree scans the text once and copies it, but does not decode it.
package jsontree

import (
	"bytes"
)

// Doc is a JSON document that can be read and edited. It is not safe for concurrent
// use.
type Doc struct {
	lead, trail []byte // white space around the root; lead may also contain a byte order mark
	root        *Node
	style       style
	undo        []func() // for each edit so far, a function that undoes it
	err         error
}

// Parse checks that data is one JSON value and returns it as a document. The document keeps data,
// so the caller must not change data afterwards. The error is a [*SyntaxError].
func Parse(data []byte) (*Doc, error) {
	root, err := ParseValue(data)
	if err != nil {
		return nil, err
	}
	at, _ := root.Position()
	d := &Doc{lead: data[:at.From], trail: data[at.To:], style: styleOf(root)}
	d.root = &Node{doc: d, found: root}
	return d, nil
}

// ParseValue is like [Parse], for a document that is only read and never edited.
func ParseValue(data []byte) (Value, error) {
	x, err := check(data)
	if err != nil {
		return Value{}, err
	}
	return x.value(0), nil
}

// Valid reports whether [Parse] would accept data: it must be one JSON value that is not nested
// deeper than [MaxDepth].
func Valid(data []byte) bool {
	_, err := check(data)
	return err == nil
}

// Root returns the node of the document's outermost value, for editing.
func (d *Doc) Root() *Node { return d.root }

// Value returns the current value of the document for reading.
func (d *Doc) Value() Value { return d.root.Value() }

// Bytes returns the current text of the document.
func (d *Doc) Bytes() []byte {
	b := make([]byte, 0, len(d.lead)+d.root.length()+len(d.trail))
	b = append(b, d.lead...)
	b = d.root.append(b)
	return append(b, d.trail...)
}

// Err returns the error of the first edit that failed, or nil. An edit fails, for
// example, if it sets a member on something other than an object, or if JSON cannot
// express the value. A document with an error must not be written.
func (d *Doc) Err() error { return d.err }

func (d *Doc) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Mark is a point in the sequence of a document's edits. [Doc.Rollback] returns to it.
type Mark struct{ edits int }

// Mark returns the point after the latest edit.
func (d *Doc) Mark() Mark { return Mark{len(d.undo)} }

// Rollback undoes every edit since m, and clears the error that [Doc.Err] returns.
func (d *Doc) Rollback(m Mark) {
	for i := len(d.undo) - 1; i >= m.edits; i-- {
		d.undo[i]()
	}
	d.undo = d.undo[:m.edits]
	d.err = nil
}

// Format returns data, which must be one JSON value, formatted like a new document: indented by two
// spaces per level, with a newline at the end. The error is a [*SyntaxError].
func Format(data []byte) ([]byte, error) {
	d, err := Parse(bytes.TrimSpace(data))
	if err != nil {
		return nil, err
	}
	out := defaultStyle.appendValue(nil, d.Value(), 0)
	return append(out, '\n'), nil
}
