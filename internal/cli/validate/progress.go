package validate

import (
	"fmt"
	"io"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// The progress line is printed only in a terminal. It appears after quietFor, and is then updated
// at most once per showEvery.
const (
	quietFor   = 700 * time.Millisecond
	showEvery  = 100 * time.Millisecond
	tickPerNow = 256 // the clock is read once per this number of documents
)

// progress prints the number of processed documents to stderr.
type progress struct {
	to       io.Writer // nil if stderr is not a terminal
	now      func() time.Time
	next     time.Time
	n        int
	on       bool // the progress line is visible in the terminal
	lastWord string
}

func newProgress(e *env.Env) *progress {
	p := &progress{now: e.Now, next: e.Now().Add(quietFor)}
	if display.IsTerminal(e.Err) {
		p.to = e.Err
	}
	return p
}

func (p *progress) tick(word string) {
	if word != p.lastWord {
		p.n, p.lastWord = 0, word
	}
	if p.n++; p.to == nil || p.n%tickPerNow != 0 {
		return
	}
	if now := p.now(); now.After(p.next) {
		p.next, p.on = now.Add(showEvery), true
		_, _ = fmt.Fprintf(p.to, "\r%s files %s", thousands(p.n), word) // ignore the error: the command works without the progress line
	}
}

// clear deletes the progress line, so that a result can be printed.
func (p *progress) clear() {
	if p.on {
		p.on = false
		_, _ = fmt.Fprint(p.to, "\r\x1b[K") // ignore the error: the command works without the progress line
	}
}
