package protocol

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits for the fields of a request. Limits of texts are in bytes.
const (
	maxID      = 128
	maxName    = 200
	maxStatus  = 32
	maxTitle   = 500
	maxText    = 256 << 10
	maxKey     = 200
	maxMeta    = 16 << 10
	maxPayload = 64 << 10
	maxInput   = 64 << 10
	maxReason  = 16 << 10
	maxDoing   = 1000
	maxCost    = 1e9 // dollars

	// maxDepth is the maximum depth of nested JSON in a request. It is lower than the limit of
	// encoding/json, which is 10000, because the server puts the value into larger JSON documents.
	maxDepth         = 1000
	maxPriority      = 1_000_000
	maxSubscriptions = 100
)

// check validates the fields of a request. Its methods record only the first error that they find,
// in err.
type check struct{ err error }

func (c *check) fail(format string, args ...any) {
	if c.err == nil {
		c.err = Invalid(format, args...)
	}
}

// text records an error if value is longer than maxBytes, is not UTF-8, or contains a zero byte.
func (c *check) text(field, value string, maxBytes int) {
	switch {
	case len(value) > maxBytes:
		c.fail("%s: has %d bytes, and may have %d", field, len(value), maxBytes)
	case !utf8.ValidString(value):
		c.fail("%s: is not UTF-8", field)
	case strings.IndexByte(value, 0) >= 0:
		c.fail("%s: has a zero byte", field)
	}
}

// line records an error if value is not valid for the method text, or contains a control character,
// such as a line break.
func (c *check) line(field, value string, most int) {
	c.text(field, value, most)
	if strings.ContainsFunc(value, unicode.IsControl) {
		c.fail("%s: has a line break or another control character", field)
	}
}

// name records an error if value is not valid for the method line, is empty, or contains only white
// space.
func (c *check) name(field, value string, most int) {
	c.line(field, value, most)
	if strings.TrimSpace(value) == "" {
		c.fail("%s: is missing", field)
	}
}

// id records an error if value is not a valid id. An id must be valid for the method name, must not
// contain white space, slashes or backslashes, and must not be "." or "..".
func (c *check) id(field, value string) {
	c.name(field, value, maxID)
	c.idIfAny(field, value)
}

func (c *check) idIfAny(field, value string) {
	c.line(field, value, maxID)
	if strings.ContainsFunc(value, unicode.IsSpace) || strings.ContainsAny(value, `/\`) || value == "." || value == ".." {
		c.fail("%s: %.40q has a space or a slash, or is only dots", field, value)
	}
}

// json records an error if value is longer than maxBytes, is not valid JSON, or is nested deeper
// than maxDepth. An empty value is valid.
func (c *check) json(field string, value json.RawMessage, maxBytes int) {
	switch {
	case len(value) > maxBytes:
		c.fail("%s: has %d bytes, and may have %d", field, len(value), maxBytes)
	case len(value) > 0 && (!utf8.Valid(value) || !json.Valid(value)):
		c.fail("%s: is not JSON", field)
	case levels(value) > maxDepth:
		c.fail("%s: has more than %d levels", field, maxDepth)
	}
}

// levels returns the maximum depth of nested lists and objects in a JSON value.
func levels(value json.RawMessage) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++ // skip the escaped character, which does not end the string
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			most = max(most, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return most
}

func (c *check) number(field string, value, least, most int) {
	if value < least || value > most {
		c.fail("%s: %d is not between %d and %d", field, value, least, most)
	}
}

// The functions below make the checks available to package workers.

// CheckID returns an error unless value is a valid id. The error names the field.
func CheckID(field, value string) error {
	var c check
	c.id(field, value)
	return c.err
}

// CheckLine returns an error if value is longer than maxBytes, is not UTF-8, or contains a control
// character such as a line break.
func CheckLine(field, value string, maxBytes int) error {
	var c check
	c.line(field, value, maxBytes)
	return c.err
}

// CheckText returns an error if value is longer than maxBytes, is not UTF-8, or contains a zero
// byte.
func CheckText(field, value string, maxBytes int) error {
	var c check
	c.text(field, value, maxBytes)
	return c.err
}

// CheckNumber returns an error if value is below least or above most.
func CheckNumber(field string, value, least, most int) error {
	var c check
	c.number(field, value, least, most)
	return c.err
}
