package jsontree

import (
	"bytes"
	"iter"
	"strconv"
)

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of JSON values. Missing is the kind of the zero [Value], which represents a member that
// does not exist.
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

// Value is a read-only view of one value in a document. Its methods do not copy the value, except
// for the strings that they return. The zero Value represents a missing member. All methods can be
// called on it.
type Value struct {
	raw   []byte
	index *index // index of the parsed document; nil for missing and edited values
	at    int32  // position of the value in index.entries, if index is not nil
}

// unchecked returns raw as a Value that has no index. raw must be valid JSON without
// surrounding white space, or empty for a missing value.
func unchecked(raw []byte) Value { return Value{raw: raw} }

// Kind returns the kind of v.
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

// Absent reports whether v is missing or null.
func (v Value) Absent() bool { k := v.Kind(); return k == Missing || k == Null }

// Raw returns the bytes of v in the document. The caller must not change them.
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

// Int returns v as an integer, or false if v is not a 64-bit integer.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, false // do not return n: after an overflow it is not the number in the document
	}
	return n, true
}

// Float returns v as a float64, or false if v is not a number or is out of range.
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

// Bool returns the boolean v. ok is false if v is not a boolean.
func (v Value) Bool() (value, ok bool) {
	return v.Kind() == Bool && v.raw[0] == 't', v.Kind() == Bool
}

// Get returns the member called name, or the zero Value if there is none. If several members have
// this name, Get returns the last one.
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

// Len returns the number of members of an object or items of an array, and 0 for any other kind.
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

// Members yields the members of an object in order. It yields nothing if v is not an object.
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

// Items yields the items of an array with their index. It yields nothing if v is not an array.
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

// Position is the position of a value in the bytes that were parsed.
type Position struct {
	Name     int // start of the member's name; equals From for an item of an array
	From, To int // start and end of the value
}

// Position returns the position of v in the bytes that were parsed. It returns false if v is
// missing, or if an edit has set or changed v.
func (v Value) Position() (Position, bool) {
	if v.index == nil {
		return Position{}, false
	}
	m := v.index.entries[v.at]
	return Position{Name: int(m.key), From: int(m.val), To: int(m.end)}, true
}

// String returns v as readable text: a string without its quotes, and the JSON text
// of any other value.
func (v Value) String() string {
	if s, ok := v.Str(); ok {
		return s
	}
	return string(v.raw)
}

// MarshalJSON returns the bytes of v in its document, or null if v is missing.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.raw == nil {
		return []byte("null"), nil
	}
	return v.raw, nil
}

// keyIs reports whether a member has the given name. The parameter quoted is the name of the member
// in the document, with its quotes; it may contain escapes, which keyIs decodes.
func keyIs(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == name {
		// The undecoded name, inner, equals the parameter name. But if inner contains a backslash,
		// which begins an escape, the decoded name is another one.
		return bytes.IndexByte(inner, '\\') < 0
	}
	return len(inner) > len(name) && bytes.IndexByte(inner, '\\') >= 0 && unquote(quoted) == name
}
