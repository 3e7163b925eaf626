package plan

import (
	"strings"
	"unicode/utf8"

	"gaffer/statefile/lazyregexp"
)

// Patterns for lines that are drawn beside the ids of a row or between them.
var (
	lineIntoRow = lazyregexp.New(`[<◀←◄]\s*[─━—=-]+[┤┘╯┛|+]?`)
	lineFromRow = lazyregexp.New(`[─━—=-]{2,}\s*[┐┤┘╮┓|+]`)
	// corner matches the place where a line to the right of a row changes direction. ASCII
	// characters match only at the end of the text line, because elsewhere they may be part of a
	// description.
	corner = lazyregexp.New(`[─━—=-]([┐┤┘╮┓╯┛])|[─━—=-]{2,}([|+\\/])[\s|│┃]*$`)
	join   = lazyregexp.New(`[─━—=-][┼├┤┴┐┘┫┣┻╋╯╮┛┓]`)
	upward = lazyregexp.New(`[┌╭┏][─━—=-]+[>▶→►]\s*$`)
)

// followSideLine reads the line that is drawn to the right of a row of ids, if there is one. If the
// line starts at the row, followSideLine adds the ids of the row to d.sideLine. If the line leads
// into the row, the row waits for the ids in d.sideLine.
func (d *graphDrawing) followSideLine(tokens []drawnToken, line string, at position) {
	last := tokens[len(tokens)-1]
	rest := blankParens(line[last.end:])
	if lineIntoRow().MatchString(rest) {
		for _, t := range tokens {
			for _, id := range d.sideLine {
				d.wait(t.id, id, at)
			}
		}
		if strings.ContainsAny(rest, "┘╯┛") {
			d.sideLine = nil
		}
		if len(d.openLines) > 0 {
			d.openLines = map[int][]position{}
		}
		return
	}
	turn := cornerIn(rest)
	if turn < 0 && !lineFromRow().MatchString(rest) {
		return
	}
	d.sideLine = append(d.sideLine, idsOf(tokens)...)
	if turn < 0 || strings.ContainsAny(line[:tokens[0].start], "┌╭┏└╰┗") {
		// No vertical line starts here. The characters found belong to a text, to a frame, or to
		// the last branch of a row.
		return
	}
	column := last.column + len(last.id) + turn
	d.openLines[column] = append(d.openLines[column], last.position(at))
}

// cornerIn returns the column in text at which a drawn line changes direction, or -1 if there is
// none.
func cornerIn(text string) int {
	m := corner().FindStringSubmatchIndex(text)
	if m == nil {
		return -1
	}
	return utf8.RuneCountInString(text[:max(m[2], m[4])])
}

// blankParens replaces texts in parentheses by spaces of the same length, so that columns do not
// change.
func blankParens(s string) string {
	return inParens().ReplaceAllStringFunc(s, func(s string) string { return strings.Repeat(" ", utf8.RuneCountInString(s)) })
}

// endLines removes the vertical lines that end at an id of this row from d.openLines. It reports a
// problem if an arrow leads to the row from below.
func (d *graphDrawing) endLines(tokens []drawnToken, line string, at position) {
	if upward().MatchString(line[:tokens[0].start]) {
		d.reader.report(tokens[0].position(at), "the arrow to %s comes from below, and a graph is read from top to bottom, want an edge such as 001 -> 002", tokens[0].id)
	}
	for _, t := range tokens {
		d.markConnected(t.column, t.column+len(t.id)-1)
	}
}

// endTurningLines reads a line of text that has no ids. If a vertical line of the drawing turns or
// ends in an arrow there, endTurningLines removes it from d.openLines.
func (d *graphDrawing) endTurningLines(line string) {
	column := 0
	for _, r := range line {
		if !strings.ContainsRune(" \t|│┃", r) {
			d.markConnected(column, column)
		}
		column++
	}
}

// markConnected removes vertical lines from d.openLines: those in the columns first to last, and
// those in the two adjacent columns, because drawings are often imprecise.
func (d *graphDrawing) markConnected(first, last int) {
	for column := first - 1; column <= last+1; column++ {
		delete(d.openLines, column)
	}
}

// reportOpenLines reports a problem for each line that starts at the right of a row but leads into
// no other row, because it is unknown which row waits.
func (d *graphDrawing) reportOpenLines() {
	for _, places := range d.openLines {
		for _, at := range places {
			d.reader.report(at, "the line at the right of this row leads into no row below, want <───┘ at the right of one, or an edge such as 001, 002 -> 003")
		}
	}
}
