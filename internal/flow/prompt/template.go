// Package prompt creates prompts from templates. Templates are Markdown files in a
// project's templates folder with variables such as {{TASK}}.
//
// A variable's name consists of letters, digits and _, and may have spaces around it.
// Four braces, {{{{, stand for two. All other braces are left unchanged, because a
// prompt may contain code.
package prompt

import (
	"slices"
	"strings"
	"unicode"

	"gaffer/statefile/lazyregexp"
)

// Template is a prompt with variables.
type Template struct {
	Name        string // name of its file, without .md
	Path        string
	Description string // the first heading, or the first line
	Text        string // the original text

	parts []part
}

// part is a piece of text or a variable.
type part struct{ text, variable string }

// Parse parses the text of a template. Every text is a valid template.
func Parse(name, text string) Template {
	return Template{Name: name, Description: describe(text), Text: text, parts: split(text)}
}

// braces matches the braces with a special meaning.
var braces = lazyregexp.New(`\{\{\{\{|\{\{[ \t]*([A-Za-z0-9_]+)[ \t]*\}\}`)

// split splits a text at its variables.
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

// Variables returns the names of the variables, in the order of their first
// occurrence.
func (t Template) Variables() []string {
	var names []string
	for _, p := range t.parts {
		if p.variable != "" && !slices.Contains(names, p.variable) {
			names = append(names, p.variable)
		}
	}
	return names
}

// Fill replaces the variables by values: those given by the user, then the known
// ones. Values are inserted literally, whatever braces they contain.
//
// The error lists every variable without a value ([*MissingError]) and every given
// variable that the template does not have ([*UnknownError]).
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

// FilledIn reports whether text is this template with every variable replaced by some
// value. It ignores white space at both ends, because shells remove it.
func (t Template) FilledIn(text string) bool {
	rest := strings.TrimSpace(text)
	free := false // a variable is between the previous literal and the next one
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

// describe returns a line that says what a template is for.
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
