package team

import (
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// Answer is the parsed answer of an agent: a status word, such as PASS, and a summary.
type Answer struct {
	Status  Word
	Summary []string
	// Body is the JSON object that contains the status. If the status was in a line of text, Body
	// is the zero Value.
	Body jsontree.Value
}

// Text returns the lines of the summary as one text.
func (a Answer) Text() string { return strings.Join(a.Summary, "\n") }

// ParseAnswer finds the verdict in an agent's answer. A verdict is either a JSON object with a
// status, inside or outside a Markdown code fence, or a status line, such as "**Status:** PASS" or
// "✅ PASS". Quoted verdicts and words in running text do not count. If there is no verdict,
// ParseAnswer returns a [*NoStatusError].
//
// If there are several verdicts, the last one counts. If the last verdict cannot be read,
// ParseAnswer returns an [*UnclearError].
//
// A verdict such as PASS or APPROVED lets work advance. If the last verdict lets work advance, but
// another part of the answer contradicts it, ParseAnswer also returns an UnclearError. There are
// three kinds of contradictions: an earlier verdict with an opposing word such as FAIL, later text
// that contains an opposing word, and later text that retracts the verdict. A last verdict that
// does not let work advance, such as FAIL, is accepted whatever the other text says.
func ParseAnswer(text string) (Answer, error) {
	verdicts := verdictsIn(text)
	if len(verdicts) == 0 {
		return Answer{}, &NoStatusError{}
	}
	last := verdicts[len(verdicts)-1]
	if last.problem != "" {
		return Answer{}, &UnclearError{Problem: last.problem}
	}
	if !last.Status.advances() {
		return last.Answer, nil
	}
	for _, v := range verdicts[:len(verdicts)-1] {
		if v.Status.opposes(last.Status) {
			return Answer{}, &UnclearError{Problem: fmt.Sprintf("it says %s first and %s later", v.Status, last.Status)}
		}
	}
	if said := contradictionAfter(text[last.end:], last.Status); said != "" {
		return Answer{}, &UnclearError{Problem: fmt.Sprintf("it says %s, and then %q", last.Status, said)}
	}
	return last.Answer, nil
}

// NoStatusError reports that an agent's answer has no verdict: neither a JSON object with a status
// nor a status line.
type NoStatusError struct{}

func (*NoStatusError) Error() string {
	return fmt.Sprintf("the answer has no status: neither an object with %q nor a line %q", "status", "**Status:** WORD")
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*NoStatusError) Conflict() bool { return true }

// UnclearError reports that the last verdict in an agent's answer cannot be read, or that other
// text in the answer contradicts it.
type UnclearError struct{ Problem string }

func (e *UnclearError) Error() string { return "the answer's status is in doubt: " + e.Problem }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*UnclearError) Conflict() bool { return true }
