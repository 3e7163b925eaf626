package team

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Time is a time in one of the team's JSON documents. The zero Time is written as null.
type Time struct{ time.Time }

// At returns t as it is written to a document: in UTC and without fractions of a second.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Second)} }

// MarshalJSON writes t in UTC, to the second. It writes the zero time as null.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return marshal(timestamp.Format(t.Time))
}

// DecodeJSON reads a time in any format that [timestamp.Parse] accepts. A time without a zone is in
// local time.
func (t *Time) DecodeJSON(v jsontree.Value) error {
	text, ok := v.Str()
	if !ok {
		return errors.New("a time")
	}
	at, err := timestamp.Parse(text, time.Local)
	if err != nil {
		return errors.New("a time")
	}
	t.Time = at
	return nil
}

// intOf returns the integer v. It also accepts an integer with a decimal point, such as 5.0,
// because the protocol's JSON Schemas do so. It returns false if v is not an integer or is out of
// range.
func intOf(v jsontree.Value) (int, bool) {
	if n, ok := v.Int(); ok {
		return int(n), true
	}
	const exact = 1 << 53 // above this, float64 cannot represent every integer
	f, ok := v.Float()
	if !ok || f != math.Trunc(f) || math.Abs(f) > exact {
		return 0, false
	}
	return int(f), true
}

// plusOne returns n+1, or n if n is the largest int.
func plusOne(n int) int {
	if n == math.MaxInt {
		return n
	}
	return n + 1
}

// List is a list that is written as [] when it is empty, and never as null.
type List[T any] []T

// MarshalJSON writes the items as a JSON array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return marshal([]T(l))
}

// marshal encodes v as JSON. It does not escape <, > and & for HTML, because people read the
// documents as plain text.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// marshalObject encodes a JSON object with n members. The function member returns the name and the
// value of the i-th member.
func marshalObject(n int, member func(i int) (string, any)) ([]byte, error) {
	b := []byte("{")
	for i := range n {
		key, value := member(i)
		name, err := marshal(key)
		if err != nil {
			return nil, err
		}
		body, err := marshal(value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), body...)
	}
	return append(b, '}'), nil
}

// newDocument returns the formatted text of a new document with the content v.
func newDocument(v any) ([]byte, error) {
	data, err := marshal(v)
	if err != nil {
		return nil, err
	}
	return jsontree.Format(data)
}
