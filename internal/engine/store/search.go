package store

import (
	"strings"
	"unicode"
)

// TaskSearcher is an optional interface of a [Reader]. A reader implements it if its database can
// search for texts itself, which is faster than decoding all rows. The function [Pattern] makes the
// patterns for its methods.
type TaskSearcher interface {
	// TaskIDsLike returns the ids of those tasks of a run whose ids match all of the given patterns
	// of SQL's LIKE. It returns at most limit ids, sorted.
	TaskIDsLike(run string, patterns []string, limit int) ([]string, error)
	// TasksLike returns the tasks of a run for which each pattern matches the stored JSON of the
	// task, of its Spec, or of one of its attempts. A pattern also matches names of JSON members,
	// so the caller must check the returned tasks.
	TasksLike(run string, patterns []string) ([]Task, error)
}

// Pattern returns a pattern of SQL's LIKE that matches each JSON text in which the word occurs, in
// upper or lower case. It may also match other texts. It contains wildcards for characters that
// JSON may escape, and for characters outside of ASCII, whose case databases do not ignore.
func Pattern(word string) string {
	var b strings.Builder
	b.WriteByte('%')
	for _, c := range word {
		switch {
		case strings.ContainsRune(`"\<>&`, c) || unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || c == unicode.ReplacementChar:
			b.WriteByte('%') // match any text here, because JSON may escape this character
		case c > unicode.MaxASCII || c == '%' || c == '_':
			b.WriteByte('_')
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('%')
	return b.String()
}
