package stubmodel

import (
	"strconv"
	"strings"
)

// Mode says how the stub model answers a request. [Modes] describes all modes.
type Mode struct {
	Kind string
	Arg  string // argument of the mode, such as COMMAND in "tool:COMMAND"
	Once bool   // use the mode for one request only; answer later ones with a text
}

// Modes is the help text that describes all modes.
const Modes = `text[:WORDS]     a short answer
tool[:COMMAND]   calls the shell tool, and is done with its result
toolx[:COMMAND]  the same; asks Codex to let it leave the sandbox, so that a person is asked
write[:FILE]     writes a file, with the tool for that or else the shell
ask              asks a person which colour, where there is a tool for that
task             starts a sub-agent, where there is a tool for that
call:NAME:JSON   calls the named tool with these arguments; the name may be its end
loop[:COMMAND]   calls the shell tool without end
slow[:SECONDS]   a word each second, 8 without a number
hang             takes the request and says nothing
hangmid          begins an answer and goes silent
drop             ends the connection in mid-answer
STATUS           that HTTP error (400 to 599) as the vendor words it
STATUSonce       the same for the first request, a text for others
ctx              the prompt is too long
limit            the usage limit is reached, with the time of its end`

// ParseMode parses a mode in the form that [Modes] describes. It accepts unknown modes: in these,
// the model answers with a text.
func ParseMode(text string) Mode {
	kind, arg, _ := strings.Cut(text, ":")
	m := Mode{Kind: kind, Arg: arg}
	if status, ok := strings.CutSuffix(kind, "once"); ok {
		m.Kind, m.Once = status, true
	}
	return m
}

func (m Mode) or(arg string) string {
	if m.Arg == "" {
		return arg
	}
	return m.Arg
}

// status returns the HTTP error status that the model answers with in mode m, such as 429. It
// returns 0 if the name of the mode is not an HTTP error status.
func (m Mode) status() int {
	n, err := strconv.Atoi(m.Kind)
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}
