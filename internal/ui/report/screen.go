package report

import (
	"math"
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
)

// Screen describes the terminal on which a report is printed.
type Screen struct {
	// Width is the number of columns. 0 means 80. A report is always between 48 and 140 columns
	// wide.
	Width int
	Color bool // the screen understands escape sequences for colours
	ASCII bool // the screen can show only ASCII
}

// The default, minimum and maximum width of a report, in columns.
const (
	defaultWidth = 80
	minWidth     = 48
	maxWidth     = 140
)

func (s Screen) width() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return min(max(s.Width, minWidth), maxWidth)
}

func (s Screen) paint(style display.Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// outcome is a result of runs, such as "failed". In a stacked bar, each outcome is a part that is
// drawn with a character of its own, so that the parts differ even without colours. sign is this
// character, and ascii replaces it on a screen that shows only ASCII.
type outcome struct {
	name        string
	sign, ascii string
	style       display.Style
}

var outcomes = [...]outcome{
	{"done", "█", "#", display.Green},
	{"failed", "▓", "x", display.Red},
	{"timeout", "▒", "t", display.Yellow},
	{"running", "░", ".", display.Faint},
	{"other", "·", "?", display.Faint},
}

func (s Screen) sign(o outcome) string {
	if s.ASCII {
		return o.ascii
	}
	return o.sign
}

// stacked draws a bar with a part for each outcome of runs. parts holds the number of runs with
// each outcome, and columns is the width of the bar. If all numbers are zero, the bar is empty.
func (s Screen) stacked(parts [len(outcomes)]int, columns int) string {
	var b strings.Builder
	for i, n := range shares(parts[:], columns) {
		b.WriteString(s.paint(outcomes[i].style, strings.Repeat(s.sign(outcomes[i]), n)))
	}
	return b.String()
}

// shares divides the width of a bar, in columns, among its parts, in proportion to their values.
// Each part above zero gets at least one column if there are enough columns.
func shares(parts []int, columns int) []int {
	total, out := 0, make([]int, len(parts))
	for _, n := range parts {
		total += n
	}
	if total == 0 || columns <= 0 {
		return out
	}
	left := columns
	for i, n := range parts {
		if out[i] = n * columns / total; n > 0 {
			out[i] = max(out[i], 1)
		}
		left -= out[i]
	}
	for ; left != 0; left -= sign(left) {
		at := furthestFromShare(parts, out, columns, total, left > 0)
		out[at] += sign(left)
	}
	return out
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}

// furthestFromShare compares the widths of the parts with their exact shares of the columns. If the
// parameter below is true, it returns the index of the part whose width is furthest below its
// share. If below is false, it returns the index of the part whose width is furthest above its
// share; it then ignores parts that are only one column wide.
func furthestFromShare(parts, widths []int, columns, total int, below bool) int {
	at, most := 0, math.Inf(-1)
	for i, n := range parts {
		off := float64(n*columns)/float64(total) - float64(widths[i])
		if !below {
			off = -off
		}
		if n > 0 && off > most && (below || widths[i] > 1) {
			at, most = i, off
		}
	}
	return at
}

// bar draws a bar for the value n. The bar fills all columns if n equals limit. Its length is exact
// to an eighth of a column or, on a screen that shows only ASCII, to a whole column.
func (s Screen) bar(n, limit float64, columns int) string {
	if n <= 0 || limit <= 0 {
		return ""
	}
	eighths := max(int(math.Round(n/limit*float64(columns*8))), 1)
	if s.ASCII {
		return strings.Repeat("#", max(eighths/8, 1))
	}
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return text
}

// level returns a character that shows a value between 0 and 1: a block of this height or, on a
// screen that shows only ASCII, a character whose shape suggests the height.
func (s Screen) level(value float64) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	if s.ASCII {
		levels = []rune("_.:-=+*#")
	}
	at := int(math.Round(value * float64(len(levels)-1)))
	return string(levels[min(max(at, 0), len(levels)-1)])
}

func (s Screen) dash() string {
	if s.ASCII {
		return "-"
	}
	return "–"
}

// cut shortens a text to this number of columns. A shortened text ends with "…" or, on a screen
// that shows only ASCII, with "~".
func (s Screen) cut(text string, columns int) string {
	short := cells.Truncate(text, columns)
	if s.ASCII && short != text {
		return strings.TrimSuffix(short, "…") + "~"
	}
	return short
}

func (s Screen) fill(text string, columns int) string {
	text = s.cut(text, columns)
	return text + strings.Repeat(" ", max(columns-cells.Width(text), 0))
}

// wrap breaks a text into lines of at most this number of columns, between words. A word that is
// longer than a line gets a line of its own and is not broken.
func wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case cells.Width(line)+1+cells.Width(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
