package agent

import (
	"bytes"
	"encoding/json"
	"errors"
)

// decode decodes a line that may be a JSON object. It skips members of an unexpected
// type. It reports false for incomplete JSON and for anything but an object.
func decode(line []byte, into any) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return false
	}
	err := json.Unmarshal(line, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong)
}

// encode returns value as a line of JSON. It cannot fail: values consist of strings,
// maps and JSON that was decoded before.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return b.Bytes()
}

// object is a JSON object to send.
type object map[string]any
