package team

import (
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/lazyregexp"
)

// Answer is what an agent said: one status word and a few lines of text.
type Answer struct {
	Status  Word
	Summary []string
	Body    jsontree.Value // the whole object; missing if the answer was a status line
}

// Text returns the summary as one text.
func (a Answer) Text() string { return strings.Join(a.Summary, "\n") }

// maxTries bounds the work on a text that is full of things that look like the
// beginning of an object.
const maxTries = 64

// ParseAnswer reads the status word of an agent's answer: from a JSON object
// {"status", "summary"}, fenced or bare, else from a line that is a status by
// its form. A word in running text is never a status. Where there are several,
// the last one counts. Without one the error is a [*NoStatusError].
func ParseAnswer(text string) (Answer, error) {
	if a, ok := fromObjects(text); ok {
		return a, nil
	}
	if a, ok := fromLines(text); ok {
		return a, nil
	}
	return Answer{}, &NoStatusError{}
}

// fromObjects reads the last object that begins a line and has a status. What
// is inside another value is not looked at: it is about something else.
func fromObjects(text string) (found Answer, ok bool) {
	for at, tries := 0, 0; at < len(text) && tries < maxTries; {
		start := at + len(text[at:]) - len(strings.TrimLeft(text[at:], " \t"))
		end := start
		if start < len(text) && (text[start] == '{' || text[start] == '[') {
			if end = valueEnd(text, start); end == start {
				tries++
			} else if a, is := fromObject(text[start:end]); is {
				found, ok = a, true
			}
		}
		line := strings.IndexByte(text[end:], '\n')
		if line < 0 {
			break
		}
		at = end + line + 1
	}
	return found, ok
}

// valueEnd returns the index after the bracket that closes the one at start, or
// start if there is none.
func valueEnd(text string, start int) int {
	depth, quoted := 0, false
	for i := start; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return start
}

var wordForm = lazyregexp.New(`^[A-Z][A-Z_]*$`)

func fromObject(text string) (Answer, bool) {
	doc, err := jsontree.Parse([]byte(text))
	if err != nil {
		return Answer{}, false
	}
	word, summary := doc.Value().Get("status").Text(), doc.Value().Get("summary")
	if !wordForm().MatchString(word) {
		return Answer{}, false
	}
	a := Answer{Status: Word(word), Body: doc.Value()}
	if line, ok := summary.Str(); ok {
		a.Summary = []string{line}
	}
	for _, item := range summary.Items() {
		a.Summary = append(a.Summary, item.String())
	}
	return a, true
}

// statusLine is a line that is a status by its form. What follows the word must
// not make it one of several choices, as in a template: PASS | FAIL.
var (
	statusLine = lazyregexp.New("^\\s*(?:\\*\\*Status:\\*\\*|## Review:)\\s+[*`]*([A-Z][A-Z_]*)(.*)$")
	choice     = lazyregexp.New("^[*`]*\\s*(?:[|/]|or\\s)|^[A-Za-z0-9]")
)

// fromLines reads the last status line outside of fenced text, which is
// somebody else's.
func fromLines(text string) (found Answer, ok bool) {
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "```") {
			fenced = !fenced
			continue
		}
		m := statusLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if fenced || m == nil || choice().MatchString(m[2]) {
			continue
		}
		found, ok = Answer{Status: Word(m[1])}, true
		if rest := strings.Trim(m[2], " \t*`,;:.–—-"); rest != "" {
			found.Summary = []string{rest}
		}
	}
	return found, ok
}

// NoStatusError is an answer that has no status.
type NoStatusError struct{}

func (*NoStatusError) Error() string {
	return fmt.Sprintf("the answer has no status: neither an object with %q nor a line %q or %q",
		"status", "**Status:** WORD", "## Review: WORD")
}

// Conflict marks the error as a refused transition.
func (*NoStatusError) Conflict() bool { return true }
