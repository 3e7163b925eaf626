package agentsettings

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// tomlWriter edits TOML files. The entries that it adds are tables without subtables, such as
// [mcp_servers.gaffer].
type tomlWriter struct{}

// Table is the value of an [Entry] in TOML: an ordered list of keys, each with a
// string, a list of strings or a number.
type Table []Field

// Field is one key of a [Table].
type Field struct {
	Key   string
	Value any // a string, []string or int64
}

func (t Table) decoded() map[string]any {
	m := map[string]any{}
	for _, f := range t {
		m[f.Key] = f.Value
		if list, ok := f.Value.([]string); ok {
			items := []any{}
			for _, item := range list {
				items = append(items, item)
			}
			m[f.Key] = items
		}
	}
	return m
}

// lines returns one line of TOML for each key, with its value.
func (t Table) lines() (lines []string) {
	for _, f := range t {
		lines = append(lines, tomlKey(f.Key)+" = "+f.text())
	}
	return lines
}

// text returns the value in TOML syntax.
func (f Field) text() string {
	switch v := f.Value.(type) {
	case string:
		return quoteTOML(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	var words []string
	for _, word := range f.Value.([]string) {
		words = append(words, quoteTOML(word))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func tomlKey(name string) string {
	const bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	if name != "" && strings.Trim(name, bare) == "" {
		return name
	}
	return quoteTOML(name)
}

// quoteTOML returns a string in TOML syntax.
func quoteTOML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

func tomlPath(path []string) string {
	var keys []string
	for _, name := range path {
		keys = append(keys, tomlKey(name))
	}
	return strings.Join(keys, ".")
}

func (tomlWriter) check(text []byte) error {
	_, err := parseTOML(text)
	return err
}

func (tomlWriter) inspect(old []byte, entries []Entry) (inspection, error) {
	t, err := parseTOML(old)
	if err != nil {
		return inspection{}, err
	}
	c, err := compare(entries, t.state)
	return inspection{complete: len(c.missing) == 0, kept: c.kept}, err
}

func (t *tomlText) state(e Entry) (entryState, error) {
	got, err := t.get(e.Path)
	if err != nil || got == nil {
		return absent, err
	}
	want := any(e.Value.(Table).decoded())
	switch {
	case reflect.DeepEqual(got, want), e.isExtended(got, want) && e.hasCommand(got):
		return present, nil
	case e.IsOurs(got):
		return absent, nil
	}
	return foreign, nil
}

// get returns the value at a path, or nil if the file does not have it. It fails if a value on the
// path is not a table.
func (t *tomlText) get(path []string) (any, error) {
	last := len(path) - 1
	table := t.root
	for i, name := range path[:last] {
		switch v := table[name].(type) {
		case nil:
			return nil, nil
		case map[string]any:
			table = v
		default:
			return nil, &ShapeError{At: dotted(path[:i+1]), Line: t.lineOf(path[:i+1]), Found: "no table", Want: "a table"}
		}
	}
	return table[path[last]], nil
}

func (t *tomlText) lineOf(path []string) int {
	for _, st := range t.statements {
		if slices.Equal(st.path, path) {
			return lineOf(t.src, st.from)
		}
	}
	return 1
}

func (tomlWriter) add(old []byte, entries []Entry) ([]Splice, error) {
	t, err := parseTOML(old)
	if err != nil {
		return nil, err
	}
	c, err := compare(entries, t.state)
	if err != nil {
		return nil, err
	}
	var splices []Splice
	for _, e := range c.missing {
		table := e.Value.(Table)
		if in, ok := t.inlineAt(e.Path[:len(e.Path)-1]); ok {
			splices = append(splices, t.addMember(in, e.Path[len(e.Path)-1], table))
			continue
		}
		block := append([]string{"[" + tomlPath(e.Path) + "]"}, table.lines()...)
		splices = append(splices, insertion(len(old), paragraph(old, block)))
	}
	return ordered(splices), nil
}

// inlineAt returns the statement that sets the value at path to an inline table. It returns false
// if there is none.
func (t *tomlText) inlineAt(path []string) (tomlItem, bool) {
	for _, st := range t.statements {
		if st.inline && slices.Equal(st.path, path) {
			return st, true
		}
	}
	return tomlItem{}, false
}

// addMember returns the text edit that adds a member to an inline table.
func (t *tomlText) addMember(in tomlItem, name string, table Table) Splice {
	text := tomlKey(name) + " = { " + strings.Join(table.lines(), ", ") + " }"
	if n := len(in.members); n > 0 {
		return insertion(in.members[n-1].to, ", "+text)
	}
	return insertion(in.value+1, " "+text+" ")
}

func (tomlWriter) fixCommands(old []byte, entries []Entry) (extended, rest []Entry, splices []Splice, err error) {
	t, err := parseTOML(old)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, e := range entries {
		got, err := t.get(e.Path)
		if err != nil {
			return nil, nil, nil, err
		}
		table, _ := e.Value.(Table)
		at, ok := find(t.statements, append(slices.Clone(e.Path), commandMember))
		if !ok || table == nil || !e.isExtended(got, table.decoded()) {
			rest = append(rest, e)
			continue
		}
		extended = append(extended, e)
		line := got.(map[string]any)[commandMember].(string)
		splices = append(splices, Splice{At: at.value, Old: slices.Clone(old[at.value:at.to]), New: []byte(quoteTOML(e.FixCommand(line)))})
	}
	return extended, rest, ordered(splices), nil
}

// find returns the item (a key with its value) that sets the key at path. The item may be a member
// of an inline table. find returns false if there is no such item.
func find(items []tomlItem, path []string) (tomlItem, bool) {
	for _, item := range items {
		n := len(item.path)
		if item.heading || n > len(path) || !slices.Equal(item.path, path[:n]) {
			continue
		}
		if n == len(path) {
			return item, true
		}
		if below, ok := find(item.members, path[n:]); ok {
			return below, true
		}
	}
	return tomlItem{}, false
}

func (tomlWriter) remove(old []byte, entries []Entry, _ map[string][]byte) ([]Splice, error) {
	t, err := parseTOML(old)
	if err != nil {
		return nil, err
	}
	var splices []Splice
	for _, e := range entries {
		got, err := t.get(e.Path)
		if err != nil {
			return nil, err
		}
		if got != nil && e.IsOurs(got) {
			splices = append(splices, t.remove(e.Path)...)
		}
	}
	return ordered(splices), nil
}

// remove returns the text edits that remove the value at a path, and all values below that path.
func (t *tomlText) remove(path []string) (splices []Splice) {
	if in, ok := t.inlineAt(path[:len(path)-1]); ok {
		return t.removeMember(in, path[len(path)-1])
	}
	for i := 0; i < len(t.statements); i++ {
		st := t.statements[i]
		if len(st.path) < len(path) || !slices.Equal(st.path[:len(path)], path) {
			continue
		}
		from := t.lineStart(st.from)
		if st.heading {
			from = blankBefore(t.src, from)
			for i+1 < len(t.statements) && !t.statements[i+1].heading {
				i++
			}
		}
		splices = append(splices, deletion(t.src, from, t.nextLine(t.statements[i].to)))
	}
	return splices
}

// lineStart returns the start of the line on which the statement at offset begins. In the first line
// of a file, that is the offset after a byte order mark.
func (t *tomlText) lineStart(offset int) int {
	for offset > 0 && (t.src[offset-1] == ' ' || t.src[offset-1] == '\t') {
		offset--
	}
	return offset
}

// nextLine returns the start of the next line after offset.
func (t *tomlText) nextLine(offset int) int {
	for offset < len(t.src) && t.src[offset] != '\n' {
		offset++
	}
	return min(offset+1, len(t.src))
}

// removeMember returns the text edits that remove all members with this name from an inline table.
func (t *tomlText) removeMember(in tomlItem, name string) (splices []Splice) {
	kept := false // whether a member before the current one stays in the table
	for i, m := range in.members {
		switch {
		case m.path[0] != name:
			kept = true
		case kept: // the comma before this member must be removed too
			splices = append(splices, deletion(t.src, in.members[i-1].to, m.to))
		case i+1 < len(in.members):
			splices = append(splices, deletion(t.src, m.from, in.members[i+1].from))
		}
	}
	if !kept {
		return []Splice{deletion(t.src, in.value+1, in.to-1)}
	}
	return splices
}
