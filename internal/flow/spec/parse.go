package spec

import (
	"bytes"
	"strconv"
	"strings"
)

// Parse parses a spec. It cannot fail: every line that is not a heading becomes part of the text of
// a section. Text before the first section is ignored, except for the front matter.
func Parse(data []byte) Spec {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	text := strings.ReplaceAll(strings.ToValidUTF8(string(data), "\ufffd"), "\r\n", "\n")
	s := Spec{Found: true}
	front, body, ended := frontMatter(text)
	if ended {
		s.Version, s.Status, s.Synopsis = front.version(), front["status"], front[shortSynopsis]
	}
	p := parser{aliases: map[string]int{}}
	for line := range strings.Lines(text[body:]) {
		p.line(strings.TrimSuffix(line, "\n"), len(line))
	}
	s.Sections = p.sectionTexts(text[body:])
	return s
}

// parser reads the lines of a spec and records where each section starts.
type parser struct {
	at       int // offset of the current line in the text
	blocks   blocks
	titled   bool // the title of the document has been read
	sections []Section
	starts   []sectionStart
	// aliases has a counter for each alias in use. If a further section would get the same alias,
	// uniqueAlias increments the counter and appends it to the alias, as in #setup-2.
	aliases map[string]int
}

// sectionStart holds the offsets of the heading and of the text of a section.
type sectionStart struct{ heading, text int }

func (p *parser) line(line string, size int) {
	begin := p.at
	p.at += size
	if p.blocks.inside(line) || len(p.sections) == maxSections {
		return
	}
	section, ok := readHeading(line)
	if !ok {
		return
	}
	// The first heading of level 1 that has no number and no alias is the title of the document,
	// not a section.
	if section.Level == 1 && !p.titled && section.Number == "" && section.Alias == "" {
		p.titled = true
		return
	}
	if section.Alias == "" {
		section.Alias = p.uniqueAlias(slug(section.Title))
	}
	p.aliases[section.Alias]++
	p.sections = append(p.sections, section)
	p.starts = append(p.starts, sectionStart{begin, p.at})
}

// uniqueAlias returns alias if no earlier section has it. Otherwise it returns alias with a number
// appended. It replaces the empty alias # by #section.
func (p *parser) uniqueAlias(alias string) string {
	if alias == "#" {
		alias = "#section"
	}
	name := alias
	for p.aliases[name] > 0 {
		p.aliases[alias]++
		name = alias + "-" + strconv.Itoa(p.aliases[alias])
	}
	return name
}

// sectionTexts sets the text of each section, and the attributes that are in the text. It returns
// the sections.
func (p *parser) sectionTexts(body string) []Section {
	for i := range p.sections {
		end := len(body)
		if i+1 < len(p.starts) {
			end = p.starts[i+1].heading
		}
		s := &p.sections[i]
		s.Text = strings.TrimSpace(body[p.starts[i].text:end])
		s.readAttributeLines()
	}
	return p.sections
}

// blocks tracks whether the current line is in a fenced block or an HTML comment, where headings
// are ignored.
type blocks struct {
	fence   string // opening fence of the current block; empty outside of a block
	comment bool
}

func (b *blocks) inside(line string) bool {
	text := strings.TrimLeft(line, " ")
	switch {
	case b.comment:
		b.comment = !strings.Contains(line, "-->")
		return true
	case b.fence != "":
		if mark := fenceOf(text); strings.HasPrefix(mark, b.fence) && strings.TrimSpace(text[len(mark):]) == "" {
			b.fence = ""
		}
		return true
	case len(line)-len(text) > 3: // indented code cannot start a fenced block or a comment
		return false
	}
	if mark := fenceOf(text); opensFence(mark, text) {
		b.fence = mark
		return true
	}
	if rest, ok := strings.CutPrefix(text, "<!--"); ok {
		b.comment = !strings.Contains(rest, "-->")
		return true
	}
	return false
}

// opensFence reports whether a line of text opens a fenced block. mark is the result of fenceOf for
// the line. Inline code may also start with ```, but then it contains further backquotes.
func opensFence(mark, text string) bool {
	return strings.HasPrefix(mark, "~") || mark != "" && !strings.Contains(text[len(mark):], "`")
}

// fenceOf returns the row of at least three ` or ~ at the start of a text, or "" if there is none.
func fenceOf(text string) string {
	for _, c := range []string{"`", "~"} {
		if run := text[:len(text)-len(strings.TrimLeft(text, c))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}
