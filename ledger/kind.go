package ledger

import "slices"

// Kind is the kind of a record about an attempt. A run record says what was started, and a result
// record says how it ended.
type Kind string

// The kinds of records.
const (
	RunKind    Kind = "run"
	ResultKind Kind = "result"
)

// Kinds lists both kinds of records, first RunKind and then ResultKind.
func Kinds() []Kind { return []Kind{RunKind, ResultKind} }

func (k Kind) folder() string { return string(k) + "s" }

func (k Kind) other() Kind {
	if k == RunKind {
		return ResultKind
	}
	return RunKind
}

// order returns 0 for run records and 1 for result records, so that run records are sorted first.
func (k Kind) order() int { return slices.Index(Kinds(), k) }
