// Package lazyregexp compiles regular expressions at first use. gaffer starts a process
// for every attempt, and such a process uses only few of its expressions.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. It panics at the first
// use if the expression is invalid.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
