package store

import (
	"strings"
	"unicode"
)

// TaskSearcher is an optional interface of a [Reader]. A reader implements it if it can find texts
// faster than by decoding all rows. The function [Pattern] returns the patterns for its methods.
type TaskSearcher interface {
	// TaskIDsLike returns the ids of those tasks of a run whose ids match all patterns. It returns
	// at most limit ids, sorted.
	TaskIDsLike(run string, patterns []string, limit int) ([]string, error)
	// TasksLike returns the tasks of a run for which each pattern matches the stored JSON of the
	// task, of its Spec, or of one of its attempts. Names of JSON members match too, so the caller
	// must check the tasks.
	TasksLike(run string, patterns []string) ([]Task, error)
}

// Pattern returns a pattern of SQL's LIKE that matches each JSON text in which the word occurs, in
// upper or lower case. It may match other texts: databases fold the case of ASCII letters only, and
// JSON has several forms of some characters.
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
