package agentsettings

import (
	"bytes"
	"strings"

	"gaffer/statefile/jsontree"
)

func (jsonWriter) add(old []byte, entries []Entry) ([]Splice, error) {
	t, err := parseJSON(old)
	if err != nil {
		return nil, err
	}
	c, err := compare(entries, t.state)
	if err != nil {
		return nil, err
	}
	var splices []Splice
	var groups []*additions
	for _, e := range c.missing {
		at, rest, _ := t.descend(e)
		if len(rest) == 0 && !e.Item {
			splice, err := t.replaceValue(at, e)
			if err != nil {
				return nil, err
			}
			splices = append(splices, splice)
			continue
		}
		if err := additionsTo(&groups, at).put(rest, e); err != nil {
			return nil, err
		}
	}
	for _, g := range groups {
		splices = append(splices, t.appendParts(g.at, g.tree)...)
	}
	return ordered(splices), nil
}

// additions collects the values to add at the end of one object or array of the file.
type additions struct {
	at   jsontree.Value
	tree newValue
}

func additionsTo(groups *[]*additions, at jsontree.Value) *additions {
	place, _ := at.Position()
	for _, g := range *groups {
		if there, _ := g.at.Position(); there == place {
			return g
		}
	}
	g := &additions{at: at}
	*groups = append(*groups, g)
	return g
}

func (g *additions) put(rest []string, e Entry) error {
	text, err := encoded(e.Value)
	if err != nil {
		return err
	}
	b := &g.tree
	for _, name := range rest {
		b = b.member(name)
	}
	if e.Item {
		b.items = append(b.items, text)
	} else {
		b.leaf = text
	}
	return nil
}

// newValue is a value to write into the file: an object with members, an array with items, or any
// other value.
type newValue struct {
	name    string // name of the object member that has this value; empty for the outermost value
	leaf    []byte
	members []*newValue
	items   [][]byte
}

func (b *newValue) member(name string) *newValue {
	for _, m := range b.members {
		if m.name == name {
			return m
		}
	}
	m := &newValue{name: name}
	b.members = append(b.members, m)
	return m
}

// replaceValue returns the text edit that replaces v, a value in the file, by the value of the
// entry e.
func (t *jsonText) replaceValue(v jsontree.Value, e Entry) (Splice, error) {
	text, err := encoded(e.Value)
	if err != nil {
		return Splice{}, err
	}
	place, _ := v.Position()
	l := t.layout(t.root)
	return Splice{At: place.From, Old: bytes.Clone(t.src[place.From:place.To]), New: []byte(l.flat(text))}, nil
}

// appendParts returns the text edits that add the members or items of b at the end of container, an
// object or array. If the file has no JSON value yet, the Kind of container is jsontree.Missing,
// and the text edits add a whole document.
func (t *jsonText) appendParts(container jsontree.Value, b newValue) []Splice {
	if container.Kind() == jsontree.Missing {
		return []Splice{insertion(len(t.src), t.document(b))}
	}
	l := t.layout(container)
	text := strings.Join(l.parts(b), ","+l.between())
	list := parts(container)
	if len(list) == 0 {
		return []Splice{t.fillEmpty(container, l, text)}
	}
	// after returns the offset at which new text is inserted. The parameter at is the end of the
	// last value, or of the comma after it. If each value has its own line, the text is inserted
	// after the comments on that line, so that they stay next to the last value.
	after := func(at int) int {
		if l.lines {
			return t.lineEnd(at)
		}
		return at
	}
	last := list[len(list)-1].To
	// If the last value has a trailing comma, the added text gets one too.
	if comma := t.comma(last); comma >= 0 {
		return []Splice{insertion(after(comma+1), l.between()+text+",")}
	}
	return []Splice{insertion(last, ","), insertion(after(last), l.between()+text)}
}

// lineEnd returns the offset at which text can be inserted without separating a comment from the
// value before it. If only comments follow after offset on the line, this is the end of the last
// comment. If there is no comment, or if something else follows on the line, it is offset.
func (t *jsonText) lineEnd(offset int) int {
	end := offset
	for i := offset; i < len(t.src); {
		switch {
		case t.src[i] == '\n' || t.src[i] == '\r':
			return end
		case isComment(t.src, i):
			i = afterComment(t.src, i)
			end = i
		case isSpace(t.src[i]):
			i++
		default: // something other than a comment follows on the line
			return offset
		}
	}
	return end
}

// fillEmpty returns the text edit that inserts text into an empty object or array.
func (t *jsonText) fillEmpty(at jsontree.Value, l layout, text string) Splice {
	place, _ := at.Position()
	from, to := place.From+1, place.To-1
	inner := t.src[from:to]
	if !l.lines {
		return insertion(to, text)
	}
	last := bytes.LastIndexByte(inner, '\n')
	if last >= 0 && len(bytes.TrimSpace(inner[last:])) == 0 {
		end := from + last
		if end > from && t.src[end-1] == '\r' {
			end--
		}
		return insertion(end, l.between()+text)
	}
	return insertion(to, l.between()+text+l.eol+strings.TrimSuffix(l.indent, l.unit))
}

