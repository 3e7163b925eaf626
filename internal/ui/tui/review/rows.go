package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/internal/text/worddiff"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// row is one row of the page of a change.
type row struct {
	key        key
	selectable bool       // the user can choose the row
	hunk       bool       // the row is the heading of a hunk
	text       paint.Line // text of the row, if it is not a line of code
	line       fleet.DiffLine
	// pair is the text of the counterpart of a changed line: of the added line that replaces this
	// deleted line, or of the deleted line that this added line replaces. The words that differ
	// between the two lines are highlighted. nil means that there is no counterpart.
	pair *string
}

// key identifies a row, so that the row is found again after the page was read again.
type key struct {
	kind rowKind
	path string
	// old and new are the line numbers of a line of code in the old and the new file. The number is
	// 0 if the file does not have the line.
	old, new int
	comment  string
}

type rowKind int

const (
	plainRow rowKind = iota
	wholeRow         // the row that stands for the whole change; comments on it are below
	fileRow
	codeRow
	commentRow
)

// rows returns all rows of the page: of the overview, or of the shown file.
func (c change) rows(width int) []row {
	width -= 2 // leave room for the sign before the chosen row
	if c.file == 0 {
		return c.overview(width)
	}
	return c.fileRows(c.page.Change.Files[c.file-1], width)
}

func plain(lines ...paint.Line) (rows []row) {
	for _, line := range lines {
		rows = append(rows, row{text: line})
	}
	return rows
}

// section returns the rows of a heading and of a text below it. The text is wrapped and cut to
// maxRows rows. If the text is empty, section returns no rows.
func section(title, text string, width, maxRows int) []row {
	wrapped := paint.Wrap(text, width-2, maxRows)
	if len(wrapped) == 0 {
		return nil
	}
	rows := plain(nil, paint.Styled(display.Bold, title))
	for _, line := range wrapped {
		rows = append(rows, row{text: paint.Plain("  " + line)})
	}
	return rows
}

// overview returns the rows of the overview. It begins with the comments on the whole change and
// the list of files, from which the user opens a file. Then come the agent's summary, the results
// of the checks (commands that verify the change), the agent's requests that were denied, the
// messages to the agent and the prompt.
func (c change) overview(width int) []row {
	files := c.page.Change.Files
	title := "All files"
	if len(files) == 0 {
		title = "The task has changed no file."
		if c.since {
			title = "Nothing has changed since your last review."
		}
	}
	rows := []row{{key: key{kind: wholeRow}, selectable: true, text: paint.Styled(display.Bold, title)}}
	rows = append(rows, c.blocks("", width)...)
	t := paint.Table{Columns: []paint.Column{{Max: 9}, {Max: 200, Min: 12, Flex: true}, {Max: 14, Right: true}, {Max: 22, Drop: 1}, {Max: 12, Drop: 2}}}
	for _, file := range files {
		t.Add(c.fileCells(file)...)
	}
	for i, line := range t.Rows(max(width, 0)) {
		rows = append(rows, row{key: key{kind: fileRow, path: files[i].Path}, selectable: true, text: line})
	}
	why := " is not in this change any more"
	if c.since {
		why = " has not changed since your last review"
	}
	for _, path := range c.otherPaths() {
		rows = append(rows, plain(nil, paint.Styled(display.Faint, display.Line(path, 200)+why))...)
		rows = append(rows, c.blocks(path, width)...)
	}
	if a := c.page.Task.Attempt; a != nil {
		rows = append(rows, section("The agent says", a.Summary, width, 12)...)
		if len(a.Checks) > 0 {
			rows = append(rows, plain(nil, paint.Styled(display.Bold, "Checks"))...)
		}
		for _, check := range a.Checks {
			mark := paint.Span{Text: "  ✓ ", Style: display.Green}
			if !check.OK {
				mark = paint.Span{Text: "  ✗ ", Style: display.Red}
			}
			took := phrase.Elapsed(time.Duration(check.Millis) * time.Millisecond)
			rows = append(rows, plain(paint.Line{mark, {Text: phrase.Line(check.Command)}, {Text: "  " + took, Style: display.Faint}})...)
			if !check.OK {
				rows = append(rows, plain(paint.Styled(display.Red, fmt.Sprintf("    exit code %d: %s", check.Exit, phrase.Line(check.Output))))...)
			}
		}
		rows = append(rows, section("Was denied", strings.Join(a.Denied, "\n"), width, 6)...)
	}
	for _, m := range c.page.Messages {
		state := "delivered"
		switch {
		case m.Withdrawn:
			state = "withdrawn"
		case m.Waiting():
			state = "waits until the agent takes it"
		}
		rows = append(rows, section("Message, "+state, m.Text, width, 4)...)
	}
	rows = append(rows, section("Prompt", c.page.Task.Prompt, width, 12)...)
	return rows
}

