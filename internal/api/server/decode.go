package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// decode reads a request's JSON body into dst. It ignores unknown fields, so that newer clients can
// send more fields.
func (c *request) decode(dst any) error { return c.decodeUpTo(maxBody, dst) }

func (c *request) decodeUpTo(limit int64, into any) error {
	data, err := c.body(limit)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return badJSON(data, err)
	}
	return nil
}

// body reads the request's body. It returns an error if the body is longer than limit bytes.
func (c *request) body(limit int64) ([]byte, error) {
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if err == nil {
		return data, nil
	}
	if long, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, refuse(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is longer than %d bytes", long.Limit))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, refuse(http.StatusRequestTimeout, "timeout", "the body did not arrive in time")
	}
	return nil, refuse(http.StatusBadRequest, "bad_request", "the body did not arrive whole")
}

// badJSON returns an error with the position of the mistake in the body.
func badJSON(data []byte, err error) error {
	where, what := "", err.Error()
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		where = position(data, e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where = position(data, e.Offset)
		what = fmt.Sprintf("a JSON %s where %s is wanted", e.Value, wantedType(e))
		if e.Field != "" {
			what = fmt.Sprintf("field %q: %s", e.Field, what)
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		what = "the body is empty, a JSON object is wanted"
	}
	return refuse(http.StatusBadRequest, "bad_json", where+what)
}

func wantedType(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "struct":
		return "an object"
	case "slice":
		return "an array"
	case "int":
		return "a whole number"
	}
	return "a " + e.Type.Kind().String()
}

func position(data []byte, offset int64) string {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d: ", line, column)
}

const maxID = 200

// checkIDs validates ids, given as pairs of name and value. It rejects an id that is too long, is
// "." or "..", or contains slashes, backslashes or unprintable characters. It accepts an empty id,
// because the service checks which ids are required.
func checkIDs(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if id := pairs[i+1]; id == "." || id == ".." || strings.ContainsAny(id, `/\`) || !isPlain(id) {
			return refuse(http.StatusBadRequest, "invalid_request",
				fmt.Sprintf("%s %.60q: want at most %d printable characters, no slashes", pairs[i], id, maxID))
		}
	}
	return nil
}

// checkNames validates names that users choose, given as pairs of name and value. A name may
// contain slashes.
func checkNames(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if !isPlain(pairs[i+1]) {
			return refuse(http.StatusBadRequest, "invalid_request",
				fmt.Sprintf("%s %.60q: want at most %d printable characters", pairs[i], pairs[i+1], maxID))
		}
	}
	return nil
}

// checkTexts returns an error if a text contains a zero byte. The texts are given as pairs of name
// and value.
func checkTexts(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if strings.IndexByte(pairs[i+1], 0) >= 0 {
			return refuse(http.StatusBadRequest, "invalid_request", pairs[i]+": has a zero byte")
		}
	}
	return nil
}

func isPlain(text string) bool {
	return len(text) <= maxID && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
