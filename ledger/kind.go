package ledger

import "slices"

// Kind is the kind of a record: run or result.
type Kind string

// The kinds of records.
const (
	RunKind    Kind = "run"
	ResultKind Kind = "result"
)

// Kinds lists both kinds of records, runs first.
func Kinds() []Kind { return []Kind{RunKind, ResultKind} }

func (k Kind) folder() string { return string(k) + "s" }

func (k Kind) other() Kind {
	if k == RunKind {
		return ResultKind
	}
	return RunKind
}

// order returns the position of this kind among the records of a task: 0 for runs, 1 for results.
func (k Kind) order() int { return slices.Index(Kinds(), k) }