// statusSigns maps the status of a file to the letter that git uses for it.
var statusSigns = map[string]string{"added": "A", "changed": "M", "deleted": "D", "renamed": "R", "copied": "C", "type": "T"}

// fileCells returns the cells of a file in the table of the overview.
func (c change) fileCells(file fleet.ChangeFile) []paint.Span {
	sign := statusSigns[file.Status]
	style := display.Style("")
	switch file.Status {
	case "added":
		style = display.Green
	case "deleted":
		style = display.Red
	}
	path := display.Printable(file.Path)
	if file.From != "" {
		path = display.Printable(file.From) + " → " + path
	}
	size := fmt.Sprintf("+%d −%d", file.Added, file.Removed)
	if file.Binary {
		size = "binary"
	}
	viewed := paint.Span{}
	switch c.page.Review.Viewed[file.Path] {
	case "":
	case file.Digest:
		viewed = paint.Span{Text: "✓ viewed", Style: display.Green}
	default:
		viewed = paint.Span{Text: "~ changed since viewed", Style: display.Yellow}
	}
	comments := ""
	if n := len(c.commentsOf(file.Path, file.From)); n > 0 {
		comments = phrase.Count(n, "comment")
	}
	return []paint.Span{{Text: sign, Style: style}, {Text: path}, {Text: size}, viewed, {Text: comments, Style: display.Yellow}}
}

// fileRows returns the rows of a file: a heading, the comments on the file as a whole or on lines
// that are not shown, and the hunks with the other comments below their lines.
func (c change) fileRows(file fleet.ChangeFile, width int) []row {
	cellsOf := c.fileCells(file)
	heading := paint.Line{{Text: cellsOf[0].Text + " ", Style: cellsOf[0].Style}, {Text: cellsOf[1].Text, Style: display.Bold}, {Text: "  " + cellsOf[2].Text + "  "}, cellsOf[3]}
	heading = paint.Ends(heading, paint.Styled(display.Faint, fmt.Sprintf("file %d of %d", c.file, len(c.page.Change.Files))), width)
	rows := []row{{key: key{kind: fileRow, path: file.Path}, selectable: true, text: heading}}
	if file.OldMode != "" && file.NewMode != "" && file.OldMode != file.NewMode {
		rows = append(rows, plain(paint.Styled(display.Faint, "mode "+display.Line(file.OldMode, 10)+" → "+display.Line(file.NewMode, 10)))...)
	}
	d := c.diffs[file.Path]
	lines := d.code(file.Path)
	below := map[int][]row{} // rows of comments, by the index of the line above them
	var above []row
	for _, one := range c.commentsOf(file.Path, file.From) {
		at := -1
		if one.anchor.First > 0 {
			at = slices.IndexFunc(lines, func(r row) bool {
				if one.anchor.Side == fleet.OldSide {
					return r.key.old == one.anchor.Last && r.key.kind == codeRow
				}
				return r.key.new == one.anchor.Last && r.key.kind == codeRow
			})
		}
		switch {
		case at >= 0:
			below[at] = append(below[at], one.rows(width)...)
		default:
			one.elsewhere = one.anchor.First > 0 && d.read
			above = append(above, one.rows(width)...)
		}
	}
	rows = append(rows, above...)
	switch {
	case d.readError != "":
		rows = append(rows, plain(paint.Styled(display.Red, "✗ cannot be read: "+phrase.Line(d.readError)))...)
	case !d.read:
		rows = append(rows, plain(paint.Styled(display.Faint, "reading the file …"))...)
	case d.file.TooLarge != "":
		rows = append(rows, plain(paint.Styled(display.Yellow, "not shown: "+phrase.Line(d.file.TooLarge)))...)
	case d.file.Binary:
		rows = append(rows, plain(paint.Styled(display.Faint, "a binary file: "+phrase.Sizes(d.file.ChangeFile)))...)
	case len(lines) == 0:
		rows = append(rows, plain(paint.Styled(display.Faint, "no line has changed"))...)
	}
	for i, line := range lines {
		rows = append(append(rows, line), below[i]...)
	}
	return rows
}

