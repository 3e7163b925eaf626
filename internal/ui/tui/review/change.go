package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
	"gaffer/internal/ui/tui/parts"
)

// change is the screen for the change of one task, that is, for everything that the task has
// changed in the repository. It has an overview and a page for each changed file.
type change struct {
	run, task string
	since     bool // show only what has changed since the user's last review
	page      Page
	read      bool
	readError string // why the last read of the change failed; empty if it succeeded
	// diffs holds the diffs that were requested or read, by path. The map is never modified, but
	// replaced by a modified copy, because copies of the struct share it.
	diffs    map[string]diff
	file     int  // number of the shown file, from 1; 0 means the overview
	cursor   key  // the chosen row; the zero key means the first row
	at       int  // index of the chosen row, in case the row disappears
	mark     bool // several lines are chosen: all lines between the rows in the fields from and cursor
	from     key
	top      int
	sideways int // number of columns that the user has scrolled to the right
}

// diff is the diff of a file. It is read when the user opens the file.
type diff struct {
	digest    string
	read      bool
	readError string
	file      fleet.FileChange
}

func (c change) show() Show { return Show{Run: c.run, Task: c.task, Since: c.since} }

// withPage returns the screen with the change in p, which was just read. It keeps the shown file,
// the chosen row, and the diffs of files that have not changed. If the change no longer contains
// the shown file, the screen shows the overview.
func (c change) withPage(p Page) change {
	if p.Change.Run != c.run || p.Change.Task != c.task || (p.Since != "") != c.since {
		return c // p is about a change that is no longer shown
	}
	path := ""
	if c.file > 0 {
		path = c.page.Change.Files[c.file-1].Path
	}
	c.page, c.read, c.readError = p, true, ""
	at := slices.IndexFunc(p.Change.Files, func(f fleet.ChangeFile) bool { return f.Path == path })
	if c.file = at + 1; path != "" && at < 0 {
		c = c.goTo(0)
	}
	kept := map[string]diff{}
	for _, f := range p.Change.Files {
		if d, ok := c.diffs[f.Path]; ok && d.digest == f.Digest && d.readError == "" {
			kept[f.Path] = d
		}
	}
	c.diffs = kept
	return c
}

func (c change) withFile(f File) change {
	d, wanted := c.diffs[f.Of.Path]
	if !wanted || f.Of.Run != c.run || f.Of.Task != c.task || f.Of.Tree != c.page.Change.Tree || f.Of.From != c.page.Since {
		return c
	}
	c.diffs = maps.Clone(c.diffs)
	c.diffs[f.Of.Path] = diff{digest: d.digest, read: true, file: f.Diff}
	return c
}

func (c change) withReadFailure(t ReadFailure) change {
	if t.Task != c.task {
		return c
	}
	if t.Path == "" {
		c.readError = t.Why
		return c
	}
	if d, wanted := c.diffs[t.Path]; wanted && !d.read {
		d.readError = t.Why
		c.diffs = maps.Clone(c.diffs)
		c.diffs[t.Path] = d
	}
	return c
}

// goTo shows the file with this number, counted from 1. If file is 0, it shows the overview.
func (c change) goTo(file int) change {
	c.file = min(max(file, 0), len(c.page.Change.Files))
	c.cursor, c.at, c.top, c.sideways, c.mark = key{}, 0, 0, 0, false
	if c.file > 0 {
		path := c.page.Change.Files[c.file-1].Path
		if d, ok := c.diffs[path]; ok && d.readError != "" {
			// The diff could not be read. Remove it, so that it is requested again.
			c.diffs = maps.Clone(c.diffs)
			delete(c.diffs, path)
		}
	}
	return c
}

// newComment returns a comment without text at the position that the user has chosen: the whole
// change, a file, or lines of code. If a comment is chosen, the new comment has the same position.
// newComment returns false if no row can be chosen.
func (c change) newComment(f frame) (fleet.Comment, bool) {
	rows := c.rows(f.width)
	first, last := c.chosen(rows)
	if first < 0 {
		return fleet.Comment{}, false
	}
	tree, k := c.page.Change.Tree, rows[last].key
	switch k.kind {
	case wholeRow:
		return fleet.Comment{Tree: tree}, true
	case fileRow:
		return fleet.Comment{Path: k.path, Tree: tree}, true
	case commentRow:
		comment, _ := c.comment(k.comment)
		return fleet.Comment{Path: comment.Path, Side: comment.Side, First: comment.First, Last: comment.Last, Tree: comment.Tree, Lines: comment.Lines}, true
	}
	// If some of the chosen lines exist in the new file, comment on those. Otherwise the change
	// deletes all chosen lines, so comment on the lines of the old file.
	at := fleet.Comment{Path: k.path, Side: fleet.OldSide, Tree: c.page.Since}
	if at.Tree == "" {
		at.Tree = c.page.Change.Base
	}
	chosen := slices.DeleteFunc(slices.Clone(rows[first:last+1]), func(r row) bool { return r.key.kind != codeRow || r.key.new == 0 })
	if len(chosen) > 0 {
		at.Side, at.Tree = fleet.NewSide, tree
	} else {
		chosen = slices.DeleteFunc(slices.Clone(rows[first:last+1]), func(r row) bool { return r.key.kind != codeRow })
	}
	var lines []string
	for _, r := range chosen {
		n := r.key.new
		if at.Side == fleet.OldSide {
			n = r.key.old
		}
		if at.First == 0 {
			at.First = n
		}
		at.Last = n
		lines = append(lines, r.line.Text)
	}
	at.Lines = strings.Join(lines, "\n")
	return at, true
}

