package statefile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName is the maximum length of an id, in bytes. A file name may have 255 bytes; the remaining
// 55 are for the prefixes and suffixes that gaffer adds to the id.
const maxName = 200

// CheckName returns a [*NameError] if name is not safe to use as a file name, for example because
// it contains a slash or starts with a dot. kind is what the text of the error calls the name, such
// as "session id".
func CheckName(kind, name string) error {
	problem := ""
	switch {
	case name == "":
		problem = "is empty"
	case len(name) > maxName:
		problem = fmt.Sprintf("has %d bytes, more than the %d an id may have", len(name), maxName)
	case !utf8.ValidString(name):
		problem = "is not UTF-8"
	case strings.ContainsAny(name, `/\`):
		problem = "has a slash"
	case strings.HasPrefix(name, "."):
		problem = "starts with a dot"
	case strings.HasPrefix(name, "-"):
		problem = "starts with a dash"
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		problem = "has a character that cannot be printed"
	case strings.TrimSpace(name) != name:
		problem = "starts or ends with a space"
	}
	if problem == "" {
		return nil
	}
	return &NameError{What: kind, Name: shorten(name), Problem: problem}
}

func shorten(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
