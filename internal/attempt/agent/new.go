package agent

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gaffer/internal/plan/secret"
	"gaffer/internal/text/suggest"
)

// Custom is what gaffer.yaml may say about an agent: a known one that is started
// in another way, or a new one.
type Custom struct {
	// Like is the agent whose protocol it speaks. Without it, a known agent is
	// like itself and any other like command.
	Like string `yaml:"like"`
	// Argv is the program and arguments of yours, in place of the program's
	// name. What the protocol needs follows.
	Argv []string `yaml:"argv"`
	// Env is added to the environment.
	Env map[string]secret.Value `yaml:"env"`
	// Prompt is how the prompt goes in; each protocol has its own default.
	Prompt Way `yaml:"prompt"`
	// Markers are for agents like command, whose output says nothing else.
	Markers Markers `yaml:"markers"`
}

// Way is how a prompt gets into a program.
type Way string

// The ways.
const (
	Stdin    Way = "stdin"    // stdin is the prompt and ends there
	Argument Way = "argument" // it takes the place of {prompt} in argv, or comes last
	File     Way = "file"     // its path takes the place of {prompt_file} in argv, or comes last
)

// promptArg stands for the prompt within an argument of a custom argv.
const promptArg = "{prompt}"

// Markers are regular expressions for lines of output.
type Markers struct {
	// Waiting: the program waits for a person. The first group, or else the
	// line, is the question.
	Waiting string `yaml:"waiting"`
	// RateLimit: the program has met a rate limit. A group named reset, or else
	// the line, says when it ends.
	RateLimit string `yaml:"rate_limit"`
	// Done: the work is done. If it is given, exit code 0 alone is no success.
	Done string `yaml:"done"`
	// Failed: the work has failed, whatever the exit code.
	Failed string `yaml:"failed"`
}

// kinds are the agents that gaffer knows.
func kinds() map[string]func(setup) Agent {
	return map[string]func(setup) Agent{
		"claude":   func(s setup) Agent { return claude{s} },
		"codex":    func(s setup) Agent { return codex{s} },
		"gemini":   func(s setup) Agent { return gemini{s} },
		"opencode": func(s setup) Agent { return opencode{s} },
		"command":  func(s setup) Agent { return command{s} },
	}
}

// Names are the agents that need no configuration.
func Names() []string { return []string{"claude", "codex", "gemini", "opencode", "command"} }

// New returns the agent of that name: one of [Names], or of custom, which may
// also change one of them.
func New(name string, custom map[string]Custom) (Agent, error) {
	c, configured := custom[name]
	if !configured && !slices.Contains(Names(), name) {
		return nil, unknown(name, custom)
	}
	like := Kind(name, custom)
	s, err := c.setup(name, like)
	if err != nil {
		return nil, err
	}
	return kinds()[like](s), nil
}

// Kind is which of [Names] an agent speaks like.
func Kind(name string, custom map[string]Custom) string {
	switch like := custom[name].Like; {
	case like != "":
		return like
	case slices.Contains(Names(), name):
		return name
	}
	return "command"
}

// setup is a checked Custom.
type setup struct {
	argv    []string                // at least the program, but for agent command
	env     []string                // whose values are texts
	refs    map[string]secret.Value // whose values are elsewhere
	prompt  Way                     // empty is the protocol's own
	waiting *regexp.Regexp
	limit   *regexp.Regexp
	done    *regexp.Regexp
	failed  *regexp.Regexp
}

// References implements [Agent].
func (s setup) References() map[string]secret.Value { return s.refs }

func (c Custom) setup(name, like string) (setup, error) {
	s := setup{argv: c.Argv, prompt: c.Prompt}
	switch {
	case !slices.Contains(Names(), like):
		return s, badKey(name, "like", like, "want "+strings.Join(Names(), ", "))
	case len(c.Argv) > 0 && c.Argv[0] == "":
		return s, badKey(name, "argv", "", "want a program first")
	case len(c.Argv) == 0 && like == "command" && name != "command":
		return s, invalid{fmt.Sprintf("agent %s needs argv, the program that it is", name)}
	case len(c.Argv) == 0 && like != "command":
		s.argv = []string{like}
	}
	if err := checkPrompt(name, like, c.Prompt); err != nil {
		return s, err
	}
	for _, key := range slices.Sorted(maps.Keys(c.Env)) {
		v := c.Env[key]
		if key == "" || strings.ContainsAny(key, "=\x00") {
			return s, badKey(name, "env", key, "which no environment can hold")
		}
		if err := v.Check(); err != nil {
			return s, invalid{fmt.Sprintf("agent %s: env: %s: %v", name, key, err)}
		}
		if !v.IsReference() {
			s.env = append(s.env, key+"="+v.Text)
			continue
		}
		if s.refs == nil {
			s.refs = map[string]secret.Value{}
		}
		s.refs[key] = v
	}
	return s, c.Markers.compile(name, like, &s)
}

func checkPrompt(name, like string, way Way) error {
	switch {
	case !slices.Contains([]Way{"", Stdin, Argument, File}, way):
		return badKey(name, "prompt", string(way), "want stdin, argument or file")
	case like == "claude" && way != "" && way != Stdin:
		return badKey(name, "prompt", string(way), "but claude's protocol has it on stdin")
	case way == File && like != "command":
		return badKey(name, "prompt", string(way), "which is for agents like command")
	}
	return nil
}

func (m Markers) compile(name, like string, s *setup) error {
	for _, marker := range []struct {
		key, text string
		to        **regexp.Regexp
	}{
		{"waiting", m.Waiting, &s.waiting},
		{"rate_limit", m.RateLimit, &s.limit},
		{"done", m.Done, &s.done},
		{"failed", m.Failed, &s.failed},
	} {
		if marker.text == "" {
			continue
		}
		if like != "command" {
			return invalid{fmt.Sprintf("agent %s: markers are for agents like command, and it is like %s", name, like)}
		}
		re, err := regexp.Compile(marker.text)
		if err != nil {
			return badKey(name, "markers."+marker.key, marker.text, err.Error())
		}
		*marker.to = re
	}
	return nil
}

// invalid is a configuration that cannot work.
type invalid struct{ text string }

func (e invalid) Error() string { return e.text }

// Invalid tells that the input is at fault.
func (invalid) Invalid() bool { return true }

func badKey(agent, key, found, want string) error {
	return invalid{fmt.Sprintf("agent %s: %s: found %q, %s", agent, key, found, want)}
}

// UnknownError is the name of an agent that is neither known nor configured.
type UnknownError struct {
	Name    string
	Nearest string // what was likely meant, or empty
	Known   []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("agent %q is not known, want one of %s", e.Name, strings.Join(e.Known, ", "))
}

// Invalid tells that the input is at fault.
func (*UnknownError) Invalid() bool { return true }

// Hint says what to do about it.
func (e *UnknownError) Hint() string {
	if e.Nearest != "" {
		return fmt.Sprintf("did you mean %s?", e.Nearest)
	}
	return "gaffer.yaml may add one under agents:"
}

func unknown(name string, custom map[string]Custom) error {
	known := Names()
	for _, key := range slices.Sorted(maps.Keys(custom)) {
		if !slices.Contains(known, key) {
			known = append(known, key)
		}
	}
	return &UnknownError{Name: name, Nearest: suggest.Nearest(name, known), Known: known}
}
