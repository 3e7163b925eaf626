package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one problem of a plan, and its position in the file. Line and Column start at 1. They
// are 0 if they are unknown.
type Problem struct {
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"`
	Text       string `json:"text"`
	Suggestion string `json:"suggestion,omitempty"` // what the author of the plan probably meant; empty if unknown
}

// String returns the problem as text, for example plan.yaml:3:5: unknown key "promt"; did you mean
// "prompt"?
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:", p.Line)
	}
	if p.Line > 0 && p.Column > 0 {
		fmt.Fprintf(&b, "%d:", p.Column)
	}
	if b.Len() > 0 {
		b.WriteString(" ")
	}
	b.WriteString(p.Text)
	if p.Suggestion != "" {
		fmt.Fprintf(&b, "; did you mean %q?", p.Suggestion)
	}
	return b.String()
}

// Problems is a list of problems of a plan, in the order of the file. It implements error.
type Problems []Problem

// Error returns the problems as text, one on each line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// Invalid reports whether there are problems. If so, gaffer's exit code is the one for a file whose
// content is not valid.
func (p Problems) Invalid() bool { return len(p) > 0 }

// sorted returns the problems in the order of the file, without duplicates. There may be duplicates
// because the target of a YAML alias is read again for each alias.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	seen := make(map[Problem]bool, len(p))
	return slices.DeleteFunc(p, func(problem Problem) bool {
		again := seen[problem]
		seen[problem] = true
		return again
	})
}

// position is a position in a file. The zero value is an unknown position in the file that is being
// read.
type position struct {
	line, column int
	file         string // path of the file; empty means the file that is being read
}
