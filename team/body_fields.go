package team

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/statefile/jsontree"
)

// Field is one field in the body of a message. Name is the path of the field, such as
// context.notes. The last part of the path, notes, is enough if no other field's path ends with the
// same part.
type Field struct{ Name, Value string }

// NewBody builds the body of a message from one role of the team to another. In the parameter
// fields, a list may occur several times, once for each item of the list; any other field may occur
// only once. Each value of the list "issues" must be the JSON text of an object. NewBody returns a
// [*PairError] if the protocol defines no messages from the one role to the other, and a
// [*BodyError] if a field is unknown or its value is not allowed.
func NewBody(from, to Role, fields []Field) (Body, error) {
	c, err := channelFor(from, to)
	if err != nil {
		return nil, err
	}
	doc, err := jsontree.Parse([]byte("{}"))
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if err := c.set(doc.Root(), f); err != nil {
			return nil, err
		}
	}
	if err := c.check(doc.Value()); err != nil {
		return nil, err
	}
	body := c.body()
	jsontree.Decode(doc.Value(), body)
	return body, nil
}

// ParseBody builds the body of a message from data, the text of a JSON object. A field of an inner
// object may be nested, {"a": {"b": 1}}, or given as {"a.b": 1}. Empty data gives an empty body.
func ParseBody(from, to Role, data []byte) (Body, error) {
	if len(data) == 0 {
		return NewBody(from, to, nil)
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return nil, &BodyError{Problem: "the body is not JSON: " + err.Error()}
	}
	if kind := doc.Root().Kind(); kind != jsontree.Object {
		return nil, &BodyError{Problem: fmt.Sprintf("the body is %s, want an object", kind)}
	}
	return NewBody(from, to, fieldsOf("", doc.Value()))
}

// fieldsOf lists the fields of the JSON object v. Each name begins with the prefix in the parameter
// path. The member b of an inner object a gets the name a.b. Each item of a list becomes a separate
// field. Values other than strings become JSON text. Null members are left out.
func fieldsOf(path string, v jsontree.Value) (fields []Field) {
	for name, m := range v.Members() {
		switch {
		case m.Absent():
		case m.Kind() == jsontree.Object && path == "":
			fields = append(fields, fieldsOf(name+".", m)...)
		case m.Kind() == jsontree.Array:
			for _, item := range m.Items() {
				fields = append(fields, Field{path + name, item.String()})
			}
		default:
			fields = append(fields, Field{path + name, m.String()})
		}
	}
	return fields
}

// BodyFields lists the names of the fields that the body of a message from one role to another can
// have, such as context.notes. It returns a [*PairError] if the protocol defines no messages from
// the first role to the second.
func BodyFields(from, to Role) ([]string, error) {
	c, err := channelFor(from, to)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, l := range c.leaves() {
		names = append(names, l.name)
	}
	return names, nil
}

// leaf is a field of a message's body whose value is not an object, but a string or a list.
type leaf struct {
	name string
	rule *rule
}

// leaves lists the fields in the body of the channel's messages. Instead of a field whose value is
// an object, it lists the fields of that object. Their names are paths, such as context.notes.
func (c channel) leaves() []leaf {
	var leaves []leaf
	outside := []string{"id", "group_id", "from", "to", "timestamp", "subject", "read"}
	for _, f := range rules(c.doc).field("messages").each.fields {
		switch {
		case slices.Contains(outside, f.name):
		case f.rule.form == object:
			for _, inner := range f.rule.fields {
				leaves = append(leaves, leaf{f.name + "." + inner.name, inner.rule})
			}
		default:
			leaves = append(leaves, leaf{f.name, f.rule})
		}
	}
	return leaves
}

// set sets the field f in n, the body of a message. If the field is a list, set appends the value
// to the list. Any other field can be set only once: the second time, set returns a [*BodyError].
func (c channel) set(n *jsontree.Node, f Field) error {
	l, err := c.leaf(f.Name)
	if err != nil {
		return err
	}
	if outer, inner, nested := strings.Cut(l.name, "."); nested {
		n, l.name = n.Object(outer), inner
	}
	switch {
	case l.rule.form != list && !n.Get(l.name).Absent():
		return &BodyError{Problem: fmt.Sprintf("%s: it is given several times, but takes only one text", f.Name)}
	case l.rule.form != list:
		n.Set(l.name, f.Value)
	case l.rule.each.form == object:
		item, err := jsontree.Parse([]byte(f.Value))
		if err != nil {
			return &BodyError{Problem: fmt.Sprintf("%s: an item is a JSON object: %v", f.Name, err)}
		}
		n.Array(l.name).Append(item.Value())
	default:
		n.Array(l.name).Append(f.Value)
	}
	return nil
}

// leaf returns the field of a message's body whose path is the parameter name. If there is none,
// leaf returns the field whose path ends with a dot and name. If there is no such field either, or
// there are several, leaf returns a [*BodyError].
func (c channel) leaf(name string) (leaf, error) {
	var near []leaf
	var names []string
	for _, l := range c.leaves() {
		if l.name == name {
			return l, nil
		}
		if strings.HasSuffix(l.name, "."+name) {
			near = append(near, l)
		}
		names = append(names, l.name)
	}
	if len(near) == 1 {
		return near[0], nil
	}
	return leaf{}, &BodyError{Problem: fmt.Sprintf("no field %q; there are %s", name, strings.Join(names, ", "))}
}
