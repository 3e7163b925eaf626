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

// Custom is an agent in gaffer.yaml: a built-in agent with other settings, or a new agent.
type Custom struct {
	// Like is the built-in agent whose protocol the custom agent uses. Empty means the built-in
	// agent of the same name, or "command" if no built-in agent has this name.
	Like string `yaml:"like"`
	// Argv is the program and its first arguments. It replaces the default program of the protocol.
	// gaffer appends the arguments that the protocol needs.
	Argv []string `yaml:"argv"`
	// Env has variables that are added to the program's environment.
	Env map[string]secret.Value `yaml:"env"`
	// Prompt says how the program gets the prompt. Empty means the protocol's default.
	Prompt PromptMethod `yaml:"prompt"`
	// Markers has regular expressions that find questions, rate limits and the end of the work in
	// the output. It is only allowed for agents that use the protocol of "command", because the
	// output of all other agents has a fixed format.
	Markers Markers `yaml:"markers"`
}

// PromptMethod says how a prompt is passed to a program.
type PromptMethod string

// Values of PromptMethod.
const (
	// Stdin means that gaffer writes the prompt to stdin. It then closes stdin, unless the protocol
	// needs stdin for answers.
	Stdin PromptMethod = "stdin"
	// Argument means that the prompt is the last argument. But if the protocol is that of "command"
	// and argv contains {prompt}, the prompt replaces {prompt}.
	Argument PromptMethod = "argument"
	// File means that gaffer writes the prompt to a file. The file's path replaces {prompt_file} in
	// argv. Without {prompt_file}, the path is the last argument.
	File PromptMethod = "file"
)

// promptArg is the placeholder for the prompt in a custom argv.
const promptArg = "{prompt}"

// Markers holds regular expressions that are matched against lines of output.
type Markers struct {
	// Waiting matches a line that asks the user. The question is the text of the first capture
	// group, or the whole match if the expression has no group.
	Waiting string `yaml:"waiting"`
	// RateLimit matches a line that reports a rate limit. The time when the limit ends is read from
	// the capture group named "reset". If there is no such group or no time in it, the time is read
	// from the whole line.
	RateLimit string `yaml:"rate_limit"`
	// Done matches a line that reports success. If Done is set, exit code 0 alone is not
	// a success.
	Done string `yaml:"done"`
	// Failed matches a line that reports a failure. Such a line counts even if the exit code is 0.
	Failed string `yaml:"failed"`
}

// kinds returns the constructors of the adapters for the built-in agents, by the agent's name.
func kinds() map[string]func(setup) Agent {
	return map[string]func(setup) Agent{
		"claude":   func(s setup) Agent { return claude{s} },
		"codex":    func(s setup) Agent { return codex{s} },
		"gemini":   func(s setup) Agent { return gemini{s} },
		"opencode": func(s setup) Agent { return opencode{s} },
		"command":  func(s setup) Agent { return command{s} },
	}
}

// Names returns the names of the built-in agents, which need no configuration.
func Names() []string { return []string{"claude", "codex", "gemini", "opencode", "command"} }

// New returns the named agent. The name is one of [Names] or a key of custom. If it is both, the
// agent has the settings in custom.
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

// Kind returns the name of the built-in agent whose protocol the named agent uses.
func Kind(name string, custom map[string]Custom) string {
	switch like := custom[name].Like; {
	case like != "":
		return like
	case slices.Contains(Names(), name):
		return name
	}
	return "command"
}

// setup is the part of a Custom that adapters use, after validation.
type setup struct {
	argv    []string                // the program and its first arguments; may be empty only for agent "command"
	env     []string                // variables with plain values, as NAME=value
	refs    map[string]secret.Value // variables whose values are references to secrets, by name
	prompt  PromptMethod            // how the program gets the prompt; empty means the protocol's default
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

func checkPrompt(name, like string, way PromptMethod) error {
	switch {
	case !slices.Contains([]PromptMethod{"", Stdin, Argument, File}, way):
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

// invalid is the error for an agent whose settings cannot work.
type invalid struct{ text string }

func (e invalid) Error() string { return e.text }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (invalid) Invalid() bool { return true }

func badKey(agent, key, found, want string) error {
	return invalid{fmt.Sprintf("agent %s: %s: found %q, %s", agent, key, found, want)}
}

// UnknownError reports an agent name that is neither built in nor in gaffer.yaml.
type UnknownError struct {
	Name    string
	Nearest string // the most similar known name; empty if none is similar
	Known   []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("agent %q is not known, want one of %s", e.Name, strings.Join(e.Known, ", "))
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (*UnknownError) Invalid() bool { return true }

// Hint returns advice for the user.
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
