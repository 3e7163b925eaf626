package review

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
)

// list is the screen with the list of a run's changes.
type list struct {
	run       string
	changes   Changes
	read      bool
	readError string // why the last read of the list failed; empty if it succeeded
	cursor    string // id of the chosen task; empty means the first task
	top       int
}

// index returns the index of the chosen entry. If that entry has disappeared, it returns 0.
func (l list) index() int {
	return max(slices.IndexFunc(l.changes.Entries, func(e Entry) bool { return e.Task.ID == l.cursor }), 0)
}

func (l list) settle(f frame) list {
	room := max(f.height-len(l.above(f.width)), 1)
	at := l.index()
	l.top = max(min(l.top, at), at-room+1, 0)
	return l
}

// above returns the rows above the list of changes. They show errors and an overview.
func (l list) above(width int) (rows []paint.Line) {
	if l.readError != "" {
		rows = append(rows, paint.Styled(display.Red, "✗ cannot be read: "+phrase.Line(l.readError)))
		if l.read {
			rows = append(rows, paint.Styled(display.Faint, "what is shown was read before"))
		}
	}
	switch {
	case !l.read && l.readError == "":
		rows = append(rows, paint.Styled(display.Faint, "reading the changes …"))
	case l.read && len(l.changes.Entries) == 0:
		rows = append(rows, paint.Plain("No task of this run has a worktree, so there is no change to review."))
	case l.read:
		for _, line := range paint.Wrap(Overview(l.changes.Entries), width, 3) {
			rows = append(rows, paint.Plain(line))
		}
		rows = append(rows, nil)
	}
	return rows
}

func (l list) view(f frame) []paint.Line {
	t := paint.Table{Columns: []paint.Column{
		{Max: 16}, {Max: 24}, {Max: 11, Drop: 6}, {Max: 8, Right: true, Drop: 5}, {Max: 14, Drop: 8}, {Max: 24, Drop: 4}, {Max: 8, Right: true, Drop: 3}, {Max: 200, Min: 12, Flex: true, Drop: 2},
	}}
	for _, e := range l.changes.Entries {
		t.Add(e.cells()...)
	}
	rows := l.above(f.width)
	room, chosen := max(f.height-len(rows), 0), l.index()
	lines := t.Rows(max(f.width-2, 0))
	for i := l.top; i < min(l.top+room, len(lines)); i++ {
		mark := paint.Span{Text: "  "}
		if i == chosen {
			mark = paint.Span{Text: "▸ ", Style: display.Bold}
		}
		rows = append(rows, append(paint.Line{mark}, lines[i]...))
	}
	return rows
}

func (e Entry) cells() []paint.Span {
	faint := func(text string) paint.Span { return paint.Span{Text: text, Style: display.Faint} }
	files, size, checks, cost := "", "", "", ""
	if a := e.Task.Attempt; a != nil {
		if a.Diff != nil {
			files, size = phrase.Count(a.Diff.Changed, "file"), fmt.Sprintf("+%d −%d", a.Diff.Added, a.Diff.Removed)
		}
		checks, cost = phrase.Checks(a), phrase.Money(a.Spent.USD)
	}
	name := ""
	if e.Task.Name != e.Task.ID {
		name = display.Line(e.Task.Name, 60)
	}
	return []paint.Span{
		badge(e.Review, e.Task),
		{Text: display.Line(e.Task.ID, 40)},
		parts.TaskBadge(e.Task),
		faint(files),
		{Text: size},
		faint(checks),
		faint(cost),
		faint(name),
	}
}

// badge returns the state of a review as a sign, words and a colour. The sign and the words each
// identify the state, so that it is recognised without colours.
func badge(r fleet.Review, t fleet.Task) paint.Span {
	switch r.State {
	case fleet.ReviewCommented:
		return paint.Span{Text: "✎ " + phrase.Count(len(drafts(r)), "comment"), Style: display.Yellow}
	case fleet.ReviewSentBack:
		return paint.Span{Text: "↻ sent back", Style: display.Yellow}
	case fleet.ReviewApproved:
		return paint.Span{Text: "✓ approved", Style: display.Green}
	case fleet.ReviewMerged:
		return paint.Span{Text: "● merged", Style: display.Green}
	case fleet.ReviewDiscarded:
		return paint.Span{Text: "⊘ discarded", Style: display.Faint}
	case fleet.ReviewOpen, "":
		if !t.Status.Final() {
			return paint.Span{Text: "· not ready", Style: display.Faint}
		}
		return paint.Span{Text: "○ to review", Style: display.Bold}
	}
	return paint.Span{Text: "· " + display.Line(string(r.State), 14)}
}

// Overview returns a line about the state of a run's changes, such as "5 changes: 3 to review, 1
// with comments, 1 approved".
func Overview(entries []Entry) string {
	words := []string{"approved", "to review", "with comments", "sent back", "not ready", "merged", "discarded"}
	count := map[string]int{}
	for _, e := range entries {
		word := strings.ReplaceAll(string(e.Review.State), "_", " ")
		switch e.Review.State {
		case fleet.ReviewCommented:
			word = "with comments"
		case fleet.ReviewOpen, "":
			word = "to review"
			if !e.Task.Status.Final() {
				word = "not ready"
			}
		}
		count[word]++
	}
	var facts []string
	for _, word := range words {
		if n := count[word]; n > 0 {
			facts = append(facts, fmt.Sprintf("%d %s", n, word))
		}
	}
	return phrase.Count(len(entries), "change") + ": " + strings.Join(facts, ", ")
}

// PlaceName returns the position of a comment in words, such as "main.go, old lines 3 to 5". The
// line numbers are those of the version of the file on which the comment was written.
func PlaceName(c fleet.Comment) string {
	path := display.Line(c.Path, 60)
	old := ""
	if c.Side == fleet.OldSide {
		old = "old "
	}
	switch {
	case c.Path == "":
		return "the whole change"
	case c.First == 0:
		return path
	case c.Last > c.First:
		return fmt.Sprintf("%s, %slines %d to %d", path, old, c.First, c.Last)
	}
	return fmt.Sprintf("%s, %sline %d", path, old, c.First)
}
