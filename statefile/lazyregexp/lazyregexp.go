// Package lazyregexp compiles regular expressions at their first use. That saves time at the start
// of a process: gaffer starts a new process for every attempt at a task, and most of these
// processes need only a few of the expressions.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns a compiled regular expression. The parameter text is the text
// of the expression. The function compiles the expression at its first call. It panics if the
// expression is invalid.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
