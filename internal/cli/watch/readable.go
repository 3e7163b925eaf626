package watch

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"gaffer/internal/agent"
)

// readable passes a log on as people read it: what an agent says to a program in
// JSON becomes what it does and asks, one line each, and all else stays as it is.
// It forgets what has gone through.
type readable struct {
	to      io.Writer
	readers []agent.Reader // those that may understand the log; one, once it is known
	known   bool
	rest    []byte
	long    bool // the line is too long to be looked at
	last    string
}

func newReadable(to io.Writer) *readable {
	r := &readable{to: to}
	for _, name := range agent.Names() {
		a, err := agent.New(name, nil)
		if err != nil || name == "command" {
			continue
		}
		for _, policy := range []agent.Policy{agent.Ask, agent.Deny} { // some speak otherwise if nobody is asked
			r.readers = append(r.readers, a.Reader(agent.Request{Policy: policy}))
		}
	}
	return r
}

// understood reports whether a reader has found anything in a line.
func understood(signals []agent.Signal) bool {
	return slices.ContainsFunc(signals, func(s agent.Signal) bool {
		return s.State != "" || s.Doing != "" || s.Thread != "" || s.Ask != nil || s.Usage != nil || s.Ended
	})
}

// longest is as much of a line as is looked at.
const longest = 1 << 20

func (r *readable) Write(p []byte) (int, error) {
	n := len(p)
	var out bytes.Buffer
	for len(p) > 0 {
		at := bytes.IndexByte(p, '\n')
		if at < 0 {
			r.keep(p)
			break
		}
		r.keep(p[:at])
		r.line(&out, r.rest)
		r.rest, r.long, p = r.rest[:0], false, p[at+1:]
	}
	_, err := r.to.Write(out.Bytes())
	return n, err
}

func (r *readable) keep(p []byte) {
	room := longest - len(r.rest)
	if len(p) > room {
		p, r.long = p[:room], true
	}
	r.rest = append(r.rest, p...)
}

// End passes on a last line that nothing has ended.
func (r *readable) End() error {
	var out bytes.Buffer
	if len(r.rest) > 0 {
		r.line(&out, r.rest)
	}
	_, err := r.to.Write(out.Bytes())
	return err
}

func (r *readable) line(out *bytes.Buffer, line []byte) {
	text := bytes.TrimSpace(line)
	if len(text) == 0 || text[0] != '{' {
		fmt.Fprintf(out, "%s\n", line)
		return
	}
	for _, reader := range r.readers {
		signals := reader.Line(line)
		if !understood(signals) {
			continue
		}
		r.readers, r.known = []agent.Reader{reader}, true
		for _, s := range signals {
			r.signal(out, s)
		}
		return
	}
	if !r.known || r.long {
		fmt.Fprintf(out, "%s\n", line)
	}
}

func (r *readable) signal(out *bytes.Buffer, s agent.Signal) {
	switch {
	case s.Ask != nil:
		fmt.Fprintf(out, "? %s\n", s.Ask.Text)
		for i, option := range s.Ask.Options {
			fmt.Fprintf(out, "  %d %s\n", i+1, option)
		}
	case s.Doing != "" && s.Doing != r.last:
		r.last = s.Doing
		fmt.Fprintf(out, "· %s\n", s.Doing)
	}
}
