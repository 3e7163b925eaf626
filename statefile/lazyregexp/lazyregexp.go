// Package lazyregexp compiles regular expressions when they are first used.
// gaffer starts a process of its own for every attempt, in which most of them
// never are.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. A mistake in it
// panics at its first use.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
