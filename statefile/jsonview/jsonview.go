// Package jsonview reads JSON documents without decoding them. It checks a document
// once, completely, and then finds values in the document's own bytes.
//
// It imports neither strings nor encoding/json, not even indirectly. Every import
// delays the start of the program, and agents wait for gaffer's hook commands.
// Package jsontree, which edits and decodes documents, is built on it.
package jsonview

// Parse checks that data is one JSON value and returns it. The value aliases data, so
// data must not change afterwards. The error is a [*SyntaxError].
func Parse(data []byte) (Value, error) {
	x, err := check(data)
	if err != nil {
		return Value{}, err
	}
	return x.value(0), nil
}

// Valid reports whether data is one JSON value within this package's limits.
func Valid(data []byte) bool {
	_, err := check(data)
	return err == nil
}

// Made returns the value in raw without checking it. raw must be valid JSON without
// surrounding white space.
func Made(raw []byte) Value { return Value{raw: raw} }
