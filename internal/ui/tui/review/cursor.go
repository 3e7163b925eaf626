package review

import (
	"maps"
	"slices"

	"gaffer/fleet"
)

// settle adjusts the cursor and the scroll position to the current rows and the size of the screen.
// If the diff of the shown file was not requested yet, settle also returns the request to read it.
func (c change) settle(f frame) (change, any) {
	if !c.read {
		return c, nil
	}
	var read any
	if c.file > 0 {
		file := c.page.Change.Files[c.file-1]
		if _, known := c.diffs[file.Path]; !known {
			c.diffs = maps.Clone(c.diffs)
			if c.diffs == nil {
				c.diffs = map[string]diff{}
			}
			c.diffs[file.Path] = diff{digest: file.Digest}
			read = Read{Run: c.run, Task: c.task, From: c.page.Since, Tree: c.page.Change.Tree, Path: file.Path}
		}
	}
	rows := c.rows(f.width)
	c.at = c.index(rows)
	if c.at < 0 {
		c.at, c.top = 0, 0
		return c, read
	}
	if c.cursor != (key{}) {
		c.cursor = rows[c.at].key
	}
	first, last := c.at, c.at
	for first > 0 && !rows[first-1].selectable { // make the heading above the chosen row visible, too
		first--
	}
	for last+1 < len(rows) && rows[last+1].key == rows[c.at].key { // make all rows of the chosen comment visible, too
		last++
	}
	c.top = max(min(c.top, first), min(last-f.height+1, c.at), 0)
	c.top = max(min(c.top, len(rows)-f.height), 0)
	return c, read
}

// index returns the index of the chosen row. If that row has disappeared, it takes the nearest row
// at or above the old position that can be chosen or, if there is none, the first row that can be
// chosen. It returns -1 if no row can be chosen.
func (c change) index(rows []row) int {
	found := -1
	for i, r := range rows {
		switch {
		case !r.selectable:
		case r.key == c.cursor:
			return i
		case found < 0 || i <= c.at && c.cursor != key{}:
			found = i
		}
	}
	return found
}

// move handles the keys that move the cursor, choose lines, scroll or go to another file. If a key
// has no effect, the returned text may say why; otherwise it is empty.
func (c change) move(name string, f frame) (change, string) {
	rows := c.rows(f.width)
	at, page := c.index(rows), max(f.height-2, 1)
	switch name {
	case "up", "k":
		return c.choose(rows, next(rows, at, -1)), ""
	case "down", "j":
		return c.choose(rows, next(rows, at, +1)), ""
	case "pgup", "ctrl+b":
		return c.choose(rows, next(rows, max(at-page, 0)+1, -1)), ""
	case "pgdown", "ctrl+f", "space":
		return c.choose(rows, next(rows, min(at+page, len(rows)-1)-1, +1)), ""
	case "home", "g":
		return c.choose(rows, next(rows, -1, +1)), ""
	case "end", "G":
		return c.choose(rows, next(rows, len(rows), -1)), ""
	case "K", "shift+up":
		return c.extend(rows, at, -1)
	case "J", "shift+down":
		return c.extend(rows, at, +1)
	case "n":
		return c.goToHunk(rows, at, +1)
	case "p":
		return c.goToHunk(rows, at, -1)
	case "right":
		c.sideways += f.width / 3
	case "left":
		c.sideways = max(c.sideways-f.width/3, 0)
	case "]":
		if c.file == len(c.page.Change.Files) {
			return c, "this is the last file; N goes to the next change"
		}
		return c.goTo(c.file + 1), ""
	case "[":
		return c.goTo(c.file - 1), ""
	case "enter":
		if at >= 0 && rows[at].key.kind == fileRow && c.file == 0 {
			return c.goTo(1 + slices.IndexFunc(c.page.Change.Files, func(f fleet.ChangeFile) bool { return f.Path == rows[at].key.path })), ""
		}
	}
	return c, ""
}

// choose moves the cursor to the row with the index target, if that row can be chosen.
func (c change) choose(rows []row, target int) change {
	if target >= 0 && target < len(rows) && rows[target].selectable {
		c.cursor, c.at = rows[target].key, target
	}
	return c
}

// extend chooses several lines. It moves the cursor to the next line if step is 1, or to the
// previous line if step is -1, and keeps the other end of the chosen lines. If the hunk has no such
// line, the returned text says so.
func (c change) extend(rows []row, at, step int) (change, string) {
	if at < 0 {
		return c, ""
	}
	to := at + step
	for to > 0 && to < len(rows) && rows[to].key.kind == commentRow { // skip comments between two lines
		to += step
	}
	if to < 0 || to >= len(rows) || rows[at].key.kind != codeRow || rows[to].key.kind != codeRow {
		return c, "only lines of one hunk can be chosen together"
	}
	if !c.mark && rows[to].selectable {
		c.mark, c.from = true, rows[at].key
	}
	return c.choose(rows, to), ""
}

// goToHunk goes to the first changed line of the next hunk if step is 1, or of the previous hunk if
// step is -1. If there is no such hunk, it goes to the next or previous file. If that is not
// possible, the returned text says why.
func (c change) goToHunk(rows []row, at, step int) (change, string) {
	i := at + step
	if step < 0 { // go to the start of the hunk that contains the cursor
		for i >= 0 && !rows[i].hunk {
			i--
		}
		i--
	}
	for i >= 0 && i < len(rows) && !rows[i].hunk {
		i += step
	}
	switch {
	case i >= 0 && i < len(rows):
		to := next(rows, i, +1)
		for after := to; after < len(rows) && !rows[after].hunk; after++ {
			if op := rows[after].line.Op; op == "+" || op == "-" {
				to = after
				break
			}
		}
		return c.choose(rows, to), ""
	case step < 0:
		return c.goTo(c.file - 1), ""
	case c.file > 0 && !c.diffs[c.page.Change.Files[c.file-1].Path].read: // do not skip a file that the user has not seen
		return c, "this file is not read yet"
	case c.file == len(c.page.Change.Files):
		return c, "this is the last hunk; N goes to the next change"
	}
	return c.goTo(c.file + 1), ""
}

// next returns the index of the nearest row that can be chosen. It searches downwards from start if
// step is 1, and upwards if step is -1. If there is no such row, it returns start.
func next(rows []row, start, step int) int {
	for i := start + step; i >= 0 && i < len(rows); i += step {
		if rows[i].selectable && (start < 0 || start >= len(rows) || rows[i].key != rows[start].key) {
			return i
		}
	}
	return start
}

// chosen returns the indexes of the first and the last chosen row. Both are -1 if no row can be
// chosen.
func (c change) chosen(rows []row) (first, last int) {
	last = c.index(rows)
	first = last
	if c.mark {
		if i := slices.IndexFunc(rows, func(r row) bool { return r.selectable && r.key == c.from }); i >= 0 {
			first, last = min(i, last), max(i, last)
		}
	}
	return first, last
}
