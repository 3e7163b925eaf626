package review

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/tui/paint"
)

// placed is a user's comment on a change, with its position in the change that is shown now.
type placed struct {
	fleet.Comment
	anchor    fleet.Anchor
	elsewhere bool // no shown hunk contains the comment's line
}

// commentsOf returns the comments on the file at path or, if path is empty, on the whole change. If
// the file was renamed, oldPath is its old path; if not, oldPath is empty.
func (c change) commentsOf(path, oldPath string) (list []placed) {
	for _, one := range c.page.Review.Comments {
		p := placed{Comment: one, anchor: fleet.Anchor{Path: one.Path, Side: one.Side, First: one.First, Last: one.Last}}
		if at := slices.IndexFunc(c.page.Anchors, func(a fleet.Anchor) bool { return a.Comment == one.ID }); at >= 0 {
			p.anchor = c.page.Anchors[at]
		}
		if p.anchor.Path == path || oldPath != "" && p.anchor.Path == oldPath {
			list = append(list, p)
		}
	}
	return list
}

// blocks returns the rows of all comments on the file at path or, if path is empty, on the whole
// change.
func (c change) blocks(path string, width int) (rows []row) {
	for _, one := range c.commentsOf(path, "") {
		rows = append(rows, one.rows(width)...)
	}
	return rows
}

// otherPaths returns the paths of files that have comments but do not belong to the shown change.
func (c change) otherPaths() (paths []string) {
	for _, one := range c.page.Review.Comments {
		path := one.Path
		if at := slices.IndexFunc(c.page.Anchors, func(a fleet.Anchor) bool { return a.Comment == one.ID }); at >= 0 {
			path = c.page.Anchors[at].Path
		}
		shown := slices.ContainsFunc(c.page.Change.Files, func(f fleet.ChangeFile) bool { return f.Path == path || f.From == path })
		if path != "" && !shown && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// rows returns the rows that show a comment and the agent's answer to it. A resolved comment has
// one row. All rows of the comment have the same key, and the user can choose only the first of
// them.
func (p placed) rows(width int) []row {
	facts := []string{display.Line(p.ID, 12)}
	if p.By != "" {
		facts = append(facts, display.Line(p.By, 24))
	}
	if p.Round == 0 {
		facts = append(facts, "draft")
	} else {
		facts = append(facts, fmt.Sprintf("sent in round %d", p.Round))
	}
	if p.anchor.Outdated {
		facts = append(facts, "outdated")
	}
	if p.elsewhere || p.anchor.Outdated {
		facts = append(facts, "on "+PlaceName(p.Comment))
	}
	if p.Last > p.First && !p.elsewhere && !p.anchor.Outdated {
		facts = append(facts, fmt.Sprintf("lines %d to %d", p.anchor.First, p.anchor.Last))
	}
	const bar = "    │ "
	head := row{key: key{kind: commentRow, comment: p.ID}, selectable: true}
	if p.Resolved {
		head.text = paint.Styled(display.Faint, bar+"✓ "+strings.Join(facts, " · ")+" · resolved: "+phrase.Line(p.Text))
		return []row{head}
	}
	head.text = paint.Line{{Text: bar, Style: display.Yellow}, {Text: strings.Join(facts, " · "), Style: display.Faint}}
	rows := []row{head}
	add := func(style display.Style, prefix, text string, most int) {
		for i, line := range paint.Wrap(text, width-len(bar)-len([]rune(prefix)), most) {
			if i > 0 {
				prefix = strings.Repeat(" ", len([]rune(prefix)))
			}
			rows = append(rows, row{key: head.key, text: paint.Line{{Text: bar, Style: display.Yellow}, {Text: prefix + line, Style: style}}})
		}
	}
	if p.anchor.Outdated || p.elsewhere {
		quote := "> "
		if p.anchor.Outdated {
			quote = "was: "
		}
		for _, line := range strings.SplitN(p.Lines, "\n", 6) {
			if line = strings.ReplaceAll(line, "\t", "    "); strings.TrimSpace(line) != "" {
				rows = append(rows, row{key: head.key, text: paint.Line{{Text: bar, Style: display.Yellow}, {Text: quote + display.Line(line, 200), Style: display.Faint}}})
			}
		}
	}
	add("", "", p.Text, 40)
	if a := p.Answer; a != nil {
		sign, style := "✓ fixed", display.Green
		if !a.Fixed {
			sign, style = "✗ not fixed", display.Red
		}
		if strings.TrimSpace(a.Text) != "" {
			sign += ": "
		}
		add(style, "", "agent: "+sign+a.Text, 20)
	}
	return rows
}
