package plan

import (
	"strings"
	"unicode/utf8"

	"gaffer/statefile/lazyregexp"
)

// Patterns for the lines of a drawing at the right of a row.
var (
	railIn  = lazyregexp.New(`[<◀←◄]\s*[─━—=-]+[┤┘╯┛|+]?`)
	railOut = lazyregexp.New(`[─━—=-]{2,}\s*[┐┤┘╮┓|+]`)
	// corner matches where a line at the right turns. Characters other than box
	// characters count only at the end of the line, because they may be part of a
	// text.
	corner = lazyregexp.New(`[─━—=-]([┐┤┘╮┓╯┛])|[─━—=-]{2,}([|+\\/])[\s|│┃]*$`)
	join   = lazyregexp.New(`[─━—=-][┼├┤┴┐┘┫┣┻╋╯╮┛┓]`)
	upward = lazyregexp.New(`[┌╭┏][─━—=-]+[>▶→►]\s*$`)
)

// side follows the line at the right of a row, into the row or out of it.
func (d *drawing) side(tokens []drawnToken, line string, at position) {
	last := tokens[len(tokens)-1]
	rest := blankParens(line[last.end:])
	if railIn().MatchString(rest) {
		for _, t := range tokens {
			for _, id := range d.rail {
				d.wait(t.id, id, at)
			}
		}
		if strings.ContainsAny(rest, "┘╯┛") {
			d.rail = nil
		}
		if len(d.loose) > 0 {
			d.loose = map[int][]position{}
		}
		return
	}
	turn := cornerIn(rest)
	if turn < 0 && !railOut().MatchString(rest) {
		return
	}
	d.rail = append(d.rail, idsOf(tokens)...)
	if turn < 0 || strings.ContainsAny(line[:tokens[0].start], "┌╭┏└╰┗") {
		return // a text, a frame, or the last branch of a trunk
	}
	column := last.column + len(last.id) + turn
	d.loose[column] = append(d.loose[column], last.place(at))
}

// cornerIn returns the column in which a line turns, or -1.
func cornerIn(rest string) int {
	m := corner().FindStringSubmatchIndex(rest)
	if m == nil {
		return -1
	}
	return utf8.RuneCountInString(rest[:max(m[2], m[4])])
}

// blankParens replaces text in parentheses by spaces, so that columns stay the same.
func blankParens(s string) string {
	return inParens().ReplaceAllStringFunc(s, func(s string) string { return strings.Repeat(" ", utf8.RuneCountInString(s)) })
}

// under marks the lines at the right that end in this row from above.
func (d *drawing) under(tokens []drawnToken, line string, at position) {
	if upward().MatchString(line[:tokens[0].start]) {
		d.reader.report(tokens[0].place(at), "the arrow to %s comes from below, and a graph is read from top to bottom, want an edge such as 001 -> 002", tokens[0].id)
	}
	for _, t := range tokens {
		d.led(t.column, t.column+len(t.id)-1)
	}
}

// turns marks the lines at the right that turn or end in an arrow on a line without
// ids.
func (d *drawing) turns(line string) {
	column := 0
	for _, r := range line {
		if !strings.ContainsRune(" \t|│┃", r) {
			d.led(column, column)
		}
		column++
	}
}

// led marks the vertical lines in these columns as connected. It accepts one column
// of deviation, because drawings are often imprecise.
func (d *drawing) led(from, to int) {
	for column := from - 1; column <= to+1; column++ {
		delete(d.loose, column)
	}
}

// end reports the lines at the right that reach no row, because their target is
// unknown.
func (d *drawing) end() {
	for _, places := range d.loose {
		for _, at := range places {
			d.reader.report(at, "the line at the right of this row leads into no row below, want <───┘ at the right of one, or an edge such as 001, 002 -> 003")
		}
	}
}
