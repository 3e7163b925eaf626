package statefile

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"gaffer/statefile/jsontree"
)

// mostPortable is the largest number of findings that CheckPortable returns. CheckPortable drops
// further findings.
const mostPortable = 100

// CheckPortable reports content that JSON libraries treat differently: a byte order mark, bytes
// that are not UTF-8, an unpaired surrogate, a duplicate member, or a number out of the range of
// float64. Package jsontree accepts all of them, but other libraries may reject the document or
// read another value. The caller must not have edited doc since it was parsed.
func CheckPortable(path string, doc *jsontree.Doc) []Finding {
	c := portable{path: path}
	data := doc.Bytes()
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		c.invalid("", "byte-order-mark", "the document begins with a byte order mark, which JSON does not have")
	}
	if at := invalidUTF8(data); at >= 0 {
		line := bytes.Count(data[:at], []byte{'\n'}) + 1
		column := at - bytes.LastIndexByte(data[:at], '\n')
		c.invalid("", "not-utf8", "line %d, column %d: the byte 0x%02x is not UTF-8", line, column, data[at])
	}
	c.value(doc.Value(), "")
	return c.found
}

type portable struct {
	path  string
	found []Finding
}

func (c *portable) invalid(at, name, format string, args ...any) {
	if len(c.found) < mostPortable {
		c.found = append(c.found, Finding{Path: c.path, At: at, Name: name, Severity: Invalid, Text: fmt.Sprintf(format, args...)})
	}
}

func (c *portable) value(v jsontree.Value, at string) {
	switch v.Kind() {
	case jsontree.Object:
		seen := make(map[string]bool, v.Len())
		for name, member := range v.Members() {
			place := joinPath(at, name)
			if seen[name] {
				c.invalid(place, "duplicate-member", "occurs twice; gaffer reads the last one, some other programs the first")
			}
			seen[name] = true
			c.value(member, place)
		}
	case jsontree.Array:
		for i, item := range v.Items() {
			c.value(item, fmt.Sprintf("%s[%d]", at, i))
		}
	case jsontree.Number:
		if _, ok := v.Float(); !ok {
			c.invalid(at, "number-out-of-range", "%s is larger than any number that other readers hold", shorten(string(v.Raw())))
		}
	case jsontree.String:
		if hasLoneSurrogate(v.Raw()) {
			c.invalid(at, "lone-surrogate", "%s has half of a surrogate pair, which is no character", shorten(string(v.Raw())))
		}
	}
}

// joinPath returns the path of a member, such as agents[2].id. parent is the path of the object
// that contains the member, such as agents[2], or "" for the root.
func joinPath(parent, name string) string {
	name = shorten(name)
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// invalidUTF8 returns the index of the first byte that is not UTF-8, or -1 if all of data is UTF-8.
func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for at := 0; ; {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}

// hasLoneSurrogate reports whether a string has the escape of one half of a surrogate pair, such as
// \ud800, without the other half next to it. quoted is the string with its quotes.
func hasLoneSurrogate(quoted []byte) bool {
	const escape = len(`\uFFFF`)
	for {
		at := bytes.IndexByte(quoted, '\\')
		if at < 0 {
			return false
		}
		quoted = quoted[at:]
		switch {
		case isSurrogate(quoted, "89abAB") && isSurrogate(quoted[escape:], "cdefCDEF"):
			quoted = quoted[2*escape:]
		case isSurrogate(quoted, "89abcdefABCDEF"):
			return true
		default:
			quoted = quoted[2:]
		}
	}
}

// isSurrogate reports whether b begins with an escape \udX.., where X is one of the characters in
// the parameter digits. X decides which half of a surrogate pair the escape is: 8, 9, a or b for
// the first, c to f for the second.
func isSurrogate(b []byte, digits string) bool {
	return len(b) >= 6 && b[0] == '\\' && b[1] == 'u' && (b[2] == 'd' || b[2] == 'D') && bytes.IndexByte([]byte(digits), b[3]) >= 0
}
