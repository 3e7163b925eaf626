// Package lazyregexp compiles regular expressions at their first use. gaffer starts a process for
// every attempt, and most of these processes need only a few expressions.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles the expression text at its first call, and returns it. The
// call panics if the expression is invalid.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
