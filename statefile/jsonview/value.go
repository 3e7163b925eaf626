package jsonview

import (
	"bytes"
	"iter"
	"strconv"
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
	return Unquote(v.raw), true
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
	for c := v.Cursor(); c.Next(); {
		if KeyIs(v.raw[c.Key:c.Colon], name) {
			found = c.Value()
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
	for c := v.Cursor(); c.Next(); {
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
		for c := v.Cursor(); c.Next(); {
			if !yield(Unquote(v.raw[c.Key:c.Colon]), c.Value()) {
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
		for c := v.Cursor(); c.Next(); i++ {
			if !yield(i, c.Value()) {
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

// KeyIs tells whether a member's name, as it stands in its document, is name.
func KeyIs(quoted []byte, name string) bool {
	inner := quoted[1 : len(quoted)-1]
	if string(inner) == name {
		return bytes.IndexByte(inner, '\\') < 0 // an escape never stands for itself
	}
	return len(inner) > len(name) && bytes.IndexByte(inner, '\\') >= 0 && Unquote(quoted) == name
}
