package agentsettings

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlText is a parsed TOML file: its statements in order, and the resulting tables.
type tomlText struct {
	src        []byte
	statements []statement
	root       *tomlTable
}

// statement is the heading of a table, or a key with its value.
type statement struct {
	path     []string // from the root
	heading  bool
	from, to int      // without surrounding white space
	value    tomlSpan // only for a key
	inline   []tomlSpan
	table    int // index of the heading that it belongs to, or -1
}

// tomlSpan is the position of a value, and of its key if it stands in an inline
// table.
type tomlSpan struct {
	name     string   // the first part of a dotted key
	path     []string // all parts of the key
	key      int
	from, to int
	braces   bool       // it is an inline table
	inline   []tomlSpan // the members of an inline table
}

// tomlTable is a table. It remembers how it was defined, because that determines
// which statements may add to it.
type tomlTable struct {
	members map[string]any // scalars, []any, *tomlTable, []*tomlTable
	headed  bool           // defined by its own heading
	dotted  bool           // defined by a dotted key
	inline  bool
}

func newTable() *tomlTable { return &tomlTable{members: map[string]any{}} }

// plain returns the table as a decoder returns it.
func (t *tomlTable) plain() map[string]any {
	m := map[string]any{}
	for name, v := range t.members {
		switch v := v.(type) {
		case *tomlTable:
			m[name] = v.plain()
		case []*tomlTable:
			list := []any{}
			for _, one := range v {
				list = append(list, one.plain())
			}
			m[name] = list
		default:
			m[name] = plainValue(v)
		}
	}
	return m
}

func plainValue(v any) any {
	switch v := v.(type) {
	case *tomlTable:
		return v.plain()
	case []any:
		list := []any{}
		for _, one := range v {
			list = append(list, plainValue(one))
		}
		return list
	}
	return v
}

// tomlScan parses a file from its beginning. The first error ends the scan.
type tomlScan struct {
	*tomlText
	at    int
	depth int
}

func parseTOML(src []byte) (t *tomlText, err error) {
	s := &tomlScan{tomlText: &tomlText{src: src, root: newTable()}}
	defer func() {
		if p, ok := recover().(*TextError); ok {
			t, err = nil, p
		}
	}()
	s.document()
	return s.tomlText, nil
}

// fail ends the scan with a panic that parseTOML recovers. It never returns.
func (s *tomlScan) fail(format string, args ...any) {
	at := min(s.at, len(s.src))
	panic(&TextError{Format: TOML, Line: lineOf(s.src, at), Column: columnOf(s.src, at), Problem: fmt.Sprintf(format, args...)})
}

