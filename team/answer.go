package team

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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
// is inside another value is not looked at: it is about something else. So is
// what is indented below a value that is not JSON: an excerpt of code, or an
// answer with a slip in it.
func fromObjects(text string) (found Answer, ok bool) {
	const everywhere = math.MaxInt
	for looked := everywhere; text != ""; {
		line := strings.TrimLeft(text, " \t")
		indent := len(text) - len(line)
		if indent > looked || strings.TrimSpace(line[:min(len(line), 1)]) == "" { // or an empty line
			text = afterLine(line)
			continue
		}
		end, whole := valueEnd(line)
		if a, is := fromObject(line[:end]); whole && is {
			found, ok = a, true
		}
		if looked = everywhere; !whole {
			looked = indent
		}
		if text = line[end:]; whole || end == 0 {
			text = afterLine(text)
		}
	}
	return found, ok
}

func afterLine(text string) string {
	_, rest, _ := strings.Cut(text, "\n")
	return rest
}

// valueEnd returns the index after the object or list that text begins with, if
// it does. Of one that is not whole it is the line from which it is not JSON, so
// that nothing is looked at many times.
func valueEnd(text string) (end int, whole bool) {
	if text[0] != '{' && text[0] != '[' {
		return 0, true
	}
	var value json.RawMessage
	in := json.NewDecoder(strings.NewReader(text))
	err := in.Decode(&value)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return strings.LastIndexByte(text[:wrong.Offset-1], '\n') + 1, false
	}
	if err != nil { // it has no end
		return len(text), false
	}
	return int(in.InputOffset()), true
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
