// Package cells measures the width of text in terminal columns, and shortens or pads text to a
// given width. Escape sequences, such as those that set colours, take no columns.
package cells

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the number of terminal columns that a text takes.
func Width(text string) int { return ansi.StringWidth(text) }

// Truncate shortens a text to at most this number of terminal columns. A shortened text ends with
// "…".
func Truncate(text string, columns int) string { return ansi.Truncate(text, columns, "…") }

// End returns the last part of a text: as many characters as fit into this number of terminal
// columns.
func End(text string, columns int) string {
	over := Width(text) - max(columns, 0)
	end := ansi.TruncateLeft(text, over, "")
	if Width(end) > max(columns, 0) {
		// TruncateLeft keeps a wide character that is only partly within the limit. Remove this
		// character, too.
		end = ansi.TruncateLeft(text, over+1, "")
	}
	return end
}

// FittingBytes returns the length, in bytes, of the longest beginning of a text that fits into this
// number of terminal columns.
func FittingBytes(text string, columns int) int { return len(ansi.Truncate(text, columns, "")) }

// Fill truncates or pads a text to exactly this number of terminal columns. It pads on the right.
func Fill(text string, columns int) string {
	text = Truncate(text, columns)
	return text + strings.Repeat(" ", max(columns-Width(text), 0))
}

// FillLeft is like [Fill], but pads on the left.
func FillLeft(text string, columns int) string {
	text = Truncate(text, columns)
	return strings.Repeat(" ", max(columns-Width(text), 0)) + text
}
