// Package display makes text fit for a terminal: safe, short and styled.
package display

import (
	"strings"
	"unicode"
)

// Printable replaces the characters that could control a terminal, so that text
// from another program can be shown on one line.
func Printable(text string) string { return replaceUnprintable(text, "") }

// PrintableLines is like [Printable] and keeps newlines and tabs.
func PrintableLines(text string) string { return replaceUnprintable(text, "\n\t") }

func replaceUnprintable(text, except string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || strings.ContainsRune(except, r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Line returns text on one line, shortened to width characters.
func Line(text string, width int) string {
	words := []rune(strings.Join(strings.Fields(PrintableLines(text)), " "))
	if len(words) > width {
		return string(words[:width-1]) + "…"
	}
	return string(words)
}
