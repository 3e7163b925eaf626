package team

import (
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// Answer is what an agent said: one status word and a few lines of text.
type Answer struct {
	Status  Word
	Summary []string
	Body    jsontree.Value // the whole object; missing if the answer was a status line
}

// Text returns the summary as one text.
func (a Answer) Text() string { return strings.Join(a.Summary, "\n") }

// ParseAnswer reads the verdict of an agent's answer. A verdict is a JSON object
// with a status, fenced or bare, or a line that is a status by its form, such as
// "**Status:** PASS" or "✅ PASS". Quoted verdicts and words in running text are
// none.
//
// The last verdict counts. If it cannot be read, the error is an
// [*UnclearError]. So it is if the last verdict lets work advance (PASS,
// APPROVED, COMPLETE and so on) but the same answer contradicts it: by an
// earlier verdict with another word of the same role, or by a later text that
// names such a word or takes the verdict back. A verdict that does not let work
// advance is never refused for what stands around it. Without a verdict the
// error is a [*NoStatusError].
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
	if said := takenBack(text[last.end:], last.Status); said != "" {
		return Answer{}, &UnclearError{Problem: fmt.Sprintf("it says %s, and then %q", last.Status, said)}
	}
	return last.Answer, nil
}

// NoStatusError is an answer without a verdict.
type NoStatusError struct{}

func (*NoStatusError) Error() string {
	return fmt.Sprintf("the answer has no status: neither an object with %q nor a line %q", "status", "**Status:** WORD")
}

// Conflict marks the error as a refused transition.
func (*NoStatusError) Conflict() bool { return true }

// UnclearError is an answer whose last verdict cannot be read, or is
// contradicted by the answer itself.
type UnclearError struct{ Problem string }

func (e *UnclearError) Error() string { return "the answer's status is in doubt: " + e.Problem }

// Conflict marks the error as a refused transition.
func (*UnclearError) Conflict() bool { return true }
