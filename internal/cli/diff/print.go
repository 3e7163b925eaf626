package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/text/worddiff"
	"gaffer/internal/ui/phrase"
)

// Styles of the parts of a diff.
const (
	hunkStyle   display.Style = "36"   // the line with a hunk's line numbers
	addedWord   display.Style = "7;32" // reversed colours, for the changed words in a line
	removedWord display.Style = "7;31"
)

// printer prints changes and diffs.
type printer struct {
	out      io.Writer
	color    bool
	terminal bool // out is a terminal, so control characters are replaced
}

func (p printer) paint(s display.Style, text string) string {
	if !p.color || s == "" || text == "" {
		return text
	}
	return s.Paint(text)
}

// text prepares a line of a file for printing. If the output is a terminal, text replaces control
// characters. A carriage return becomes ␍, because it may be the only difference between two lines.
func (p printer) text(text string) string {
	if !p.terminal {
		return text
	}
	return display.PrintableLines(strings.ReplaceAll(text, "\r", "␍"))
}

// stat prints the names of the changed files, each with its number of added and removed lines.
func (p printer) stat(c fleet.Change) error {
	out := bufio.NewWriter(p.out)
	width := 0
	counts := make([]string, len(c.Files))
	for i, f := range c.Files {
		counts[i] = fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		if f.Binary {
			counts[i] = "binary"
		}
		width = max(width, len(counts[i]))
	}
	for i, f := range c.Files {
		name := p.name(f.Path)
		if f.From != "" {
			name = p.name(f.From) + " → " + name
		}
		if f.OldMode != "" && f.NewMode != "" && f.OldMode != f.NewMode {
			name += fmt.Sprintf("  (mode %s → %s)", f.OldMode, f.NewMode)
		}
		if f.Binary {
			name += "  (" + phrase.Sizes(f) + ")"
		}
		padding := strings.Repeat(" ", width-len(counts[i]))
		fmt.Fprintf(out, "%-8s %s%s  %s\n", f.Status, padding, p.paintCounts(counts[i]), name)
	}
	fmt.Fprintln(out, p.paint(display.Bold, summary(c)))
	return out.Flush()
}

func (p printer) paintCounts(counts string) string {
	added, removed, ok := strings.Cut(counts, " ")
	if !ok {
		return counts
	}
	return p.paint(display.Green, added) + " " + p.paint(display.Red, removed)
}

