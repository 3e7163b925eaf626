package ledger

import "slices"

// Kind is one of the two kinds of records.
type Kind string

// The kinds.
const (
	RunKind    Kind = "run"
	ResultKind Kind = "result"
)

// Kinds lists both kinds.
func Kinds() []Kind { return []Kind{RunKind, ResultKind} }

func (k Kind) folder() string { return string(k) + "s" }

func (k Kind) other() Kind {
	if k == RunKind {
		return ResultKind
	}
	return RunKind
}

// order returns the position of this kind among the records of a task.
func (k Kind) order() int { return slices.Index(Kinds(), k) }
