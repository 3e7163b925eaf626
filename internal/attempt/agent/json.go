package agent

import (
	"bytes"
	"encoding/json"
	"errors"
)

// decode decodes a line that may be a JSON object. It skips members that have another type than in
// the struct. It returns false if the line is not a complete JSON object.
func decode(line []byte, into any) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	err := json.Unmarshal(line, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong)
}

// encode returns value as a line of JSON. The caller must pass a value that JSON can represent,
// such as a map with strings and numbers.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return b.Bytes()
}

// object is a JSON object to send.
type object map[string]any
