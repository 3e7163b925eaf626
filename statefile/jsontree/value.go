package jsontree

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"unicode/utf8"
)

// Kind is what sort of JSON value something is.
type Kind uint8

// The kinds. Missing is the kind of the zero [Value]: no such member.
const (
	Missing Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

func (k Kind) String() string {
	return [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// Value is a view of one value in a checked document. Reading it allocates
// nothing beyond the strings it returns. The zero Value is a missing one, and
// every method may be called on it.
type Value struct {
	raw   []byte
	index *index // of the document that it was found in; nil if it was made
	at    int32  // its mark
}

// Kind returns what v is.
func (v Value) Kind() Kind { return kindOf(v.raw) }

func kindOf(raw []byte) Kind {
	if len(raw) == 0 {
		return Missing
	}
	switch raw[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// Absent reports whether v is missing or null, which the protocols treat alike.
func (v Value) Absent() bool { k := v.Kind(); return k == Missing || k == Null }

// Raw returns the bytes of v as they stand in the document. They must not be
// changed.
func (v Value) Raw() []byte { return v.raw }

// Str returns the string v, or false if v is not a string.
func (v Value) Str() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return unquote(v.raw), true
}

// Text returns the string v, or "" if v is not a string.
func (v Value) Text() string { s, _ := v.Str(); return s }

// Int returns the integer v, or false if v is not a whole number of 64 bits.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, false // not the nearest number, which is what n is
	}
	return n, true
}

// Float returns the number v, or false if v is not a number a float64 can hold.
func (v Value) Float() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil {
		return 0, false
	}
	return f, true
}

// Bool returns the boolean v, or false twice if v is not one.
func (v Value) Bool() (value, ok bool) {
	return v.Kind() == Bool && v.raw[0] == 't', v.Kind() == Bool
}

// Get returns the member called name, or a missing value. Where a name stands
// twice the last one counts, as in every reader our documents meet.
func (v Value) Get(name string) Value {
	var found Value
	if v.Kind() != Object {
		return found
	}
	if v.index != nil {
		return v.index.get(v.at, name)
	}
	for c := v.cursor(); c.next(); {
		if keyIs(v.raw[c.key:c.colon], name) {
			found = c.value()
		}
	}
	return found
}

// Len returns how many members or items v has.
func (v Value) Len() int {
	if v.index != nil {
		return v.index.len(v.at)
	}
	n := 0
	for c := v.cursor(); c.next(); {
		n++
	}
	return n
}

// Members yields the members of the object v in their order, or nothing.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for c := v.cursor(); c.next(); {
			if !yield(unquote(v.raw[c.key:c.colon]), c.value()) {
				return
			}
		}
	}
}

// Items yields the items of the array v with their index, or nothing.
func (v Value) Items() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != Array {
			return
		}
		i := 0
		for c := v.cursor(); c.next(); i++ {
			if !yield(i, c.value()) {
				return
			}
		}
	}
}

// Place is where one part of a container stands in the bytes that were parsed.
type Place struct {
	Name     int // of the member; the same as From in an array
	From, To int // its value
}

// Place returns where v stands in the bytes that were parsed, or false if it was
// not found there.
func (v Value) Place() (Place, bool) {
	if v.index == nil {
		return Place{}, false
	}
	m := v.index.marks[v.at]
	return Place{Name: int(m.key), From: int(m.val), To: int(m.end)}, true
}

// Interface returns v as encoding/json would decode it, numbers as json.Number.
func (v Value) Interface() any {
	if v.Absent() {
		return nil
	}
	decoded, _ := interfaceAt(v.raw, 0)
	return decoded
}

