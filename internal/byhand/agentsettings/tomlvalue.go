package agentsettings

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"gaffer/statefile/lazyregexp"
)

// maxTOMLDepth is the maximum nesting of values.
const maxTOMLDepth = 200

// value parses a value. For an inline table it stores the positions of the members in
// spans, if that is not nil.
func (s *tomlScan) value(spans *[]tomlSpan) any {
	if s.depth++; s.depth > maxTOMLDepth {
		s.fail("values nest deeper than %d", maxTOMLDepth)
	}
	defer func() { s.depth-- }()
	switch s.peek() {
	case '"', '\'':
		return s.text()
	case '[':
		return s.array()
	case '{':
		return s.braces(spans)
	}
	return s.scalar()
}

func (s *tomlScan) array() any {
	s.at++
	list := []any{}
	for {
		if s.blanks(); s.peek() == ']' {
			s.at++
			return list
		}
		list = append(list, s.value(nil))
		s.blanks()
		switch s.peek() {
		case ',':
			s.at++
		case ']':
		default:
			s.fail("found %s where a comma or ] should be", s.next())
		}
	}
}

func (s *tomlScan) braces(spans *[]tomlSpan) any {
	s.at++
	t := newTable()
	for {
		if s.blanks(); s.peek() == '}' {
			s.at++
			t.inline = true
			closeAll(t)
			return t
		}
		span := tomlSpan{key: s.at}
		path := s.key()
		s.want('=')
		s.spaces()
		span.name, span.path, span.from = path[0], path, s.at
		v := s.value(&span.inline)
		span.to = s.at
		s.set(t, path, v)
		if spans != nil {
			*spans = append(*spans, span)
		}
		s.blanks()
		switch s.peek() {
		case ',':
			s.at++
		case '}':
		default:
			s.fail("found %s where a comma or } should be", s.next())
		}
	}
}

// closeAll marks as inline the tables that dotted keys have created within an inline
// table.
func closeAll(t *tomlTable) {
	for _, v := range t.members {
		if below, ok := v.(*tomlTable); ok {
			below.inline = true
			closeAll(below)
		}
	}
}

var tomlScalar = lazyregexp.New(`^(true|false|[+-]?(inf|nan)|[+-]?(0|[1-9](_?\d)*)(\.\d(_?\d)*)?([eE][+-]?\d(_?\d)*)?` +
	`|0x[0-9A-Fa-f](_?[0-9A-Fa-f])*|0o[0-7](_?[0-7])*|0b[01](_?[01])*` +
	`|\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)?)?|\d\d:\d\d(:\d\d(\.\d+)?)?)$`)

var tomlDate = lazyregexp.New(`^\d{4}-\d\d-\d\d$`)

// scalar returns a boolean, or the text of a number or a time.
func (s *tomlScan) scalar() any {
	from := s.at
	word := func() {
		for b := s.peek(); isBare(b) || b == '+' || b == '.' || b == ':'; b = s.peek() {
			s.at++
		}
	}
	word()
	if s.peek() == ' ' && s.at+1 < len(s.src) && '0' <= s.src[s.at+1] && s.src[s.at+1] <= '9' && tomlDate().Match(s.src[from:s.at]) {
		s.at++
		word()
	}
	text := string(s.src[from:s.at])
	if !tomlScalar().MatchString(text) {
		s.at = from
		if text == "" {
			s.fail("found %s where a value should be", s.next())
		}
		s.fail("%s is no value: a text needs quotes", text)
	}
	switch text {
	case "true", "false":
		return text == "true"
	}
	return number(text)
}

// number is the text of a number or a time. Its type distinguishes it from a string.
type number string

// text parses a string of any of the four kinds.
func (s *tomlScan) text() string {
	quote := s.src[s.at]
	long := bytes.HasPrefix(s.src[s.at:], bytes.Repeat([]byte{quote}, 3))
	if !long {
		s.at++
		return s.short(quote)
	}
	s.at += 3
	if s.peek() == '\r' && bytes.HasPrefix(s.src[s.at:], []byte("\r\n")) {
		s.at++
	}
	if s.peek() == '\n' {
		s.at++
	}
	return s.long(quote)
}

func (s *tomlScan) short(quote byte) string {
	var b strings.Builder
	for {
		switch c := s.peek(); {
		case c == quote:
			s.at++
			return b.String()
		case c == '\\' && quote == '"':
			s.escape(&b)
		case s.at >= len(s.src), c < ' ' && c != '\t', c == 0x7f:
			s.fail("found %s in a string", s.next())
		default:
			b.WriteByte(c)
			s.at++
		}
	}
}

func (s *tomlScan) long(quote byte) string {
	var b strings.Builder
	end := bytes.Repeat([]byte{quote}, 3)
	for {
		switch c := s.peek(); {
		case bytes.HasPrefix(s.src[s.at:], end):
			// Up to two more quotes belong to the text.
			for n := 0; n < 2 && s.at+3 < len(s.src) && s.src[s.at+3] == quote; n++ {
				b.WriteByte(quote)
				s.at++
			}
			s.at += 3
			return b.String()
		case c == '\\' && quote == '"':
			if !s.continued() {
				s.escape(&b)
			}
		case s.at >= len(s.src):
			s.fail("found the end of the file in a string")
		case c < ' ' && c != '\t' && c != '\n' && !bytes.HasPrefix(s.src[s.at:], []byte("\r\n")), c == 0x7f:
			s.fail("a control character in a string")
		default:
			b.WriteByte(c)
			s.at++
		}
	}
}

// continued skips a backslash at the end of a line and the following white space.
func (s *tomlScan) continued() bool {
	rest := bytes.TrimLeft(s.src[s.at+1:], " \t")
	if !bytes.HasPrefix(rest, []byte("\n")) && !bytes.HasPrefix(rest, []byte("\r\n")) {
		return false
	}
	for s.at++; s.at < len(s.src) && isSpace(s.src[s.at]); {
		s.at++
	}
	return true
}

var tomlEscapes = map[byte]string{'b': "\b", 't': "\t", 'n': "\n", 'f': "\f", 'r': "\r", 'e': "\x1b", '"': `"`, '\\': `\`}

func (s *tomlScan) escape(b *strings.Builder) {
	s.at++
	c := s.peek()
	if text, ok := tomlEscapes[c]; ok {
		b.WriteString(text)
		s.at++
		return
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 || s.at+1+digits > len(s.src) {
		s.fail("found %s after a backslash", s.next())
	}
	n, err := strconv.ParseUint(string(s.src[s.at+1:s.at+1+digits]), 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		s.fail("an escape that is no character")
	}
	b.WriteRune(rune(n))
	s.at += 1 + digits
}
