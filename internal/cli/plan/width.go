package plan

import (
	"strings"
	"unicode"

	"gaffer/internal/text/display"
)

// width returns the number of terminal columns that a text takes.
func width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// wide lists the ranges of characters that take two columns.
var wide = []struct{ from, to rune }{
	{0x1100, 0x115f},
	{0x2e80, 0xa4cf},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe30, 0xfe6f},
	{0xff00, 0xff60},
	{0xffe0, 0xffe6},
	{0x1f300, 0x1faff},
	{0x20000, 0x3fffd},
}

func runeWidth(r rune) int {
	if unicode.Is(unicode.Mn, r) {
		return 0
	}
	for _, w := range wide {
		if w.from <= r && r <= w.to {
			return 2
		}
	}
	return 1
}

// cut shortens a text to a number of columns.
func cut(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	var b strings.Builder
	room := columns - 1
	for _, r := range text {
		if room -= runeWidth(r); room < 0 {
			break
		}
		b.WriteRune(r)
	}
	if columns > 0 {
		b.WriteString("…")
	}
	return b.String()
}

// fill makes a text printable, on one line, and exactly this number of columns wide.
func fill(text string, columns int) string {
	text = cut(strings.Join(strings.Fields(display.PrintableLines(text)), " "), columns)
	return text + strings.Repeat(" ", columns-width(text))
}