// summary returns a line with the number of changed files, added and removed lines, and commits.
func summary(c fleet.Change) string {
	number := func(n int, what string) string {
		if n != 1 {
			what += "s"
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	text := fmt.Sprintf("%s, +%d -%d lines, %s on %s", number(len(c.Files), "file"), c.Added, c.Removed, number(len(c.Commits), "commit"), display.Printable(c.Branch))
	if c.Dirty {
		text += ", and files that are not committed"
	}
	return text
}

// name returns a file's name in a form that fits on one line. On a terminal, it replaces control
// characters. Elsewhere, it quotes a name with a line break, a tab, a quote or a backslash.
func (p printer) name(name string) string {
	if !p.terminal && strings.ContainsAny(name, "\n\r\t\"\\") {
		return quoteName(name)
	}
	if !p.terminal {
		return name
	}
	return display.Printable(name)
}

// file prints the diff of a file in git's format. If a file became a symbolic link, or a link
// became a file, the diff deletes the old file or link and adds the new one.
func (p printer) file(f fleet.FileChange) error {
	if f.Status == "type" {
		gone, made := f, f
		gone.Status, gone.Hunks = "deleted", nil
		made.Status, made.Hunks = "added", nil
		for _, h := range f.Hunks {
			if h.NewLines == 0 {
				gone.Hunks = append(gone.Hunks, h)
			} else {
				made.Hunks = append(made.Hunks, h)
			}
		}
		if err := p.file(gone); err != nil {
			return err
		}
		return p.file(made)
	}
	out := bufio.NewWriter(p.out)
	head := func(format string, args ...any) {
		fmt.Fprintln(out, p.paint(display.Bold, fmt.Sprintf(format, args...)))
	}
	before, after := "a/"+cmp.Or(f.From, f.Path), "b/"+f.Path
	name := func(name string) string {
		if p.terminal {
			return display.Printable(name)
		}
		return quoteName(name)
	}
	head("diff --git %s %s", name(before), name(after))
	switch {
	case f.Status == "added":
		head("new file mode %s", f.NewMode)
		before = "/dev/null"
	case f.Status == "deleted":
		head("deleted file mode %s", f.OldMode)
		after = "/dev/null"
	case f.OldMode != f.NewMode:
		head("old mode %s", f.OldMode)
		head("new mode %s", f.NewMode)
	}
	if f.From != "" {
		verb := "rename"
		if f.Status == "copied" {
			verb = "copy"
		}
		head("%s from %s", verb, name(f.From))
		head("%s to %s", verb, name(f.Path))
	}
	switch {
	case f.TooLarge != "":
		fmt.Fprintln(out, p.paint(display.Yellow, "not shown: "+f.TooLarge))
	case f.Binary:
		fmt.Fprintf(out, "Binary files %s and %s differ", name(before), name(after))
		// On a terminal, add the sizes of the old and the new file. Elsewhere, the output may be
		// used as a patch, so the line must be exactly as git prints it.
		if p.terminal {
			fmt.Fprintf(out, ": %s", phrase.Sizes(f.ChangeFile))
		}
		fmt.Fprintln(out)
	case len(f.Hunks) > 0:
		// Like git, add a tab after a name that contains a space. Without the tab, other programs
		// would read only the part before the space.
		suffixed := func(path string) string {
			if text := name(path); p.terminal || !strings.Contains(text, " ") || text[0] == '"' {
				return text
			}
			return path + "\t"
		}
		head("--- %s", suffixed(before))
		head("+++ %s", suffixed(after))
	}
	for _, h := range f.Hunks {
		p.hunk(out, h)
	}
	return out.Flush()
}

// hunk prints a hunk of a diff. If colours are on and added lines follow removed lines, it marks
// the words that differ between them.
func (p printer) hunk(out *bufio.Writer, h fleet.Hunk) {
	span := func(first, lines int) string {
		if lines == 1 {
			return fmt.Sprint(first)
		}
		return fmt.Sprintf("%d,%d", first, lines)
	}
	line := p.paint(hunkStyle, fmt.Sprintf("@@ -%s +%s @@", span(h.OldFirst, h.OldLines), span(h.NewFirst, h.NewLines)))
	if h.Section != "" {
		line += " " + p.text(h.Section)
	}
	fmt.Fprintln(out, line)
	for i := 0; i < len(h.Lines); {
		removed := leadingLines(h.Lines[i:], "-")
		added := leadingLines(h.Lines[i+removed:], "+")
		if removed+added == 0 {
			p.line(out, h.Lines[i], []worddiff.Piece{{Text: h.Lines[i].Text}})
			i++
			continue
		}
		olds, news := h.Lines[i:i+removed], h.Lines[i+removed:i+removed+added]
		pieces := make([][]worddiff.Piece, removed+added)
		for n := range pieces {
			pieces[n] = []worddiff.Piece{{Text: h.Lines[i+n].Text}}
		}
		if p.color {
			for n := range min(removed, added) {
				pieces[n], pieces[removed+n] = worddiff.Compare(olds[n].Text, news[n].Text)
			}
		}
		for n, text := range pieces {
			p.line(out, h.Lines[i+n], text)
		}
		i += removed + added
	}
}

// leadingLines returns the number of lines at the beginning that have the operation op.
func leadingLines(lines []fleet.DiffLine, op string) (n int) {
	for n < len(lines) && lines[n].Op == op {
		n++
	}
	return n
}

func (p printer) line(out *bufio.Writer, line fleet.DiffLine, pieces []worddiff.Piece) {
	style, word := display.Style(""), display.Style("")
	switch line.Op {
	case "+":
		style, word = display.Green, addedWord
	case "-":
		style, word = display.Red, removedWord
	}
	for i, piece := range pieces {
		text := p.text(piece.Text)
		if i == 0 {
			// Ignore the error: the buffered writer returns it again from Flush.
			_, _ = out.WriteString(p.paint(style, line.Op))
		}
		if piece.Changed {
			text = p.paint(word, text)
		} else {
			text = p.paint(style, text)
		}
		_, _ = out.WriteString(text)
	}
	if len(pieces) == 0 {
		_, _ = out.WriteString(p.paint(style, line.Op))
	}
	_ = out.WriteByte('\n')
	if line.NoEOL {
		fmt.Fprintln(out, `\ No newline at end of file`)
	}
}

// quoteName returns a file's name in a form that git can read in a diff: in quotes and with escapes
// if it has control characters, quotes, backslashes or invalid UTF-8.
func quoteName(name string) string {
	plain := utf8.ValidString(name) && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c == 0x7f })
	if plain {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
