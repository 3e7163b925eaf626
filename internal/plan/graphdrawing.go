package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gaffer/statefile/lazyregexp"
)

// graphDrawing reads a dependency graph that is drawn with characters, top to bottom. In
// this example, 002 waits for 001. 003 and 004 wait for 002. 005 waits for 003 and 004,
// and also for 001, because of the line at the right. 006 and 007 wait for 005.
//
//	001 (schema) ────┐
//	    |            |
//	    v            |
//	002 (writer)     |
//	    |            |
//	003     004      |
//	    v            |
//	005 <────────────┘
//	 ├──> 006
//	 └──> 007
//
// The ids of a row wait for the ids of the row above it. A text line such as "├──> 006" is a
// branch. All branches below a row together form one row. Arrows between ids on the same text line
// divide these ids into groups: the group at the head of an arrow waits for the group at its tail.
// So a list of edges such as "001, 002 -> 003" is read correctly too. If drawn lines join in a way
// that these rules would misread, that is reported as a problem.
type graphDrawing struct {
	reader  *reporter
	heading position
	first   int // line number at which the code block with the drawing starts; 0 if there is none

	ids     []string
	at      map[string]position
	names   map[string]string
	after   map[string][]string
	afterAt map[string][]position

	// above holds the ids for which the next row waits: those of the last row that was read. Of a row
	// with an arrow, such as "001 -> 002", it holds only the ids at the arrow's head. If lines such as
	// "├──> 006" follow the row, the next row waits for the ids in the field branches instead.
	above    []string
	branches []string // ids of the branches below the last row; together they form one row
	trunks   []trunk  // groups of ids from which a branch may start, from left to right
	// sideLine holds the ids of the rows at which a line at the right side of the drawing starts. A
	// row into which that line leads waits for these ids.
	sideLine []string
	// openLines holds the vertical lines at the right side of the drawing that lead into no row so
	// far. The key is the column, and the value has the positions of the ids at which the lines
	// start.
	openLines map[int][]position
	linked    bool // a line of connecting characters, such as | or v, comes before the next row
	edges     map[edge]bool
}

type edge struct{ from, to string }

type trunk struct {
	column int
	ids    []string
}

func newGraphDrawing(r *reporter, heading position) *graphDrawing {
	return &graphDrawing{
		reader: r, heading: heading, at: map[string]position{}, names: map[string]string{},
		after: map[string][]string{}, afterAt: map[string][]position{}, edges: map[edge]bool{}, openLines: map[int][]position{},
	}
}

func (d *graphDrawing) has(id string) bool { _, ok := d.at[id]; return ok }

var (
	drawnID    = lazyregexp.New(`\d{3}(?:-\d{2})?`)
	almostID   = lazyregexp.New(`\d+-\d+`)
	drawnName  = lazyregexp.New(`^\s*\(([^()]*)\)`)
	inParens   = lazyregexp.New(`\([^()]*\)`)
	branchMark = lazyregexp.New(`[├└╰┣┗+|\\` + "`" + `][─━—=-]+[>▶→►]?\s*$`)
	connector  = lazyregexp.New(`^[\s|│┃vV↓▼/\\─━┌┐└┘├┤┬┴┼+<>*-]+$`)
)

const drawingCharacters = "─━│┃┌┐└┘├┤┬┴┼╭╮╯╰┣┗┏┓┛┫|/\\<>▶◀→←►◄+*=-[](),&:"

// Limits of a drawing.
const (
	maxDrawnLine = 4096    // maximum length of a line in bytes
	maxEdges     = 200_000 // maximum number of edges; two rows of n and m ids can have n×m edges
)

// drawnToken is an id that was found on a line of the drawing.
type drawnToken struct {
	id         string
	start, end int // offsets in the line, in bytes
	column     int // number of characters on the line before the id
}

// line reads one line of text of the drawing. pos is the position of the line in the file.
func (d *graphDrawing) line(line string, pos position) {
	if len(d.edges) > maxEdges {
		return
	}
	if len(line) > maxDrawnLine {
		d.reader.report(pos, "found a line of %d bytes in the graph, want %d at most", len(line), maxDrawnLine)
		return
	}
	tokens := d.tokens(line, pos)
	if len(tokens) == 0 {
		if strings.TrimSpace(line) != "" && connector().MatchString(line) {
			d.linked = true
			d.endTurningLines(line)
		}
		return
	}
	known := map[string]bool{}
	for _, t := range tokens {
		known[t.id] = d.has(t.id)
		d.declare(t, line, pos)
	}
	arrows := d.between(tokens, line, pos)
	before := line[:tokens[0].start]
	if m := branchMark().FindStringIndex(before); m != nil {
		d.branch(tokens, arrows, utf8.RuneCountInString(before[:m[0]]), pos)
	} else {
		d.row(tokens, arrows, known, pos)
	}
	d.endLines(tokens, line, pos)
	d.followSideLine(tokens, line, pos)
	d.linked = false
	d.recordTrunks(arrows.groups)
}

