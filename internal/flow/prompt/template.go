// Package prompt creates prompts from templates. A template is a Markdown file in a project's
// templates folder with variables such as {{TASK}}.
//
// The name of a variable consists of letters, digits and _, and may have spaces around it. Four
// opening braces, {{{{, produce two: {{. All other braces are left unchanged, because a prompt may
// contain code.
package prompt

import (
	"slices"
	"strings"
	"unicode"

	"gaffer/statefile/lazyregexp"
)

// Template is a prompt with variables.
type Template struct {
	Name        string // name of the template's file, without .md
	Path        string
	Description string // first heading of the template, or its first line
	Text        string // text of the file, with variables

	parts []part
}

// part is a piece of a template: either a text or a variable.
type part struct{ text, variable string }

// Parse parses the text of a template. It cannot fail, because every text is a valid template.
func Parse(name, text string) Template {
	return Template{Name: name, Description: describe(text), Text: text, parts: split(text)}
}

// braces matches {{{{, and variables such as {{TASK}}.
var braces = lazyregexp.New(`\{\{\{\{|\{\{[ \t]*([A-Za-z0-9_]+)[ \t]*\}\}`)

// split splits the text of a template into literal texts and variables.
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

// Fill returns the text with the variables replaced by their values. A variable that is not in
// values gets its value from defaults. Values are inserted literally, even if they contain braces.
//
// The error lists every variable without a value ([*MissingError]), and every variable in values
// that the template does not have ([*UnknownError]).
func (t Template) Fill(values, defaults map[string]string) (string, error) {
	if err := t.checkGiven(values, defaults); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range t.parts {
		if value, ok := values[p.variable]; ok && p.variable != "" {
			b.WriteString(value)
		} else if p.variable != "" {
			b.WriteString(defaults[p.variable])
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String(), nil
}

// FilledIn reports whether text is this template with each variable replaced by any text. It
// ignores white space at the start and end, because shells remove it.
func (t Template) FilledIn(text string) bool {
	rest := strings.TrimSpace(text)
	// free is true if the part before p is a variable. Then any text, the value of this variable,
	// may come before the literal text of p.
	free := false
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

// describe returns one line that says what a template is for: its first heading or, if it has no
// heading, its first line with a letter or digit.
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
