// Package jsontree reads and edits JSON documents without disturbing what it
// was not asked to change: unknown members, their order, the spelling of
// numbers and the white space all survive, byte for byte.
//
// A document is checked once, in full, by [Parse], which also marks where
// everything stands. After that, reading goes by the marks ([Value]) and editing
// splits only the containers on the way to the change ([Node]), so that a change
// to one member of a large document costs a scan and a splice, not a decode.
package jsontree

import (
	"bytes"

	"gaffer/statefile/jsonview"
)

// Doc is one JSON document that is being read or edited. It is not safe for
// concurrent use.
type Doc struct {
	lead, trail []byte // white space (and a byte order mark) around the root
	root        *Node
	style       style
	undo        []func()
	err         error
}

// Parse checks that data is one JSON value and returns it as a document. The
// document keeps and aliases data, which must not change afterwards. The error
// is a [*SyntaxError].
func Parse(data []byte) (*Doc, error) {
	root, err := jsonview.Parse(data)
	if err != nil {
		return nil, err
	}
	at, _ := root.Place()
	d := &Doc{lead: data[:at.From], trail: data[at.To:], style: styleOf(root)}
	d.root = &Node{doc: d, found: root}
	return d, nil
}

// Root returns the document's value for editing.
func (d *Doc) Root() *Node { return d.root }

// Value returns the document's value, as it is now, for reading.
func (d *Doc) Value() Value { return d.root.Value() }

// Bytes returns the document as it is now.
func (d *Doc) Bytes() []byte {
	b := make([]byte, 0, len(d.lead)+d.root.length()+len(d.trail))
	b = append(b, d.lead...)
	b = d.root.append(b)
	return append(b, d.trail...)
}

// Err returns the first edit that could not be made (a member set on something
// that is not an object, a value that JSON cannot express), or nil. A document
// with an error must not be written.
func (d *Doc) Err() error { return d.err }

func (d *Doc) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// Mark names a moment in a document's editing. See [Doc.Rollback].
type Mark struct{ edits int }

// Mark returns the present moment.
func (d *Doc) Mark() Mark { return Mark{len(d.undo)} }

// Rollback takes back every edit since m, and the error if there was one.
func (d *Doc) Rollback(m Mark) {
	for i := len(d.undo) - 1; i >= m.edits; i-- {
		d.undo[i]()
	}
	d.undo = d.undo[:m.edits]
	d.err = nil
}

// Format returns data, one JSON value, indented by two spaces a level and
// ended by a newline: the form of a new document.
func Format(data []byte) ([]byte, error) {
	d, err := Parse(bytes.TrimSpace(data))
	if err != nil {
		return nil, err
	}
	out := house.appendValue(nil, d.Value(), 0)
	return append(out, '\n'), nil
}
