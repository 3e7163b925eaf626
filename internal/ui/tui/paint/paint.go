// Package paint provides the building blocks of terminal screens: rows of styled text, tables that
// fit the screen, and bars. The functions are pure. [Line.Render] cuts a row to the width of the
// screen.
package paint

import (
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
)

// Span is a piece of a row in one style. An empty style means plain text.
type Span struct {
	Text  string
	Style display.Style
}

// Line is one row of the screen.
type Line []Span

// Plain returns a row without a style.
func Plain(text string) Line { return Line{{Text: text}} }

// Styled returns a row in one style.
func Styled(style display.Style, text string) Line { return Line{{text, style}} }

// Width returns the number of terminal columns that the row takes.
func (l Line) Width() int {
	n := 0
	for _, s := range l {
		n += cells.Width(s.Text)
	}
	return n
}

// Render returns the row as terminal output, cut to width columns. If color is false, it leaves out
// the styles.
func (l Line) Render(width int, color bool) string {
	var b strings.Builder
	for _, s := range l {
		text := cells.Truncate(s.Text, width)
		width -= cells.Width(text)
		if color {
			text = s.Style.Paint(text)
		}
		b.WriteString(text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Ends returns a row with the text left at its start and the text right at its end. If the two do
// not fit into width together, it returns only left.
func Ends(left, right Line, width int) Line {
	gap := width - left.Width() - right.Width()
	if gap < 2 {
		return left
	}
	return append(append(left, Span{Text: strings.Repeat(" ", gap)}), right...)
}

// Wrap makes the text of another program printable and breaks it into at most maxRows rows. If the
// text needs more rows, the last row is "…". A word that is longer than a row continues in the next
// row.
func Wrap(text string, width, maxRows int) []string {
	var rows []string
	for _, paragraph := range strings.Split(display.PrintableLines(text), "\n") {
		row := ""
		for _, word := range words(paragraph, width) {
			if row != "" && cells.Width(row)+1+cells.Width(word) > width {
				rows = append(rows, row)
				row = ""
			}
			if len(rows) > maxRows {
				break
			}
			row = strings.TrimLeft(row+" "+word, " ")
		}
		if row != "" {
			rows = append(rows, row)
		}
		if len(rows) > maxRows {
			return append(rows[:maxRows-1], "…")
		}
	}
	return rows
}

// HangingIndent breaks a line into rows of at most width columns. The first row keeps the indent of
// the line; the parameter columns says how much further the other rows are indented. If the other
// rows would have room for fewer than 20 columns of text, HangingIndent does not break the line.
func HangingIndent(line string, width, columns int) []string {
	further := strings.Repeat(" ", columns)
	text := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(text)]
	if room := width - len(indent) - len(further); room < 20 || cells.Width(line) <= width {
		return []string{line}
	}
	first := cells.FittingBytes(text, width-len(indent))
	if at := strings.LastIndexByte(text[:first], ' '); at > 0 && text[first] != ' ' {
		first = at
	}
	rows := []string{indent + text[:first]}
	for _, row := range Wrap(text[first:], width-len(indent)-len(further), len(line)) {
		rows = append(rows, indent+further+row)
	}
	return rows
}

// words returns the words of a paragraph. It splits words that are wider than width.
func words(paragraph string, width int) (list []string) {
	for _, word := range strings.Fields(paragraph) {
		for width > 1 && cells.Width(word) > width {
			n := cells.FittingBytes(word, width)
			list = append(list, word[:n])
			word = word[n:]
		}
		list = append(list, word)
	}
	return list
}
