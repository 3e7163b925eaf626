// Package display prepares text for a terminal: printable, shortened and styled.
package display

import (
	"strings"
	"unicode"
)

// Printable replaces every character that is not printable, newlines included. The
// result cannot control a terminal and fits on one line.
func Printable(text string) string { return replaceUnprintable(text, "") }

// PrintableLines is like [Printable], but keeps newlines and tabs.
func PrintableLines(text string) string { return replaceUnprintable(text, "\n\t") }

func replaceUnprintable(text, except string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || strings.ContainsRune(except, r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Line joins the words of text on one line and shortens it to width characters.
func Line(text string, width int) string {
	words := []rune(strings.Join(strings.Fields(PrintableLines(text)), " "))
	if len(words) > width {
		return string(words[:width-1]) + "…"
	}
	return string(words)
}
