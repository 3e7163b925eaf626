package ledger

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/statefile"
)

// ImmutableError reports that a record was not written, because it already exists with other
// values, or because another program has changed it since it was read.
type ImmutableError struct {
	Path    string
	Attempt int // number of the recorded attempt; 0 if another program has changed the record
	Problem string
}

func (e *ImmutableError) Error() string {
	return fmt.Sprintf("%s: %s; a record is immutable", e.Path, e.Problem)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ImmutableError) Conflict() bool { return true }

// Hint tells the user what to do next.
func (e *ImmutableError) Hint() string {
	if e.Attempt == 0 {
		return "look at what the other program wrote, then try again"
	}
	return fmt.Sprintf("record another attempt with a number above %d", e.Attempt)
}

// TransitionError reports that the status of an attempt cannot change in this way, such as from
// "done" to "running".
type TransitionError struct {
	Path     string
	From, To Status
}

func (e *TransitionError) Error() string {
	may := "nothing may follow it"
	if after := nextStatuses[e.From]; len(after) > 0 {
		words := make([]string, len(after))
		for i, s := range after {
			words[i] = string(s)
		}
		may = "what may follow is " + strings.Join(words, ", ")
	}
	return fmt.Sprintf("%s: the attempt is %q and cannot become %q; %s", e.Path, e.From, e.To, may)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *TransitionError) Conflict() bool { return true }

func checkTransition(path string, from, to Status) error {
	if slices.Contains(nextStatuses[from], to) {
		return nil
	}
	return &TransitionError{Path: path, From: from, To: to}
}

// NoRunError reports that an attempt has no run record, so its end cannot be recorded.
type NoRunError struct {
	Bead    string
	Attempt int
}

func (e *NoRunError) Error() string {
	return fmt.Sprintf("bead %s: no run record of attempt %d", e.Bead, e.Attempt)
}

// NotFound returns true, so that commands exit with code 3 and the server answers with status 404.
func (e *NoRunError) NotFound() bool { return true }

// RecordError reports that the content of a record is invalid.
type RecordError struct {
	Path  string
	Found []statefile.Finding
}

func (e *RecordError) Error() string {
	texts := make([]string, len(e.Found))
	for i, f := range e.Found {
		texts[i] = f.Text
		if f.At != "" {
			texts[i] = f.At + ": " + f.Text
		}
	}
	return e.Path + ": " + strings.Join(texts, "; ")
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *RecordError) Invalid() bool { return true }

// Hint tells the user what to do next.
func (e *RecordError) Hint() string { return "'gaffer validate' shows what is wrong with a record" }
