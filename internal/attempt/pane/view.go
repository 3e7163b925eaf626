package pane

import (
	"bytes"
	"fmt"
	"strings"

	"gaffer/internal/attempt/agent"
)

// view converts an agent's output to readable text, line by line.
type view struct {
	reader agent.Reader    // nil if the output is plain text, which needs no conversion
	asks   *agent.Question // the agent's question that has no answer yet, or nil
	last   string          // the last activity that was shown
}

func newView(kind, policy string) (*view, error) {
	if kind == "command" {
		return &view{}, nil
	}
	a, err := agent.New(kind, nil)
	if err != nil {
		return nil, err
	}
	return &view{reader: a.Reader(agent.Request{Policy: agent.Policy(policy)})}, nil
}

// line returns the text to show for one line of output, or "" if the line has nothing new.
func (v *view) line(line []byte) string {
	if v.reader == nil {
		return string(line) + "\n"
	}
	var b strings.Builder
	signals := v.reader.Line(line)
	for _, s := range signals {
		v.take(&b, s)
	}
	if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '{' && b.Len() == 0 {
		fmt.Fprintf(&b, "%s\n", line) // the line is not JSON, for example a warning: show it unchanged
	}
	return b.String()
}

func (v *view) take(b *strings.Builder, s agent.Signal) {
	switch {
	case s.Ask != nil:
		v.asks = s.Ask
		fmt.Fprintf(b, "\n? %s\n", s.Ask.Text)
		for i, option := range s.Ask.Options {
			fmt.Fprintf(b, "  %d  %s\n", i+1, option)
		}
		b.WriteString("answer here with a number or a text and Enter, or with 'gaffer answer'\n\n")
	case s.Closed != "" && v.asks != nil && v.asks.ID == s.Closed:
		v.asks = nil
	case s.Doing != "" && s.Doing != v.last:
		v.last = s.Doing
		fmt.Fprintf(b, "· %s\n", s.Doing)
	}
}

// answer returns the arguments of a 'gaffer answer' command that answers the agent's question. The
// parameter task has the form RUN/TASK. The parameter typed is what the user has typed: the number
// of an option, or a text.
func (v *view) answer(task, typed string) []string {
	typed = strings.TrimSpace(typed)
	var n int
	if _, err := fmt.Sscanf(typed, "%d", &n); err == nil && v.asks != nil && fmt.Sprint(n) == typed && n >= 1 && n <= len(v.asks.Options) {
		return []string{"answer", task, "--option", typed}
	}
	return []string{"answer", task, "--", typed}
}
