// Package cells measures and fits text in terminal columns.
package cells

import (
	"strings"
	"unicode"
)

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

// Width returns the number of columns that a printable text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	for _, w := range wide {
		if w.from <= r && r <= w.to {
			return 2
		}
	}
	return 1
}

// Cut shortens a text to a number of columns. A shortened text ends with "…".
func Cut(text string, columns int) string {
	switch {
	case columns <= 0:
		return ""
	case len(text) <= columns || Width(text) <= columns:
		return text
	}
	return text[:Fits(text, columns-1)] + "…"
}

// Fits returns the number of bytes of a text that fit into a number of columns.
func Fits(text string, columns int) int {
	for i, r := range text {
		if columns -= runeWidth(r); columns < 0 {
			return i
		}
	}
	return len(text)
}

// Fill cuts or pads a text to exactly this number of columns.
func Fill(text string, columns int) string {
	text = Cut(text, columns)
	return text + spaces(columns-Width(text))
}

// FillLeft is like [Fill], but pads on the left.
func FillLeft(text string, columns int) string {
	text = Cut(text, columns)
	return spaces(columns-Width(text)) + text
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }
