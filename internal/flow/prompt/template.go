// Package prompt makes prompts from templates: Markdown files in a project's
// templates folder, with variables such as {{TASK}} that are filled in.
//
// A variable's name has letters, digits and _, and may have spaces around it.
// Four braces, {{{{, stand for two. Whatever else is in braces is left as it is,
// since a prompt may show code that is full of them.
package prompt

import (
	"slices"
	"strings"
	"unicode"

	"gaffer/statefile/lazyregexp"
)

// Template is a prompt with places to fill in.
type Template struct {
	Name        string // of its file, without .md
	Path        string
	Description string // its first heading, or its first line
	Text        string // as it was written

	parts []part
}

// part is a piece of text, or a variable that stands for one.
type part struct{ text, variable string }

// Parse reads a template's text. Every text is one.
func Parse(name, text string) Template {
	return Template{Name: name, Description: describe(text), Text: text, parts: split(text)}
}

// braces are those that mean something.
var braces = lazyregexp.New(`\{\{\{\{|\{\{[ \t]*([A-Za-z0-9_]+)[ \t]*\}\}`)

// split takes a text apart at the variables.
func split(text string) (parts []part) {
	add := func(p part) {
		if p != (part{}) {
			parts = append(parts, p)
		}
	}
	at := 0
	for _, m := range braces().FindAllStringSubmatchIndex(text, -1) {
		add(part{text: text[at:m[0]]})
		if at = m[1]; m[2] < 0 {
			add(part{text: "{{"})
		} else {
			add(part{variable: text[m[2]:m[3]]})
		}
	}
	add(part{text: text[at:]})
	return parts
}

// Variables are the names of what is to be filled in, in the order in which they
// first appear.
func (t Template) Variables() []string {
	var names []string
	for _, p := range t.parts {
		if p.variable != "" && !slices.Contains(names, p.variable) {
			names = append(names, p.variable)
		}
	}
	return names
}

// Fill puts values in the places of the variables: those that a person has
// given, then those that are always known. A value is put in as it is, whatever
// braces are in it.
//
// The error names every variable that has no value ([*MissingError]) and every
// given one that the template does not have ([*UnknownError]).
func (t Template) Fill(given, known map[string]string) (string, error) {
	if err := t.checkGiven(given, known); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range t.parts {
		if value, ok := given[p.variable]; ok && p.variable != "" {
			b.WriteString(value)
		} else if p.variable != "" {
			b.WriteString(known[p.variable])
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String(), nil
}

// FilledIn says whether text is this template with every variable replaced by
// some value. White space at either end does not count: shells drop it.
func (t Template) FilledIn(text string) bool {
	rest := strings.TrimSpace(text)
	free := false // a variable stands before what comes next
	for i, p := range t.parts {
		literal := p.text
		if i == 0 {
			literal = strings.TrimLeftFunc(literal, unicode.IsSpace)
		}
		if i == len(t.parts)-1 {
			literal = strings.TrimRightFunc(literal, unicode.IsSpace)
		}
		at := strings.Index(rest, literal)
		switch {
		case p.variable != "":
			free = true
			continue
		case free && i == len(t.parts)-1:
			at = len(rest) - len(literal)
			if !strings.HasSuffix(rest, literal) {
				return false
			}
		case at < 0 || !free && at > 0:
			return false
		}
		rest, free = rest[at+len(literal):], false
	}
	return free || rest == ""
}

// describe finds a line that says what a template is for.
func describe(text string) string {
	first := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if heading := strings.TrimLeft(line, "#"); heading != line && strings.HasPrefix(heading, " ") {
			return strings.TrimSpace(strings.TrimRight(heading, "#"))
		}
		if first == "" && strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			first = line
		}
	}
	return first
}
