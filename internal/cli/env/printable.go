package env

import (
	"strings"
	"unicode"
)

// Printable makes what another program wrote safe to show on one line: a
// document must not steer the terminal.
func Printable(text string) string { return replaceUnprintable(text, "") }

// PrintableLines is like [Printable] and leaves newlines and tabs.
func PrintableLines(text string) string { return replaceUnprintable(text, "\n\t") }

// ForOut is text as a result: safe to show if a terminal shows it, and as it is for
// a program that reads it.
func (e *Env) ForOut(text string) string {
	if IsTerminal(e.Out) {
		return PrintableLines(text)
	}
	return text
}

func replaceUnprintable(text, but string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || strings.ContainsRune(but, r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Line is text on one line of at most width characters.
func Line(text string, width int) string {
	words := []rune(strings.Join(strings.Fields(PrintableLines(text)), " "))
	if len(words) > width {
		return string(words[:width-1]) + "…"
	}
	return string(words)
}