// document returns b as a JSON document, to be appended to a file that has no JSON value yet.
func (t *jsonText) document(b newValue) string {
	l := layout{unit: "  ", eol: t.eol(), lines: true, space: true}
	lead := ""
	if text := bytes.TrimPrefix(t.src, []byte(byteOrderMark)); len(text) > 0 && text[len(text)-1] != '\n' {
		lead = l.eol
	}
	return lead + l.value(&b) + l.eol
}

// layout describes how the members or items of one object or array are formatted.
type layout struct {
	unit   string // one level of indentation
	eol    string
	indent string // indentation of a member or item
	lines  bool   // each member or item has its own line
	space  bool   // within a line, a space follows each comma and colon
}

func (t *jsonText) layout(at jsontree.Value) layout {
	l := layout{unit: "  ", eol: t.eol(), lines: true, space: true}
	if first := parts(t.root); len(first) > 0 {
		top, _ := t.root.Position()
		if lead := t.src[top.From+1 : first[0].Name]; bytes.IndexByte(lead, '\n') >= 0 {
			l.unit = lineIndent(t.src, first[0].Name)
		} else {
			l.lines = false
			l.space = first[0].From > 0 && t.src[first[0].From-1] != ':'
		}
	}
	place, _ := at.Position()
	list := parts(at)
	if len(list) == 0 {
		l.indent = lineIndent(t.src, place.From) + l.unit
		return l
	}
	last := list[len(list)-1]
	from := place.From
	if len(list) > 1 {
		from = list[len(list)-2].To
	}
	l.lines = bytes.IndexByte(t.src[from:last.Name], '\n') >= 0
	l.indent = lineIndent(t.src, last.Name)
	return l
}

func (t *jsonText) eol() string {
	if i := bytes.IndexByte(t.src, '\n'); i > 0 && t.src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineIndent returns the leading white space of the line that contains text[offset].
func lineIndent(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// between returns the white space between a comma and the next member or item. If each member or
// item has its own line, the same white space also follows an opening bracket.
func (l layout) between() string {
	switch {
	case l.lines:
		return l.eol + l.indent
	case l.space:
		return " "
	}
	return ""
}

// parts returns the items and members of b as JSON texts, each on one line. There is one exception:
// if l.lines is set, a member of b that has members itself takes several lines.
func (l layout) parts(b newValue) (list []string) {
	for _, item := range b.items {
		list = append(list, l.flat(item))
	}
	for _, m := range b.members {
		name, _ := encoded(m.name) // encoding a string cannot fail
		list = append(list, l.flat(append(name, ':'))+l.value(m))
	}
	return list
}

func (l layout) value(b *newValue) string {
	switch {
	case b.leaf != nil:
		return l.flat(b.leaf)
	case b.items != nil:
		l.lines = false
		return "[" + strings.Join(l.parts(*b), ","+l.between()) + "]"
	case !l.lines:
		return "{" + strings.Join(l.parts(*b), ","+l.between()) + "}"
	}
	end := l.eol + l.indent
	l.indent += l.unit
	return "{" + l.between() + strings.Join(l.parts(*b), ","+l.between()) + end + "}"
}

// flat formats compact JSON for a single line. If l.space is set, it adds a space after each comma
// and colon.
func (l layout) flat(text []byte) string {
	if !l.space {
		return string(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		end := i + 1
		if text[i] == '"' {
			end = afterString(text, i)
		}
		b.Write(text[i:end])
		if text[i] == ',' || text[i] == ':' {
			b.WriteByte(' ')
		}
		i = end
	}
	return b.String()
}

// replacedIn returns the values that other programs had written and that gaffer's entries have
// replaced. base is the content of the file without gaffer's entries, and changed is the content
// with them. The result maps the dotted path of each such entry to the replaced value as JSON text.
// For formats other than JSON, the result is nil.
func replacedIn(f Format, base, changed []byte, entries []Entry) map[string][]byte {
	if f != JSON {
		return nil
	}
	before, err := parseJSON(base)
	if err != nil {
		return nil
	}
	after, err := parseJSON(changed)
	if err != nil {
		return nil
	}
	var all map[string][]byte
	for _, e := range entries {
		if e.Item || e.Value == nil {
			continue
		}
		now, _, _ := after.descend(e)
		was, rest, err := before.descend(e)
		place, there := was.Position()
		if err != nil || len(rest) > 0 || !there || !e.IsOurs(jsontree.Interface(now)) {
			continue
		}
		if all == nil {
			all = map[string][]byte{}
		}
		all[dotted(e.Path)] = bytes.Clone(base[place.From:place.To])
	}
	return all
}
