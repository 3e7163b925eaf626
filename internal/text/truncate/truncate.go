// Package truncate shortens text to a number of characters or bytes. It never splits a character.
// To shorten text to a number of terminal columns, use package cells.
package truncate

import "unicode/utf8"

const ellipsis = "…"

// Chars shortens a text to at most limit characters; limit must be at least 1. A shortened text
// ends with "…", which counts as one character.
func Chars(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	chars, cut := 0, 0
	for i := range text {
		if chars == limit-1 {
			cut = i
		}
		if chars == limit {
			return text[:cut] + ellipsis
		}
		chars++
	}
	return text
}

// Bytes shortens a text to at most limit bytes; limit must be at least 3. A shortened text ends
// with "…", which counts as three bytes.
func Bytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Head(text, limit-len(ellipsis)) + ellipsis
}

// Head returns at most limit bytes from the beginning of a text.
func Head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := max(limit, 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Tail returns at most limit bytes from the end of a text.
func Tail(text string, limit int) string {
	start := max(len(text)-max(limit, 0), 0)
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	return text[start:]
}
