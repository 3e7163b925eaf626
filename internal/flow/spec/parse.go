package spec

import (
	"bytes"
	"strconv"
	"strings"
)

// Parse reads a spec from the text of its file. Whatever the text is, there is
// no error: what is not understood is text of a section.
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
	s.Sections = p.cut(text[body:])
	return s
}

// parser goes through the lines and notes where sections begin.
type parser struct {
	at       int // where in the body the line begins
	blocks   blocks
	titled   bool // whether the title of the document has passed
	sections []Section
	starts   []start
	aliases  map[string]int // how many sections have each
}

// start is where a section's heading begins and its text does.
type start struct{ heading, text int }

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
	// The first heading of all is the name of the document, unless it is
	// numbered or named like a section.
	if section.Level == 1 && !p.titled && section.Number == "" && section.Alias == "" {
		p.titled = true
		return
	}
	if section.Alias == "" {
		section.Alias = p.free(slug(section.Title))
	}
	p.aliases[section.Alias]++
	p.sections = append(p.sections, section)
	p.starts = append(p.starts, start{begin, p.at})
}

// free is an alias that no section before has.
func (p *parser) free(alias string) string {
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

// cut gives each section its text and what the text states of it.
func (p *parser) cut(body string) []Section {
	for i := range p.sections {
		end := len(body)
		if i+1 < len(p.starts) {
			end = p.starts[i+1].heading
		}
		s := &p.sections[i]
		s.Text = strings.TrimSpace(body[p.starts[i].text:end])
		s.readStated()
	}
	return p.sections
}

// blocks tells what is inside a fenced block or a comment, where nothing is a
// heading.
type blocks struct {
	fence   string // what opened the fenced block
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
	case len(line)-len(text) > 3: // an indented block
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

// opensFence leaves out code within a line, which may begin with ``` too.
func opensFence(mark, text string) bool {
	return strings.HasPrefix(mark, "~") || mark != "" && !strings.Contains(text[len(mark):], "`")
}

// fenceOf is the run of three or more ` or ~ that a line begins with.
func fenceOf(text string) string {
	for _, c := range []string{"`", "~"} {
		if run := text[:len(text)-len(strings.TrimLeft(text, c))]; len(run) >= 3 {
			return run
		}
	}
	return ""
}
