package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gaffer/internal/text/cells"
)

// look is the appearance of text: its colour and style.
type look struct {
	bold, faint, reverse bool
	color                int // ANSI code of the colour, 30 to 37 or 90 to 97; 0 means the terminal's default
}

// piece is a part of a terminal line whose text has the same look everywhere.
type piece struct {
	text  string
	cells int
	look  look
}

const (
	foreground = "#d6deeb"
	background = "#0f1720"
)

// palette maps the ANSI codes of text colours to SVG colours.
var palette = map[int]string{
	30: "#2b3440", 31: "#ff6b6b", 32: "#4ade80", 33: "#fbbf24", 34: "#60a5fa", 35: "#c084fc", 36: "#22d3ee", 37: "#d6deeb",
	90: "#7c8896", 91: "#ff8f8f", 92: "#86efac", 93: "#fde047", 94: "#93c5fd", 95: "#d8b4fe", 96: "#67e8f9", 97: "#ffffff",
}

func (l look) colors() (fill, back string) {
	color := palette[l.color]
	if l.reverse {
		if color == "" {
			color = foreground
		}
		return fmt.Sprintf(` style="fill:%s"`, background), color
	}
	if color != "" {
		fill = fmt.Sprintf(` style="fill:%s"`, color)
	}
	return fill, ""
}

func (l look) class() string {
	var names []string
	if l.bold {
		names = append(names, "b")
	}
	if l.faint {
		names = append(names, "f")
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}

var sequence = regexp.MustCompile(`\x1b\[([0-9;:]*)m|\x1b[()][A-Z0-9]|[\x0e\x0f]`)

// parse splits a terminal line at the positions where the look of its text changes. The parameter
// start is the look at the beginning of the line. The returned look is that at the end of the line,
// with which the next line begins.
func parse(line string, start look) ([]piece, look) {
	var row []piece
	add := func(text string) {
		if text != "" {
			row = append(row, piece{text, cells.Width(text), start})
		}
	}
	for {
		at := sequence.FindStringSubmatchIndex(line)
		if at == nil {
			add(line)
			return row, start
		}
		add(line[:at[0]])
		if at[2] >= 0 {
			start = start.after(line[at[2]:at[3]])
		}
		line = line[at[1]:]
	}
}

// after returns the look of the text that follows an ANSI escape sequence for colours and styles.
// The string parameters holds the numbers of the sequence, such as "1;31". after ignores unknown
// numbers.
func (l look) after(parameters string) look {
	for word := range strings.SplitSeq(parameters, ";") {
		n, _ := strconv.Atoi(word) // ignore the error: an empty parameter means 0
		switch {
		case n == 0:
			l = look{}
		case n == 1:
			l.bold = true
		case n == 2:
			l.faint = true
		case n == 7:
			l.reverse = true
		case n == 22:
			l.bold, l.faint = false, false
		case n == 27:
			l.reverse = false
		case n == 39:
			l.color = 0
		case palette[n] != "":
			l.color = n
		}
	}
	return l
}
