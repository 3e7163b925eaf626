// Package light has what is needed of package strings by what answers hooks.
//
// Forty packages that gaffer is made of, some of them slow to begin, wait for
// strings and for little else. What imports it begins after them, and the answer to
// a hook must not.
package light

import "bytes"

// HasPrefix tells whether text begins with prefix.
func HasPrefix(text, prefix string) bool {
	return len(text) >= len(prefix) && text[:len(prefix)] == prefix
}

// HasSuffix tells whether text ends with suffix.
func HasSuffix(text, suffix string) bool {
	return len(text) >= len(suffix) && text[len(text)-len(suffix):] == suffix
}

// TrimSuffix returns text without suffix at its end.
func TrimSuffix(text, suffix string) string {
	if HasSuffix(text, suffix) {
		return text[:len(text)-len(suffix)]
	}
	return text
}

// TrimSlashes returns text without the slashes at its end.
func TrimSlashes(text string) string {
	for HasSuffix(text, "/") {
		text = text[:len(text)-1]
	}
	return text
}

// Contains tells whether part is in text.
func Contains(text, part string) bool { return bytes.Contains([]byte(text), []byte(part)) }

// Cut returns what stands before and after the first sep, all and nothing if there
// is none.
func Cut(text string, sep byte) (before, after string) {
	for i := range len(text) {
		if text[i] == sep {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// LastIndex returns where the last c is, or -1.
func LastIndex(text string, c byte) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == c {
			return i
		}
	}
	return -1
}