// recordTrunks adds the groups of ids on a text line to d.trunks, so that branches below the line
// can start from them. Before that, it removes the groups of earlier lines that begin in the column
// of the first new group or to the right of it.
func (d *graphDrawing) recordTrunks(groups [][]drawnToken) {
	column := groups[0][0].column
	for len(d.trunks) > 0 && d.trunks[len(d.trunks)-1].column >= column {
		d.trunks = d.trunks[:len(d.trunks)-1]
	}
	for _, group := range groups {
		d.trunks = append(d.trunks, trunk{group[0].column, idsOf(group)})
	}
}

// tokens returns the ids on a line of text. A number is an id only if it is at the start of the
// line, after another id, after a drawing character, or after two or more spaces. Numbers elsewhere
// are ignored, because they belong to a name or a comment.
func (d *graphDrawing) tokens(line string, at position) []drawnToken {
	plain := inParens().ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
	d.misspelt(plain, at)
	var tokens []drawnToken
	column, counted := 0, 0
	for _, m := range drawnID().FindAllStringIndex(plain, -1) {
		if joined(plain, m[0], m[1]) || !d.standsAlone(plain, m[0], tokens) {
			continue
		}
		column, counted = column+utf8.RuneCountInString(line[counted:m[0]]), m[0]
		tokens = append(tokens, drawnToken{plain[m[0]:m[1]], m[0], m[1], column})
	}
	return tokens
}

// joined reports whether line[start:end] is only a part of a longer word. A hyphen continues a word
// only if a digit follows: 001 is joined in 001-2, but not in 001-setup.
func joined(line string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(line[:start])
	after, _ := utf8.DecodeRuneInString(line[end:])
	return start > 0 && isWordRune(before) || end < len(line) && (isWordRune(after) || after == '-' && end+1 < len(line) && isWordRune(rune(line[end+1])) && !isName(line[end:]))
}

// isName reports whether rest, the text after an id, continues a name and not a number. For
// example, it returns true for -setup in 001-setup, and false for -02 in 001-02.
func isName(rest string) bool {
	return len(rest) > 1 && !strings.ContainsRune("0123456789", rune(rest[1]))
}

