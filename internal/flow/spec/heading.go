package spec

import (
	"strings"
	"unicode"

	"gaffer/statefile/lazyregexp"
)

var (
	headingLine = lazyregexp.New(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	// Each part of a section number has at most three digits, so "2026 in review" has no section
	// number.
	leadingNumber = lazyregexp.New(`^(\d{1,3}(?:\.\d{1,3})*)[.):]?(?:[ \t]+|$)`)
	attributes    = lazyregexp.New(`[ \t]*\{([^{}]*#[^{}]*)\}[ \t]*$`)
	quotedAlias   = lazyregexp.New("[ \t]*`(#[\\w-]+)`[ \t]*$")
	link          = lazyregexp.New(`\[([^\[\]]*)\]\([^()]*\)`)
)

// readHeading parses a heading such as "### 2.2 Core Flow {#core-flow}". It returns false if the
// line is not a heading.
func readHeading(line string) (Section, bool) {
	if !strings.Contains(line, "#") {
		return Section{}, false
	}
	parts := headingLine().FindStringSubmatch(line)
	if parts == nil {
		return Section{}, false
	}
	s := Section{Level: len(parts[1])}
	title := s.readAttributes(parts[2])
	if m := quotedAlias().FindStringSubmatch(title); m != nil {
		s.Alias, title = m[1], strings.TrimSuffix(title, m[0])
	}
	title = link().ReplaceAllString(title, "$1")
	if m := leadingNumber().FindStringSubmatch(title); m != nil {
		s.Number, title = m[1], title[len(m[0]):]
	}
	s.Title = strings.TrimSpace(strings.ReplaceAll(title, "**", ""))
	return s, true
}

// readAttributes parses attributes such as {#alias version=2.4 readiness=draft} at the end of a
// title and stores them in s. It returns the title without them.
func (s *Section) readAttributes(title string) string {
	m := attributes().FindStringSubmatch(title)
	if m == nil {
		return title
	}
	for _, word := range strings.Fields(m[1]) {
		name, value, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "#") && len(word) > 1 && s.Alias == "":
			s.Alias = word
		case name == "version":
			s.Version = versionText(value)
		case name == "readiness":
			s.Readiness = strings.Trim(value, `"'`)
		}
	}
	return strings.TrimSuffix(title, m[0])
}

// maxAttributeLines is the number of lines below a heading that are searched for attributes, such
// as the version of the section. Blank lines do not count.
const maxAttributeLines = 5

// readAttributeLines sets attributes from lines below the heading, such as "**Readiness:** draft"
// or "<!-- version: 2.4 -->". If the heading itself already has an attribute, it keeps that value.
func (s *Section) readAttributeLines() {
	n := 0
	for line := range strings.Lines(s.Text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if n++; n > maxAttributeLines {
			return
		}
		for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",;|", r) }) {
			s.readPart(part)
		}
	}
}

func (s *Section) readPart(part string) {
	const around = " \t\r\n*_`<>!-"
	name, value, ok := strings.Cut(strings.Trim(part, around), ":")
	if !ok {
		return
	}
	value = strings.Trim(value, around+`"'`)
	switch strings.ToLower(strings.Trim(name, around)) {
	case "version", "section version", "section-version", "changed in", "last changed in":
		if s.Version == "" {
			s.Version = versionText(value)
		}
	case "readiness":
		if s.Readiness == "" && len(value) <= 40 && !strings.ContainsAny(value, " \t") {
			s.Readiness = value
		}
	}
}

// versionText returns the text without quotes if it looks like a version. Otherwise it returns "".
func versionText(text string) string {
	text = strings.Trim(text, `"' `)
	digits := strings.TrimPrefix(text, "v")
	if digits == "" || len(text) > 40 || !unicode.IsDigit(rune(digits[0])) || strings.ContainsAny(text, " \t\n") {
		return ""
	}
	return text
}

// slug returns an alias for a title, formed like the anchors of Markdown renderers: "Core Flow"
// gives "#core-flow".
func slug(title string) string {
	var b strings.Builder
	b.WriteByte('#')
	for _, r := range strings.ToLower(title) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			b.WriteRune(r)
		case (r == ' ' || r == '-') && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return strings.TrimSuffix(b.String(), "-")
}
