// Package timestamp reads the times that programs really write into state
// documents, and writes the one form that ours use: UTC, RFC 3339 with Z.
package timestamp

import (
	"fmt"
	"strings"
	"time"

	"gaffer/statefile/lazyregexp"
)

// Format returns t to the second, in UTC.
func Format(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// layouts are the forms found in the wild. Fractions of a second are taken by
// all of them. The naive ones are local time: that is what a Python program
// writes with datetime.now().isoformat().
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

// Error is a text that is not a time.
type Error struct{ Text string }

func (e *Error) Error() string {
	if strings.Contains(e.Text, "$") {
		return fmt.Sprintf("%q is a shell variable that was never filled in, not a time", e.Text)
	}
	return fmt.Sprintf("%q is not a time; write it as 2026-02-12T17:08:00Z", e.Text)
}

// Parse reads a time in any form found in the wild. A naive time is taken as
// local to zone.
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

// rfc3339 is the form that the library's parser, which is lenient about single
// digits, commas and offsets, does not hold a time to.
var rfc3339 = lazyregexp.New(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// UTC reports whether s, a time that is [Strict], says that it is in UTC. Z and
// +00:00 mean the same.
func UTC(s string) bool {
	return strings.HasSuffix(s, "Z") || strings.HasSuffix(s, "z") || strings.HasSuffix(s, "+00:00")
}

// Strict reports whether s is RFC 3339 in full, as the protocols ask.
func Strict(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil && rfc3339().MatchString(s)
}