func (s *tomlScan) document() {
	if !utf8.Valid(s.src) {
		for s.at = 0; s.at < len(s.src); {
			r, n := utf8.DecodeRune(s.src[s.at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			s.at += n
		}
		s.fail("a byte that is not UTF-8")
	}
	if bytes.HasPrefix(s.src, []byte(byteOrderMark)) {
		s.at = len(byteOrderMark)
	}
	here, table := s.root, -1
	var prefix []string
	for s.blanks(); s.at < len(s.src); s.blanks() {
		if s.src[s.at] == '[' {
			here, prefix = s.head()
			table = len(s.statements) - 1
		} else {
			s.pair(here, prefix, table)
		}
		s.lineEnd()
	}
}

// head parses the heading of a table, or of the next table of an array.
func (s *tomlScan) head() (*tomlTable, []string) {
	from, double := s.at, bytes.HasPrefix(s.src[s.at:], []byte("[["))
	s.at++
	if double {
		s.at++
	}
	s.spaces()
	path := s.key()
	s.want(']')
	if double {
		if s.peek() != ']' {
			s.fail("found %s where the second ] should be", s.next())
		}
		s.at++
	}
	s.statements = append(s.statements, statement{path: path, heading: true, from: from, to: s.at, table: len(s.statements)})
	above := s.descend(s.root, path[:len(path)-1], false)
	name := path[len(path)-1]
	if double {
		return s.another(above, name), path
	}
	switch found := above.members[name].(type) {
	case nil:
		t := newTable()
		t.headed = true
		above.members[name] = t
		return t, path
	case *tomlTable:
		if found.headed || found.inline || found.dotted {
			s.fail("the table %s is there already", dotted(path))
		}
		found.headed = true
		return found, path
	}
	s.fail("%s is there already and is no table", dotted(path))
	return nil, nil
}

func (s *tomlScan) another(above *tomlTable, name string) *tomlTable {
	t := newTable()
	t.headed = true
	switch list := above.members[name].(type) {
	case nil:
		above.members[name] = []*tomlTable{t}
	case []*tomlTable:
		above.members[name] = append(list, t)
	default:
		s.fail("%s is there already and is no array of tables", name)
	}
	return t
}

// descend follows a path of tables, and creates missing ones.
func (s *tomlScan) descend(t *tomlTable, path []string, byKey bool) *tomlTable {
	for _, name := range path {
		switch next := t.members[name].(type) {
		case nil:
			made := newTable()
			made.dotted = byKey
			t.members[name] = made
			t = made
		case *tomlTable:
			if next.inline || byKey && next.headed {
				s.fail("%s is complete and takes no more keys", name)
			}
			t = next
		case []*tomlTable:
			if byKey {
				s.fail("%s is an array of tables", name)
			}
			t = next[len(next)-1]
		default:
			s.fail("%s is there already and is no table", name)
		}
	}
	return t
}

func (s *tomlScan) pair(here *tomlTable, prefix []string, table int) {
	from := s.at
	path := s.key()
	s.want('=')
	s.spaces()
	st := statement{from: from, table: table, value: tomlSpan{from: s.at}}
	st.path = append(append(st.path, prefix...), path...)
	v := s.value(&st.inline)
	st.value.to, st.to = s.at, s.at
	_, st.value.braces = v.(*tomlTable)
	s.set(here, path, v)
	s.statements = append(s.statements, st)
}

func (s *tomlScan) set(here *tomlTable, path []string, v any) {
	t := s.descend(here, path[:len(path)-1], true)
	name := path[len(path)-1]
	if _, ok := t.members[name]; ok {
		s.fail("the key %s is given twice", dotted(path))
	}
	t.members[name] = v
}

// blanks skips white space, comments and line ends.
func (s *tomlScan) blanks() {
	for {
		s.spaces()
		switch {
		case s.peek() == '#':
			s.comment()
		case s.peek() == '\n':
			s.at++
		case bytes.HasPrefix(s.src[s.at:], []byte("\r\n")):
			s.at += 2
		default:
			return
		}
	}
}

func (s *tomlScan) comment() {
	for ; s.at < len(s.src) && s.src[s.at] != '\n'; s.at++ {
		if b := s.src[s.at]; (b < ' ' && b != '\t' && b != '\r') || b == 0x7f {
			s.fail("a control character in a comment")
		}
	}
}

func (s *tomlScan) spaces() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.at++
	}
}

// peek returns the next byte, or 0 at the end. A zero byte in the file is invalid
// everywhere, so the two cases need not be distinguished.
func (s *tomlScan) peek() byte {
	if s.at >= len(s.src) {
		return 0
	}
	return s.src[s.at]
}

func (s *tomlScan) want(b byte) {
	s.spaces()
	if s.peek() != b {
		s.fail("found %s where %q should be", s.next(), string(b))
	}
	s.at++
}

// next describes the next character, for error messages.
func (s *tomlScan) next() string {
	if s.at >= len(s.src) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRune(s.src[s.at:])
	if r == '\n' || r == '\r' {
		return "the end of the line"
	}
	return strconv.QuoteRune(r)
}

func (s *tomlScan) lineEnd() {
	s.spaces()
	if s.peek() == '#' {
		s.comment()
	}
	if s.at < len(s.src) && s.src[s.at] != '\n' && !bytes.HasPrefix(s.src[s.at:], []byte("\r\n")) {
		s.fail("found %s where the line should end", s.next())
	}
}

func (s *tomlScan) key() (path []string) {
	for {
		s.spaces()
		path = append(path, s.simpleKey())
		s.spaces()
		if s.peek() != '.' {
			return path
		}
		s.at++
	}
}

func (s *tomlScan) simpleKey() string {
	switch s.peek() {
	case '"', '\'':
		if bytes.HasPrefix(s.src[s.at:], []byte(`"""`)) || bytes.HasPrefix(s.src[s.at:], []byte(`'''`)) {
			s.fail("a key in three quotes")
		}
		return s.text()
	}
	from := s.at
	for isBare(s.peek()) {
		s.at++
	}
	if s.at == from {
		s.fail("found %s where a key should be", s.next())
	}
	return string(s.src[from:s.at])
}

func isBare(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
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