// code returns the rows of the hunks of a diff.
func (d diff) code(path string) (rows []row) {
	for _, h := range d.file.Hunks {
		title := fmt.Sprintf("@@ −%d,%d +%d,%d @@ ", h.OldFirst, h.OldLines, h.NewFirst, h.NewLines)
		rows = append(rows, row{hunk: true, key: key{path: path, old: h.OldFirst, new: h.NewFirst}, text: paint.Styled("36", title+display.Line(h.Section, 80))})
		old, now := h.OldFirst, h.NewFirst
		for i, line := range h.Lines {
			r := row{key: key{kind: codeRow, path: path}, selectable: true, line: line, pair: pairOf(h.Lines, i)}
			if line.Op != "+" {
				r.key.old = old
				old++
			}
			if line.Op != "-" {
				r.key.new = now
				now++
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// pairOf returns the counterpart of the changed line i, or nil if there is none. In a block of
// deleted lines followed by added lines, the first deleted line is the counterpart of the first
// added line, and so on.
func pairOf(lines []fleet.DiffLine, i int) *string {
	op := lines[i].Op
	if op == " " {
		return nil
	}
	first := i
	for first > 0 && lines[first-1].Op == op {
		first--
	}
	nth := i - first
	if op == "+" {
		// The counterpart of an added line is among the deleted lines above the block of added
		// lines.
		start := first
		for start > 0 && lines[start-1].Op == "-" {
			start--
		}
		if start+nth < first {
			return &lines[start+nth].Text
		}
		return nil
	}
	end := i
	for end < len(lines) && lines[end].Op == "-" {
		end++
	}
	if end+nth < len(lines) && slices.IndexFunc(lines[end:end+nth+1], func(l fleet.DiffLine) bool { return l.Op != "+" }) < 0 {
		return &lines[end+nth].Text
	}
	return nil
}

// numberWidth returns the width of a column of line numbers, in terminal columns.
func numberWidth(rows []row) int {
	most := 0
	for _, r := range rows {
		if r.key.kind == codeRow {
			most = max(most, r.key.old, r.key.new)
		}
	}
	return max(len(fmt.Sprint(most)), 3)
}

// Styles of changed words: reverse video in the colour of their line.
const (
	removedWord display.Style = "31;7"
	addedWord   display.Style = "32;7"
)

// paint returns the row of a line of code. The parameter numbers is the width of a column of line
// numbers, and sideways is the number of columns of the text that are cut off at the left. If
// narrow is true, the row has one column of line numbers instead of two.
func (r row) paint(numbers, sideways int, narrow bool) paint.Line {
	number := func(n int) string {
		if n == 0 {
			return strings.Repeat(" ", numbers)
		}
		return cells.FillLeft(fmt.Sprint(n), numbers)
	}
	gutter := number(r.key.old) + " " + number(r.key.new)
	if narrow {
		gutter = number(cmp.Or(r.key.new, r.key.old))
	}
	style, word := display.Style(""), display.Style("")
	switch r.line.Op {
	case "+":
		style, word = display.Green, addedWord
	case "-":
		style, word = display.Red, removedWord
	}
	pieces := []worddiff.Piece{{Text: r.line.Text}}
	if r.pair != nil {
		if r.line.Op == "-" {
			pieces, _ = worddiff.Compare(r.line.Text, *r.pair)
		} else {
			_, pieces = worddiff.Compare(*r.pair, r.line.Text)
		}
	}
	line := paint.Line{{Text: gutter + " ", Style: display.Faint}, {Text: r.line.Op + " ", Style: style}}
	for _, p := range pieces {
		text := display.Printable(strings.ReplaceAll(strings.ReplaceAll(p.Text, "\t", "    "), "\r", "␍"))
		if cut := min(sideways, cells.Width(text)); cut > 0 {
			sideways -= cut
			text = ansi.Cut(text, cut, cells.Width(text))
		}
		if p.Changed {
			line = append(line, paint.Span{Text: text, Style: word})
		} else {
			line = append(line, paint.Span{Text: text, Style: style})
		}
	}
	if r.line.NoEOL {
		line = append(line, paint.Span{Text: "  no newline at the end", Style: display.Faint})
	}
	return line
}