// comment returns the comment with this id.
func (c change) comment(id string) (fleet.Comment, bool) {
	at := slices.IndexFunc(c.page.Review.Comments, func(one fleet.Comment) bool { return one.ID == id })
	if at < 0 {
		return fleet.Comment{}, false
	}
	return c.page.Review.Comments[at], true
}

// commentAt returns the chosen comment. If a line is chosen, it returns the first comment on that
// line. It returns false if there is no such comment.
func (c change) commentAt(f frame) (fleet.Comment, bool) {
	rows := c.rows(f.width)
	at := c.index(rows)
	if at >= 0 && rows[at].key.kind != commentRow && at+1 < len(rows) {
		at++ // go to the next row: the comments on a line are below it
	}
	if at < 0 || rows[at].key.kind != commentRow {
		return fleet.Comment{}, false
	}
	return c.comment(rows[at].key.comment)
}

// chosenFile returns the file that is shown or, in the overview, the file that is chosen. It
// returns false if there is no such file.
func (c change) chosenFile(f frame) (fleet.ChangeFile, bool) {
	if c.file > 0 {
		return c.page.Change.Files[c.file-1], true
	}
	rows := c.rows(f.width)
	if at := c.index(rows); at >= 0 && rows[at].key.kind == fileRow {
		for _, file := range c.page.Change.Files {
			if file.Path == rows[at].key.path {
				return file, true
			}
		}
	}
	return fleet.ChangeFile{}, false
}

// head returns the rows between the title of the screen and the page below. They show errors and
// facts about the change.
func (c change) head() (rows []paint.Line) {
	if c.readError != "" {
		text := "✗ cannot be read: " + phrase.Line(c.readError)
		if c.read {
			text += "; what is shown was read before"
		}
		rows = append(rows, paint.Styled(display.Red, text))
	}
	if !c.read {
		return rows
	}
	facts := []string{phrase.Count(len(c.page.Change.Files), "file"), fmt.Sprintf("+%d −%d", c.page.Change.Added, c.page.Change.Removed)}
	if checks := phrase.Checks(c.page.Task.Attempt); checks != "" {
		facts = append(facts, checks)
	}
	facts = append(facts, phrase.Count(len(c.page.Change.Commits), "commit"))
	if c.page.Change.Dirty {
		facts = append(facts, "with uncommitted files")
	}
	if n := c.page.Review.Round; n > 0 {
		facts = append(facts, "sent back "+phrase.Count(n, "time"))
	}
	rows = append(rows, paint.Line{parts.TaskBadge(c.page.Task), {Text: "  " + strings.Join(facts, " · "), Style: display.Faint}})
	if c.since {
		rows = append(rows, paint.Styled(display.Yellow, "only what is new since your last review; Tab shows all of it"))
	}
	return rows
}

// view returns the visible rows of the shown page, which is the overview or the page of a file.
func (c change) view(f frame) (lines []paint.Line) {
	if !c.read {
		if c.readError != "" {
			return nil // [change.head] shows the error
		}
		return []paint.Line{paint.Styled(display.Faint, "reading the change of "+display.Line(c.task, 40)+" …")}
	}
	rows := c.rows(f.width)
	first, last := c.chosen(rows)
	numbers := numberWidth(rows)
	cursor := c.index(rows)
	for i := c.top; i < min(c.top+f.height, len(rows)); i++ {
		mark := paint.Span{Text: "  "}
		switch {
		case i == cursor:
			mark = paint.Span{Text: "▸ ", Style: display.Bold}
		case first <= i && i <= last && rows[i].key.kind == codeRow:
			mark = paint.Span{Text: "┃ ", Style: display.Bold}
		}
		line := rows[i].text
		if rows[i].key.kind == codeRow {
			line = rows[i].paint(numbers, c.sideways, f.width < 60)
		}
		lines = append(lines, append(paint.Line{mark}, line...))
	}
	return lines
}
