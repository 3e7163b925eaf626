package jsontree

import (
	"bytes"
	"encoding/json"
	"strings"
)

// style describes how a document is formatted. New members and items are formatted in the same way.
type style struct {
	unit      string // one level of indentation
	eol       string // line ending
	multiline bool   // members are on separate lines
	space     bool   // a space follows each ':' and, between members on one line, each ','
}

// styleOf derives the style of a document from the white space around the first member or item of
// its root. It returns defaultStyle if root has none.
func styleOf(root Value) style {
	if c := root.cursor(); c.next() {
		lead, colon := root.Raw()[c.lead:c.key], root.Raw()[c.colon:c.val]
		s := style{unit: "  ", eol: "\n", multiline: hasNewline(lead), space: true}
		if s.multiline {
			s.unit = string(lead[bytes.LastIndexByte(lead, '\n')+1:])
		}
		if bytes.Contains(lead, []byte("\r\n")) {
			s.eol = "\r\n"
		}
		if len(colon) > 0 {
			s.space = len(colon) > 1
		}
		return s
	}
	return defaultStyle
}

// defaultStyle is the style of documents that gaffer creates.
var defaultStyle = style{unit: "  ", eol: "\n", multiline: true, space: true}

func hasNewline(b []byte) bool { return bytes.IndexByte(b, '\n') >= 0 }

func (s style) newline(depth int) []byte {
	return []byte(s.eol + strings.Repeat(s.unit, depth))
}

func (s style) gap() []byte {
	if s.space {
		return []byte(" ")
	}
	return nil
}

func (s style) colon() []byte { return append([]byte(":"), s.gap()...) }

// newPart returns a new part of n, that is, a member or an item, which the caller will append to n.
// The part has its colon and white space, but no name and no value yet. depth is the nesting depth
// of n. tail is the white space that the caller must put before the closing bracket of n.
func (s style) newPart(n *Node, depth int) (p part, tail []byte) {
	p.colon = s.colon()
	count := len(n.parts)
	switch {
	case count > 1:
		p.lead = n.parts[count-1].lead
	case count == 1 && hasNewline(n.parts[0].lead):
		p.lead = n.parts[0].lead
	case count == 1:
		p.lead = s.gap()
	case s.multiline && (n.parent == nil || n.parent.multiline()):
		return part{lead: s.newline(depth + 1), colon: p.colon}, s.newline(depth)
	}
	if count > 0 && n.parts[count-1].colon != nil {
		p.colon = n.parts[count-1].colon
	}
	return p, n.tail
}

// layout formats JSON text for insertion at the given nesting depth. multiline says whether the
// members or items in the text go on separate lines. Text without members or items stays as it is.
func (s style) layout(text []byte, depth int, multiline bool) []byte {
	if v := unchecked(text); v.Len() > 0 {
		s.multiline = multiline
		return s.appendValue(nil, v, depth)
	}
	return text
}

// appendValue appends the formatted text of v to b. It formats all nested values in one
// pass over the text, because a value may be both large and deep.
func (s style) appendValue(b []byte, v Value, depth int) []byte {
	raw := v.Raw()
	for i := skipSpace(raw, 0); i < len(raw); i = skipSpace(raw, i) {
		from := i
		switch c := raw[i]; c {
		case '{', '[':
			if i = skipSpace(raw, i+1); raw[i] == c+2 { // the object or array is empty: '{'+2 is '}', '['+2 is ']'
				b, i = append(b, c, c+2), i+1
				continue
			}
			depth++
			b = s.appendBreak(append(b, c), depth, nil)
		case '}', ']':
			depth--
			b, i = append(s.appendBreak(b, depth, nil), c), i+1
		case ',':
			b, i = s.appendBreak(append(b, c), depth, s.gap()), i+1
		case ':':
			b, i = append(b, s.colon()...), i+1
		default:
			i = skipValue(raw, i)
			b = append(b, raw[from:i]...)
		}
	}
	return b
}

// appendBreak appends a line break and indentation to b. If the style puts members on one line, it
// appends the parameter inline instead.
func (s style) appendBreak(b []byte, depth int, inline []byte) []byte {
	if s.multiline {
		return append(b, s.newline(depth)...)
	}
	return append(b, inline...)
}

// encode returns the JSON text of v, without HTML escapes and without a newline at the end.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return []byte("null"), nil
	case Value:
		return v.MarshalJSON()
	case string:
		return quote(nil, v), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
