package validate

import (
	"fmt"
	"io"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/internal/text/display"
)

// Progress is shown only to a person, and only when there is time to read it.
const (
	quietFor   = 700 * time.Millisecond
	showEvery  = 100 * time.Millisecond
	tickPerNow = 256 // how many documents there are between looks at the clock
)

// progress shows on stderr how many documents are done.
type progress struct {
	to       io.Writer // nil if nobody looks
	now      func() time.Time
	next     time.Time
	n        int
	on       bool // a line of progress stands on the terminal
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
		_, _ = fmt.Fprintf(p.to, "\r%s files %s", thousands(p.n), word) // nothing depends on it
	}
}

// clear makes room for a result.
func (p *progress) clear() {
	if p.on {
		p.on = false
		_, _ = fmt.Fprint(p.to, "\r\x1b[K") // nothing depends on it
	}
}
