// Package markdown formats Markdown pages for a terminal.
//
// It supports the part of Markdown that gaffer's own documentation pages use: headings, paragraphs,
// lists, tables, fenced blocks, links, code, bold and italic text, and comments. A test checks that
// it finds the same words on every page as a complete Markdown parser. Decision 38 in
// docs/decisions says why gaffer itself does not use a complete parser.
package markdown

import (
	"strings"

	"gaffer/internal/text/cells"
)

// Style paints parts of a page. The zero value paints nothing.
type Style struct {
	Heading func(string) string
	Code    func(string) string // code and bold text
}

// Format formats a page for a terminal that is this many columns wide. Fenced blocks are not
// wrapped.
func Format(page string, columns int, style Style) string {
	f := &formatter{columns: columns, style: style}
	f.blocks(strings.Split(page, "\n"))
	return strings.TrimLeft(f.b.String(), "\n")
}

type formatter struct {
	b       strings.Builder
	columns int
	style   Style
	below   bool // the next block follows without an empty line, for example below a heading
}

const margin = "  " // indentation of everything but headings

func (f *formatter) blocks(lines []string) {
	for i := 0; i < len(lines); {
		line := lines[i]
		from := i
		switch {
		case strings.TrimSpace(line) == "":
			i++
		case strings.HasPrefix(line, "<!--"):
			for i < len(lines) && !strings.Contains(lines[i], "-->") {
				i++
			}
			i++
		case strings.HasPrefix(line, "```"):
			fence := line[:len(line)-len(strings.TrimLeft(line, "`"))]
			for i++; i < len(lines) && lines[i] != fence; i++ {
			}
			f.fenced(lines[from+1 : min(i, len(lines))])
			i++
		case headingText(line) != "":
			f.heading(headingText(line))
			i++
		case strings.HasPrefix(line, "|"):
			for i < len(lines) && strings.HasPrefix(lines[i], "|") {
				i++
			}
			f.table(lines[from:i])
		default:
			for i++; i < len(lines) && !beginsBlock(lines[i]); i++ {
			}
			f.paragraph(lines[from:i])
		}
	}
}

// beginsBlock reports whether a line ends the paragraph or list item above it: the line is empty or
// begins another block.
func beginsBlock(line string) bool {
	marker, _ := listItem(line)
	return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "|") || strings.HasPrefix(line, "<!--") ||
		headingText(line) != "" || marker != ""
}

func headingText(line string) string {
	text := strings.TrimLeft(line, "#")
	if text == line || !strings.HasPrefix(text, " ") {
		return ""
	}
	return strings.TrimSpace(text)
}

// listItem returns the marker of a list item with the spaces around it, such as "- " or "2. ", and
// the text after the marker. If the line is not the first line of a list item, the marker is empty.
func listItem(line string) (marker, text string) {
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)]
	if text, ok := strings.CutPrefix(rest, "- "); ok {
		return indent + "- ", text
	}
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if text, ok := strings.CutPrefix(rest[len(digits):], ". "); ok && digits != "" {
		return indent + digits + ". ", text
	}
	return "", line
}

func (f *formatter) write(lines ...string) {
	if !f.below {
		f.b.WriteString("\n")
	}
	f.below = false
	for _, line := range lines {
		f.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func (f *formatter) heading(text string) {
	f.below = false
	lines := wrap(plain(text), f.columns)
	for i := range lines {
		lines[i] = paint(f.style.Heading, lines[i])
	}
	f.write(lines...)
	f.below = true
}

func (f *formatter) fenced(lines []string) {
	shown := make([]string, len(lines))
	for i, line := range lines {
		shown[i] = margin + margin + line
	}
	f.write(shown...)
}

// paragraph writes a paragraph or one item of a list.
func (f *formatter) paragraph(lines []string) {
	marker, first := listItem(lines[0])
	text := first + "\n" + strings.Join(lines[1:], "\n")
	if marker != "" && f.inList() {
		f.below = true // write no empty line between two items of a list
	}
	indent := margin + strings.Repeat(" ", len(marker))
	wrapped := wrap(f.inline(text), f.columns-len(indent))
	for i := range wrapped {
		if i == 0 {
			wrapped[i] = margin + marker + wrapped[i]
		} else {
			wrapped[i] = indent + wrapped[i]
		}
	}
	f.write(wrapped...)
}

// inList reports whether the last block that was written is a list item.
func (f *formatter) inList() bool {
	lines := strings.Split(strings.TrimRight(f.b.String(), "\n"), "\n")
	for i := len(lines) - 1; i >= 0 && lines[i] != ""; i-- {
		if marker, _ := listItem(lines[i]); marker != "" {
			return true
		}
	}
	return false
}

// wrap breaks a text at spaces into lines of at most this number of columns. A word that is wider
// has a line of its own.
func wrap(text string, columns int) (lines []string) {
	line, width := "", 0
	for _, word := range strings.Fields(text) {
		w := cells.Width(word)
		if width > 0 && width+1+w > columns {
			lines, line, width = append(lines, line), "", 0
		}
		if width > 0 {
			line += " "
			width++
		}
		line += word
		width += w
	}
	if width > 0 || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

func paint(style func(string) string, text string) string {
	if style == nil {
		return text
	}
	return style(text)
}
