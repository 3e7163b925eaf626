// Package timestamp reads the time formats that programs use in state documents. It
// writes one format: RFC 3339 in UTC with Z.
package timestamp

import (
	"fmt"
	"strings"
	"time"

	"gaffer/statefile/lazyregexp"
)

// Format formats t in UTC, to the second.
func Format(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// layouts are the formats that known programs write. The formats with seconds also accept fractions
// of a second. A naive format has no zone, so the caller of Parse says in which zone the time is.
// For example, Python's datetime.now().isoformat() writes a naive format.
var layouts = []struct {
	layout string
	naive  bool
}{
	{time.RFC3339, false},
	{"2006-01-02T15:04:05Z0700", false},
	{"2006-01-02 15:04:05Z07:00", false},
	{"2006-01-02T15:04:05", true},
	{"2006-01-02 15:04:05", true},
	{"2006-01-02T15:04Z07:00", false},
	{"2006-01-02", true},
}

// Error reports a text that is not a time.
type Error struct{ Text string }

func (e *Error) Error() string {
	if strings.Contains(e.Text, "$") {
		return fmt.Sprintf("%q is a shell variable that was never filled in, not a time", e.Text)
	}
	return fmt.Sprintf("%q is not a time; write it as 2026-02-12T17:08:00Z", e.Text)
}

// Parse reads a time in any of the known formats. If s contains no time zone, Parse assumes the
// parameter zone. The error is a [*Error].
func Parse(s string, zone *time.Location) (time.Time, error) {
	for _, l := range layouts {
		in := time.UTC
		if l.naive {
			in = zone
		}
		if t, err := time.ParseInLocation(l.layout, s, in); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &Error{Text: s}
}

// rfc3339 matches times in the format of RFC 3339, with capital T and Z. time.Parse alone is not
// enough: it also accepts some single digits, commas and invalid offsets.
var rfc3339 = lazyregexp.New(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// UTC reports whether the time s is in UTC: whether it ends with Z, z or +00:00. The caller must
// ensure that s is a time in RFC 3339 format.
func UTC(s string) bool {
	return strings.HasSuffix(s, "Z") || strings.HasSuffix(s, "z") || strings.HasSuffix(s, "+00:00")
}

// Strict reports whether s is a time in the format of RFC 3339, with capital T and Z. It does not
// accept the deviations that time.Parse accepts.
func Strict(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil && rfc3339().MatchString(s)
}
