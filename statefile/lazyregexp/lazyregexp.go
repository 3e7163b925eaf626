// Package lazyregexp compiles regular expressions at their first use. gaffer starts a process for
// every attempt, and most of these processes need only a few expressions.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled form of the regular expression text. The function
// compiles the expression at its first call. It panics if the expression is invalid.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
