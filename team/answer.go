package team

import (
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// Answer is an agent's answer after it was parsed: a status word and a summary.
type Answer struct {
	Status  Word
	Summary []string
	Body    jsontree.Value // the JSON object that contains the status; missing if the status was in a line of text
}

// Text returns the lines of the summary as one text.
func (a Answer) Text() string { return strings.Join(a.Summary, "\n") }

// ParseAnswer finds the verdict in an agent's answer. A verdict is a JSON object with a status,
// fenced or not, or a status line, such as "**Status:** PASS" or "✅ PASS". Quoted verdicts and
// words in running text do not count.
//
// The last verdict counts. If it cannot be read, ParseAnswer returns an [*UnclearError]. If the
// last verdict lets work advance (PASS, APPROVED, COMPLETE and so on) but the answer contradicts
// it, ParseAnswer also returns an UnclearError. A contradiction is an earlier verdict with another
// word that the same role may use, or later text that names such a word or retracts the verdict. A
// verdict that does not let work advance is never rejected because of other text. If there is no
// verdict, ParseAnswer returns a [*NoStatusError].
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

// NoStatusError reports an answer without a verdict.
type NoStatusError struct{}

func (*NoStatusError) Error() string {
	return fmt.Sprintf("the answer has no status: neither an object with %q nor a line %q", "status", "**Status:** WORD")
}

// Conflict reports true: the answer cannot be applied to the session.
func (*NoStatusError) Conflict() bool { return true }

// UnclearError reports an answer whose last verdict cannot be read, or whose text contradicts its
// last verdict.
type UnclearError struct{ Problem string }

func (e *UnclearError) Error() string { return "the answer's status is in doubt: " + e.Problem }

// Conflict reports true: the answer cannot be applied to the session.
func (*UnclearError) Conflict() bool { return true }