// interfaceAt decodes the value at b[i] and returns the index after it. It
// passes over each byte once: a document may be both large and deep.
func interfaceAt(b []byte, i int) (any, int) {
	switch b[i] {
	case '{':
		members := map[string]any{}
		for i = skipSpace(b, i+1); b[i] != '}'; {
			colon := skipString(b, i)
			name := unquote(b[i:colon])
			members[name], i = interfaceAt(b, skipSpace(b, skipSpace(b, colon)+1))
			i = skipComma(b, i)
		}
		return members, i + 1
	case '[':
		items := []any{}
		for i = skipSpace(b, i+1); b[i] != ']'; {
			var item any
			item, i = interfaceAt(b, i)
			items, i = append(items, item), skipComma(b, i)
		}
		return items, i + 1
	}
	end := skipValue(b, i)
	return Value{raw: b[i:end]}.scalar(), end
}

func (v Value) scalar() any {
	switch v.Kind() {
	case String:
		return unquote(v.raw)
	case Number:
		return json.Number(v.raw)
	case Bool:
		return v.raw[0] == 't'
	}
	return nil
}

// String returns v as a person would read it: a string without its quotes, the
// JSON text of anything else.
func (v Value) String() string {
	if s, ok := v.Str(); ok {
		return s
	}
	return string(v.raw)
}

// MarshalJSON returns v as it stands in its document, or null if it is missing.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.raw == nil {
		return []byte("null"), nil
	}
	return v.raw, nil
}

// cursor walks the parts of a container and says where each stands in the
// container's bytes.
type cursor struct {
	raw    []byte
	object bool
	lead   int // white space before the part, after the bracket or comma
	key    int // the member's name; the same as val in an array
	colon  int // what stands between name and value
	val    int
	end    int // white space after the value, up to the comma or bracket
	after  int // the comma or bracket

	index      *index // nil if the container was made
	here       int32  // the part's mark
	mark, stop int32  // the next part's, and the one after the container
	base       int    // where raw begins in the document
}

// cursor starts before the first part of v, and ends there if v has no parts.
func (v Value) cursor() cursor {
	kind := v.Kind()
	if kind != Object && kind != Array {
		return cursor{raw: []byte("[]")}
	}
	c := cursor{raw: v.raw, object: kind == Object}
	if v.index != nil {
		m := v.index.marks[v.at]
		c.index, c.mark, c.stop, c.base = v.index, v.at+1, m.next, int(m.val)
	}
	return c
}

// value returns the part's value.
func (c *cursor) value() Value {
	v := Value{raw: c.raw[c.val:c.end]}
	if c.index != nil {
		v.index, v.at = c.index, c.here
	}
	return v
}

func (c *cursor) next() bool {
	if c.index != nil {
		return c.nextMark()
	}
	b := c.raw
	if c.after > 0 && b[c.after] != ',' {
		return false
	}
	c.lead = c.after + 1
	c.key = skipSpace(b, c.lead)
	if b[c.key] == '}' || b[c.key] == ']' {
		c.after = c.key
		return false
	}
	c.colon, c.val = c.key, c.key
	if c.object {
		c.colon = skipString(b, c.key)
		c.val = skipSpace(b, skipSpace(b, c.colon)+1)
	}
	c.end = skipValue(b, c.val)
	c.after = skipSpace(b, c.end)
	return true
}

// nextMark is next by the marks.
func (c *cursor) nextMark() bool {
	if c.mark == c.stop {
		return false
	}
	m := &c.index.marks[c.mark]
	c.here, c.mark = c.mark, m.next
	c.lead = c.after + 1
	c.key, c.colon = int(m.key)-c.base, int(m.colon)-c.base
	c.val, c.end = int(m.val)-c.base, int(m.end)-c.base
	c.after = skipSpace(c.raw, c.end)
	return true
}

func keyIs(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == name {
		return bytes.IndexByte(inner, '\\') < 0 // an escape never stands for itself
	}
	return len(inner) > len(name) && bytes.IndexByte(inner, '\\') >= 0 && unquote(quoted) == name
}

// unquote decodes a checked string. Bytes that are not UTF-8 become U+FFFD.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	plain := utf8.Valid(inner)
	for _, b := range inner {
		plain = plain && b != '\\'
	}
	if plain {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return string(inner)
	}
	return s
}
