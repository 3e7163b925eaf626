// Package display prepares text for a terminal: printable, shortened and styled.
package display

import (
	"strings"
	"unicode"

	"gaffer/internal/text/truncate"
)

// Printable replaces every character that is not printable, including newlines, by the replacement
// character U+FFFD. The result cannot control a terminal and is one line.
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

// OneLine makes text printable and puts its words on one line.
func OneLine(text string) string {
	return strings.Join(strings.Fields(PrintableLines(text)), " ")
}

// Line is like [OneLine], but also shortens the line to at most limit characters.
func Line(text string, limit int) string { return truncate.Chars(OneLine(text), limit) }
