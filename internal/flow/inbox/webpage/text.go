package webpage

import (
	"html"
	"strings"
	"unicode"

	"gaffer/internal/text/truncate"
)

// maxPageText and maxTitle are the maximum lengths of a page's stored text and title, in
// characters.
const (
	maxPageText = 1000
	maxTitle    = 200
)

// invisibleElements holds the names of HTML elements whose content is not visible on the page.
var invisibleElements = []string{"script", "style", "noscript", "template", "svg", "title"}

// fromHTML returns the title and the beginning of the text of a page. It does not build a tree: it
// skips tags, comments and invisible elements, and keeps all other text.
func fromHTML(page string) (title, text string) {
	page = strings.ToValidUTF8(page, "\ufffd")
	if _, rest, ok := cutTag(page, "title"); ok {
		inner, _, _ := cutTag(rest, "/title")
		title = limit(inner, maxTitle)
	}
	var b strings.Builder
	for len(page) > 0 && b.Len() < 4*maxPageText {
		open := strings.IndexByte(page, '<')
		if open < 0 {
			open = len(page)
		}
		writeSpaced(&b, page[:open])
		page = afterTag(page[open:])
	}
	return title, limit(b.String(), maxPageText)
}

// writeSpaced writes the words of text to b, with single spaces between them, so that long runs of
// white space take no memory. It stops when b is long enough for a page's text.
func writeSpaced(b *strings.Builder, text string) {
	for word := range strings.FieldsSeq(text) {
		b.WriteString(word)
		b.WriteByte(' ')
		if b.Len() >= 4*maxPageText {
			return
		}
	}
}

// afterTag returns the text of page after the tag, comment or invisible element at its start. A
// page that is not empty must start with <.
func afterTag(page string) string {
	if page == "" {
		return ""
	}
	if rest, ok := strings.CutPrefix(page, "<!--"); ok {
		_, after, _ := strings.Cut(rest, "-->")
		return after
	}
	for _, name := range invisibleElements {
		if isTag(page, name) {
			_, after, _ := cutTag(page, "/"+name)
			return after
		}
	}
	if len(page) > 1 && !unicode.IsLetter(rune(page[1])) && !strings.ContainsRune("/!?", rune(page[1])) {
		return page[1:] // this < does not start a tag: skip only this character
	}
	_, after, _ := strings.Cut(page, ">")
	return after
}

// isTag reports whether page starts with the tag called name, in upper or lower case.
func isTag(page, name string) bool {
	if len(page) < len(name)+2 || !strings.EqualFold(page[1:1+len(name)], name) {
		return false
	}
	return strings.IndexByte(" \t\r\n/>", page[1+len(name)]) >= 0
}

// cutTag splits page into the text before and the text after the first tag called name. If there is
// no such tag, before is the whole page and found is false.
func cutTag(page, name string) (before, after string, found bool) {
	for at := 0; ; at++ {
		next := strings.IndexByte(page[at:], '<')
		if next < 0 {
			return page, "", false
		}
		if at += next; isTag(page[at:], name) {
			_, after, _ := strings.Cut(page[at:], ">")
			return page[:at], after, true
		}
	}
}

// firstWords returns the beginning of a plain text page, as one line.
func firstWords(text string) string {
	var b strings.Builder
	writeSpaced(&b, strings.ToValidUTF8(text, "\ufffd"))
	return limitPlain(b.String(), maxPageText)
}

func limit(text string, maxChars int) string { return limitPlain(html.UnescapeString(text), maxChars) }

// limitPlain returns the first maxChars characters of a text as one line, without terminal control
// characters.
func limitPlain(text string, maxChars int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	return truncate.Chars(strings.Join(strings.Fields(text), " "), maxChars)
}
