// Package jsonview reads JSON documents where they stand: a document is checked
// once, in full, and what it holds is looked up in its own bytes.
//
// It imports neither strings nor encoding/json, nor anything that does, since the
// answer to an agent's hook waits for whatever is behind it. Package jsontree, which
// edits documents and decodes them, is built on it.
package jsonview

// Parse checks that data is one JSON value and returns that. The value keeps and
// aliases data, which must not change afterwards. The error is a [*SyntaxError].
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

// Made returns the value in raw, which is known to be one, without white space
// around it.
func Made(raw []byte) Value { return Value{raw: raw} }
