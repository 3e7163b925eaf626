// Package jsontree reads and edits JSON documents. It keeps everything that an edit
// does not change, byte for byte: unknown members, their order, the formatting of
// numbers, and white space.
//
// [Parse] checks a whole document once and indexes the position of every value. Reading
// uses the index ([Value]). Editing splits only the containers on the path to the
// change ([Node]). A change of one member of a large document therefore costs a scan
// and a copy, but no decoding.
package jsontree

import (
	"bytes"
)

// Doc is a JSON document that can be read and edited. It is not safe for concurrent
// use.
type Doc struct {
	lead, trail []byte // white space (and a byte order mark) around the root
	root        *Node
	style       style
	undo        []func()
	err         error
}

// Parse checks that data is one JSON value and returns it as a document. The document
// refers to data, so data must not change afterwards. The error is a [*SyntaxError].
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

// ParseValue is like [Parse] for a document that is only read.
func ParseValue(data []byte) (Value, error) {
	x, err := check(data)
	if err != nil {
		return Value{}, err
	}
	return x.value(0), nil
}

// Valid reports whether data is one JSON value within this package's limits.
func Valid(data []byte) bool {
	_, err := check(data)
	return err == nil
}

// Root returns the document's value for editing.
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

// Mark is a point in the sequence of a document's edits. See [Doc.Rollback].
type Mark struct{ edits int }

// Mark returns the current point.
func (d *Doc) Mark() Mark { return Mark{len(d.undo)} }

// Rollback undoes every edit since m and clears the error.
func (d *Doc) Rollback(m Mark) {
	for i := len(d.undo) - 1; i >= m.edits; i-- {
		d.undo[i]()
	}
	d.undo = d.undo[:m.edits]
	d.err = nil
}

// Format formats data, one JSON value, as a new document: indented by two spaces per
// level, with a newline at the end.
func Format(data []byte) ([]byte, error) {
	d, err := Parse(bytes.TrimSpace(data))
	if err != nil {
		return nil, err
	}
	out := defaultStyle.appendValue(nil, d.Value(), 0)
	return append(out, '\n'), nil
}
