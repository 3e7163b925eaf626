package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/engine/failure"
)

// command is the adapter for an arbitrary program, whose output has no protocol. Markers, which are
// regular expressions for output lines, can find questions, rate limits, success and failure. Each
// line counts as progress, unless it asks a question. If no marker says otherwise, exit code 0
// means success.
type command struct{ setup }

func (c command) Launch(r Request) (Launch, error) {
	argv := slices.Clone(c.argv)
	if len(r.Argv) > 0 {
		argv = slices.Clone(r.Argv)
	}
	if len(argv) == 0 {
		return Launch{}, invalid{"agent command: there is no program; a task of it needs argv or shell"}
	}
	l := Launch{Argv: argv, Env: slices.Clone(c.env)}
	if r.Model != "" {
		l.Env = append(l.Env, "GAFFER_MODEL="+r.Model)
	}
	switch c.prompt {
	case Argument:
		l.Argv = insertPrompt(argv, promptArg, r.Prompt)
	case File:
		l.Argv, l.File = insertPrompt(argv, FileArg, FileArg), []byte(r.Prompt)
	default:
		l.Input = []byte(r.Prompt)
	}
	l.Open = c.answerable(r)
	if c.done != nil {
		l.Linger = linger
	}
	return l, nil
}

// insertPrompt replaces the placeholder mark by text in all arguments, but not in the program's
// name in argv[0]. If no argument contains mark, it appends text as the last argument. It changes
// argv in place.
func insertPrompt(argv []string, mark, text string) []string {
	found := false
	for i := 1; i < len(argv); i++ {
		found = found || strings.Contains(argv[i], mark)
		argv[i] = strings.ReplaceAll(argv[i], mark, text)
	}
	if !found {
		argv = append(argv, text)
	}
	return argv
}

// answerable reports whether the user can answer the program's questions. Three conditions must be
// met: a marker finds the questions, r lets the agent ask, and stdin is free for the answers
// because the prompt is passed in another way.
func (c command) answerable(r Request) bool {
	return c.waiting != nil && r.asks() && (c.prompt == Argument || c.prompt == File)
}

func (c command) Reader(r Request) Reader {
	return &commandReader{command: c, answerable: c.answerable(r)}
}

// commandReader interprets the output of an arbitrary program.
type commandReader struct {
	command
	answerable   bool
	questions    int
	openQuestion string // id of the question that is not answered yet, or empty
	final        *finalMessage
	otherOutput  lastOutput
}

func (c *commandReader) Line(line []byte) []Signal {
	c.otherOutput.add(line)
	text := clean(string(line[:min(len(line), 4000)]))
	if m := find(c.waiting, text); m != nil {
		return c.ask(m[min(1, len(m)-1)])
	}
	s := Signal{State: Running, Progress: true, Doing: shortLine(text), Closed: c.openQuestion}
	c.openQuestion = ""
	if w := c.matchMarkers(text); w != nil {
		c.final, s.Ended = w, w.class == failure.None
	}
	return []Signal{s}
}

// matchMarkers checks a line of output against the markers rate_limit, failed and done, in this
// order. These are regular expressions from the agent's settings. It returns the final message for
// the first marker that matches, or nil if none matches.
func (c *commandReader) matchMarkers(text string) *finalMessage {
	if m := find(c.limit, text); m != nil {
		w := &finalMessage{class: failure.RateLimited, text: text}
		if i := c.limit.SubexpIndex("reset"); i > 0 {
			w.resetText = m[i]
		}
		return w
	}
	if find(c.failed, text) != nil {
		return &finalMessage{class: failure.Crashed, text: text}
	}
	if find(c.done, text) != nil {
		return &finalMessage{text: text}
	}
	return nil
}

func find(re *regexp.Regexp, text string) []string {
	if re == nil {
		return nil
	}
	return re.FindStringSubmatch(text)
}

// ask returns the signal for a question of the program. If the user has no way to answer, the
// signal contains no Question and says only that the agent waits.
func (c *commandReader) ask(text string) []Signal {
	s := Signal{State: Waiting, Doing: shortLine(text), Closed: c.openQuestion}
	if c.answerable {
		c.questions++
		c.openQuestion = strconv.Itoa(c.questions)
		s.Ask = &Question{ID: c.openQuestion, Text: strings.TrimSpace(text), Reply: func(a Answer) []byte {
			if a.Deny && a.Text == "" {
				return []byte("no\n")
			}
			return []byte(strings.ReplaceAll(a.Text, "\n", " ") + "\n")
		}}
	}
	return []Signal{s}
}

func (c *commandReader) Verdict(exit Exit) Verdict {
	final := c.final
	switch {
	case final != nil && final.class != failure.None:
	case exit.Code == 0 && exit.Signal == "" && (c.done == nil || final != nil):
		final = &finalMessage{text: c.otherOutput.all()}
	case exit.Code == 0 && exit.Signal == "":
		return judge(&finalMessage{class: failure.Crashed, text: appendDetail("ended without its done line", c.otherOutput.String())}, denial{}, "", exit)
	case exit.StopReason == Lingered && final != nil:
	default:
		final = &finalMessage{class: failure.Crashed, text: appendDetail(describeExit(exit), c.otherOutput.String())}
	}
	return judge(final, denial{}, c.otherOutput.String(), exit)
}

func describeExit(exit Exit) string {
	if exit.Signal != "" {
		return "died of " + exit.Signal
	}
	return fmt.Sprintf("exit code %d", exit.Code)
}