func isWordRune(r rune) bool {
	return r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

func (d *graphDrawing) standsAlone(line string, start int, before []drawnToken) bool {
	text := strings.TrimRight(line[:start], " \t")
	if text == "" || start-len(text) > 1 || len(before) > 0 && before[len(before)-1].end == len(text) {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune(drawingCharacters, last)
}

// misspelt reports a problem for each word on a line that looks like an id but is not valid, for
// example 1-02.
func (d *graphDrawing) misspelt(line string, at position) {
	for _, m := range almostID().FindAllStringIndex(line, -1) {
		word := line[m[0]:m[1]]
		if drawnID().FindString(word) == word || joined(line, m[0], m[1]) {
			continue
		}
		a, b, _ := strings.Cut(word, "-")
		d.reader.report(position{line: at.line, column: utf8.RuneCountInString(line[:m[0]]) + 1}, "%.40q is no id, want three digits, or three and two such as 001-02", word)
		x, errX := strconv.Atoi(a)
		y, errY := strconv.Atoi(b)
		if errX == nil && errY == nil && x < 1000 && y < 100 {
			d.reader.problems[len(d.reader.problems)-1].Suggestion = fmt.Sprintf("%03d-%02d", x, y)
		}
	}
}

func (d *graphDrawing) declare(t drawnToken, line string, at position) {
	if m := drawnName().FindStringSubmatch(line[t.end:]); m != nil && d.names[t.id] == "" {
		d.names[t.id] = strings.TrimSpace(m[1])
	}
	if !d.has(t.id) {
		d.ids = append(d.ids, t.id)
		d.at[t.id] = t.position(at)
	}
}

func (t drawnToken) position(at position) position {
	return position{line: at.line, column: t.column + 1}
}

// arrows describes the arrows on a line of text.
type arrows struct {
	groups [][]drawnToken  // the ids of the line, divided into groups by the arrows
	waits  map[string]bool // ids to which an arrow points
	leads  map[string]bool // ids from which an arrow starts
}

// between finds the arrows between the ids of a line, and adds the graph's edges for them.
func (d *graphDrawing) between(tokens []drawnToken, line string, at position) arrows {
	a := arrows{groups: [][]drawnToken{{tokens[0]}}, waits: map[string]bool{}, leads: map[string]bool{}}
	var back []bool // for each arrow: whether it points to the left
	for i := 1; i < len(tokens); i++ {
		gap := inParens().ReplaceAllString(line[tokens[i-1].end:tokens[i].start], "")
		right := strings.ContainsAny(gap, ">▶→►")
		if last := len(a.groups) - 1; !right && !strings.ContainsAny(gap, "<◀←◄") {
			a.groups[last] = append(a.groups[last], tokens[i])
			continue
		}
		if join().MatchString(gap) {
			d.reader.report(tokens[i-1].position(at), "lines join behind %s, which is not followed, want all that is waited for before one arrow, such as 001, 002 -> 003", tokens[i-1].id)
		}
		a.groups, back = append(a.groups, []drawnToken{tokens[i]}), append(back, !right)
	}
	for i, leftwards := range back {
		if leftwards {
			d.addEdges(a, a.groups[i+1], a.groups[i], at)
		} else {
			d.addEdges(a, a.groups[i], a.groups[i+1], at)
		}
	}
	return a
}

// addEdges adds an edge from each id in sources to each id in targets. An id that is in both lists
// gets no edge to itself. The exception is an arrow from one id to the same id: its edge is added,
// so that a later check reports that the task waits for itself.
func (d *graphDrawing) addEdges(a arrows, sources, targets []drawnToken, at position) {
	for _, t := range targets {
		a.waits[t.id] = true
		for _, f := range sources {
			a.leads[f.id] = true
			if f.id != t.id || len(sources)+len(targets) == 2 {
				d.wait(t.id, f.id, at)
			}
		}
	}
}

// row reads a text line that is not a branch. It adds an edge from each id of the row above to each
// id of this text line. These ids get no such edge: ids that were drawn before, because they are
// only references; ids to which an arrow points; and all ids of a text line with arrows if no
// connecting line leads to it from above. Then row stores the ids from which no arrow starts in
// d.above, for the next row.
func (d *graphDrawing) row(tokens []drawnToken, a arrows, known map[string]bool, at position) {
	above := d.above
	if len(d.branches) > 0 {
		above = d.branches
	}
	for _, t := range tokens {
		if a.waits[t.id] || known[t.id] || len(a.waits) > 0 && !d.linked {
			continue
		}
		for _, id := range above {
			d.wait(t.id, id, at)
		}
	}
	d.branches, d.above = nil, nil
	for _, t := range tokens {
		if !a.leads[t.id] {
			d.above = append(d.above, t.id)
		}
	}
	d.trunks = nil
}

// branch reads a branch, a text line such as "├──> 006". It adds an edge from each id at which the
// branch starts to each id of this text line, except to ids to which an arrow points. The branch
// starts at the last group of ids in d.trunks that begins in the column of the branch or to the
// left of it. If there is no such group, it starts at the row above.
func (d *graphDrawing) branch(tokens []drawnToken, a arrows, column int, at position) {
	d.markConnected(column, column)
	from := d.above
	for _, t := range d.trunks {
		if t.column <= column {
			from = t.ids
		}
	}
	for _, t := range tokens {
		for _, id := range from {
			if !a.waits[t.id] {
				d.wait(t.id, id, at)
			}
		}
	}
	d.branches = append(d.branches, idsOf(tokens)...)
}

func (d *graphDrawing) wait(id, other string, at position) {
	if id == other && slices.Contains(d.sideLine, id) || d.edges[edge{other, id}] {
		return
	}
	if len(d.edges) > maxEdges {
		return
	}
	d.edges[edge{other, id}] = true
	if len(d.edges) > maxEdges {
		d.reader.report(at, "the graph has more than %d lines from id to id, want fewer", maxEdges)
	}
	d.after[id] = append(d.after[id], other)
	d.afterAt[id] = append(d.afterAt[id], at)
}

func idsOf(tokens []drawnToken) []string {
	ids := make([]string, len(tokens))
	for i, t := range tokens {
		ids[i] = t.id
	}
	return ids
}
