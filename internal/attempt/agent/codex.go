package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gaffer/internal/engine/failure"
)

// codex is Codex: its app server where a person answers, otherwise codex exec.
type codex struct{ setup }

func (c codex) Launch(r Request) (Launch, error) {
	if asks(r.Policy) {
		return c.server(r), nil
	}
	argv := append(slices.Clone(c.argv), "exec", "--json", "--disable", "plugins", "--skip-git-repo-check")
	argv = append(argv, c.sandbox(r.Policy)...)
	if r.Model != "" {
		argv = append(argv, "-m", r.Model)
	}
	if r.Thread != "" && !r.Begin {
		argv = append(argv, "resume", r.Thread)
	}
	l := Launch{Argv: append(argv, "-"), Env: c.env, Input: []byte(r.Prompt), Linger: linger}
	if c.prompt == Argument {
		l.Argv, l.Input = append(argv, "--", r.Prompt), nil
	}
	return l, nil
}

// sandbox lets the agent write in its folder, without which codex works only to
// throw the work away, and anywhere if all is allowed. Who has chosen otherwise
// keeps the choice.
func (c codex) sandbox(p Policy) []string {
	for _, a := range c.argv {
		if a == "-s" || a == "--full-auto" || strings.HasPrefix(a, "--sandbox") || strings.HasPrefix(a, "--dangerously-") || strings.Contains(a, "sandbox_mode") {
			return nil
		}
	}
	mode := "workspace-write"
	if p == Allow {
		mode = "danger-full-access"
	}
	return []string{"-c", fmt.Sprintf("sandbox_mode=%q", mode)}
}

func (c codex) Reader(r Request) Reader {
	if asks(r.Policy) {
		return newServerReader(r)
	}
	return &codexReader{used: r.Used}
}

// codexReader reads what codex exec prints.
type codexReader struct {
	used   Usage // by the conversation before
	text   string
	said   *word
	denied denial
	rest   tail
}

type codexLine struct {
	Type     string    `json:"type"`
	ThreadID string    `json:"thread_id"`
	Item     codexItem `json:"item"`
	Message  string    `json:"message"`
	Usage    struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (c *codexReader) Line(line []byte) []Signal {
	var l codexLine
	if !decode(line, &l) {
		c.plain(line)
		return nil
	}
	switch l.Type {
	case "thread.started":
		return []Signal{{State: Running, Thread: l.ThreadID}}
	case "turn.started":
		c.rest.forget() // it was about how Codex is set up
		return []Signal{{State: Running}}
	case "item.started", "item.updated", "item.completed":
		return c.item(l.Item)
	case "error":
		return retrying(l.Message)
	case "turn.failed":
		c.said = &word{class: classify(0, l.Error.Message), text: l.Error.Message}
		return []Signal{{Ended: true}}
	case "turn.completed":
		c.said = &word{text: c.text}
		return []Signal{{Usage: c.since(l.Usage.Input, l.Usage.Output), Ended: true}}
	}
	return nil
}

// retrying: an error on a line of its own is never the last word. What codex
// gives up on comes again as a failed turn.
func retrying(message string) []Signal {
	if strings.HasPrefix(message, "Reconnecting") {
		return []Signal{{State: Retrying, Doing: brief(message)}}
	}
	return nil
}

// since takes off what the conversation had used before: codex counts the whole
// of it, in each attempt again.
func (c *codexReader) since(input, output int64) *Usage {
	return &Usage{Input: max(0, input-c.used.Input), Output: max(0, output-c.used.Output)}
}

func (c *codexReader) item(i codexItem) []Signal {
	switch i.Type {
	case "error":
		return nil // a warning
	case "agent_message":
		c.text = i.Text
	}
	c.denied.item(i)
	return []Signal{{State: Running, Progress: true, Doing: i.doing()}}
}

// plain takes a line of stderr. That something was refused is said only there.
func (c *codexReader) plain(line []byte) {
	c.rest.add(line)
	text := clean(string(line[:min(len(line), 4000)]))
	if strings.Contains(text, "codex_core::") && strings.Contains(text, "approval policy is Never; reject command") {
		c.denied.add("a command outside the sandbox")
	}
}

func (c *codexReader) Verdict(exit Exit) Verdict {
	return judge(c.said, c.denied, c.rest.String(), exit)
}

// item takes in what Codex has done, or was not allowed to do.
func (d *denial) item(i codexItem) {
	switch i.Status {
	case "declined":
		d.add(i.doing())
	case "completed", "failed":
		switch i.Type {
		case "command_execution", "commandExecution", "file_change", "fileChange", "mcp_tool_call", "mcpToolCall":
			d.used()
		}
	}
}

// codexItem is one thing that Codex does. The app server spells it otherwise.
type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Command string `json:"command"`
	Status  string `json:"status"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Query   string `json:"query"`
	Message string `json:"message"` // of a warning

	Output       string `json:"aggregated_output"`
	ServerOutput string `json:"aggregatedOutput"`
	Exit         *int   `json:"exit_code"`
	ServerExit   *int   `json:"exitCode"`

	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
}

func (i codexItem) doing() string { return brief(i.what()) }

// what is the item in words, however many.
func (i codexItem) what() string {
	switch i.Type {
	case "command_execution", "commandExecution":
		return "shell: " + unwrapped(i.Command)
	case "file_change", "fileChange":
		var paths []string
		for _, c := range i.Changes {
			paths = append(paths, c.Path)
		}
		return "edit: " + strings.Join(paths, ", ")
	case "mcp_tool_call", "mcpToolCall":
		return i.Server + ": " + i.Tool
	case "web_search", "webSearch":
		return "search: " + i.Query
	case "agent_message", "agentMessage":
		return i.Text
	}
	return ""
}

// shellCall is one shell of the system that runs one word. A word in double
// quotes that the shell would change is left as it is.
var shellCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(?:/(?:usr/(?:local/)?)?bin/)?(?:ba|da|k|z)?sh -l?c (?:" +
		"'([^']*)'|\"([^\"\\\\$`!]*)\"|([A-Za-z0-9_./:=@%+-]+))$")
})

// unwrapped is the command that a person knows within the shell that runs it.
// What is anything else than that shell and its command is shown whole: a person
// must not allow a part of it.
func unwrapped(command string) string {
	if m := shellCall().FindStringSubmatch(command); m != nil {
		return m[1] + m[2] + m[3]
	}
	return command
}

// codexClass is the failure class of what the app server calls an error.
func codexClass(kind string, status int, text string) failure.Class {
	switch kind {
	case "contextWindowExceeded":
		return failure.ContextOverflow
	case "usageLimitExceeded", "rateLimitExceeded":
		return failure.RateLimited
	case "unauthorized":
		return failure.Auth
	case "serverOverloaded", "internalServerError":
		return failure.APIError
	case "tooManyDenials":
		return failure.Denied
	case "sessionBudgetExceeded":
		return failure.OverBudget
	}
	return classify(status, text)
}
