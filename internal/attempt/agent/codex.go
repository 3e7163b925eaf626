package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"gaffer/internal/engine/failure"
)

// codex is the adapter for Codex. It runs "codex app-server" if the user or rules decide about
// requests for permission, or if there is a token limit. Otherwise it runs "codex exec".
type codex struct{ setup }

func (c codex) Launch(r Request) (Launch, error) {
	if usesServer(r) {
		return c.server(r), nil
	}
	argv := append(slices.Clone(c.argv), "exec", "--json", "--disable", "plugins", "--skip-git-repo-check")
	argv = append(argv, c.sandbox(r)...)
	if r.Model != "" {
		argv = append(argv, "-m", r.Model)
	}
	switch {
	case r.Fork != nil && r.Fork.Point != "":
		return Launch{}, errors.New("codex exec copies only whole conversations")
	case r.Fork != nil:
		argv = append(argv, "fork", r.Fork.Thread)
	case r.Thread != "" && !r.Begin:
		argv = append(argv, "resume", r.Thread)
	}
	l := Launch{Argv: append(argv, "-"), Env: c.env, Input: []byte(r.Prompt), Linger: linger}
	if c.prompt == Argument {
		l.Argv, l.Input = append(argv, "--", r.Prompt), nil
	}
	return l, nil
}

// sandbox returns the arguments that choose the mode of Codex's own sandbox. By default the agent
// may write only in its folder and in /tmp. Codex uses no sandbox of its own in two cases:
//   - Codex runs inside an outer sandbox, where it cannot make its own.
//   - The agent may do everything without permission, and r does not ask for Codex's own sandbox.
//
// Permission rules need the sandbox, because Codex asks for permission only when a command has to
// leave the sandbox. If the configured arguments already choose a sandbox, the result is nil.
func (c codex) sandbox(r Request) []string {
	for _, a := range c.argv {
		if a == "-s" || a == "--full-auto" || strings.HasPrefix(a, "--sandbox") || strings.HasPrefix(a, "--dangerously-") || strings.Contains(a, "sandbox_mode") {
			return nil
		}
	}
	own := r.Sandbox == OwnSandbox || r.Sandbox == OwnOffline
	mode := "workspace-write"
	if r.Sandbox == InAnOuter || r.allowsAll() && !own {
		mode = "danger-full-access"
	}
	argv := []string{"-c", fmt.Sprintf("sandbox_mode=%q", mode)}
	if own {
		// By default Codex does not let the agent write to the repository's .git, so the agent
		// could not commit. r.Writable contains the folders that a commit writes to.
		roots, _ := json.Marshal(append([]string{}, r.Writable...)) // cannot fail: these are strings
		argv = append(argv, "-c", "sandbox_workspace_write.writable_roots="+string(roots),
			"-c", fmt.Sprintf("sandbox_workspace_write.network_access=%t", r.Sandbox == OwnSandbox))
	}
	return argv
}

// usesServer reports whether Codex runs as an app server. "codex exec" can neither ask the user nor
// report its usage before the end.
func usesServer(r Request) bool { return r.asks() || r.LimitTokens > 0 }

func (c codex) Reader(r Request) Reader {
	if usesServer(r) {
		return newServerReader(r)
	}
	return &codexReader{usedBefore: r.Used}
}

// codexReader interprets the output of "codex exec".
type codexReader struct {
	usedBefore  Usage // usage of the conversation before this attempt
	text        string
	final       *finalMessage
	denied      denial
	otherOutput lastOutput
}

type codexLine struct {
	Type     string    `json:"type"`
	ThreadID string    `json:"thread_id"`
	Item     codexItem `json:"item"`
	Message  string    `json:"message"`
	Usage    struct {
		Input  int64 `json:"input_tokens"`
		Cached int64 `json:"cached_input_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (c *codexReader) Line(line []byte) []Signal {
	var l codexLine
	if !decode(line, &l) {
		c.stderrLine(line)
		return nil
	}
	switch l.Type {
	case "thread.started":
		return []Signal{{State: Running, Thread: l.ThreadID}}
	case "turn.started":
		c.otherOutput.forget() // the lines so far are only about Codex's setup
		return []Signal{{State: Running}}
	case "item.started", "item.updated", "item.completed":
		return c.item(l.Item)
	case "error":
		return retrying(l.Message)
	case "turn.failed":
		c.final = &finalMessage{class: classify(0, l.Error.Message), text: l.Error.Message}
		return []Signal{{Ended: true}}
	case "turn.completed":
		c.final = &finalMessage{text: c.text}
		return []Signal{{Usage: since(Usage{Input: l.Usage.Input, Output: l.Usage.Output, Cached: l.Usage.Cached}, c.usedBefore), Ended: true}}
	}
	return nil
}

// retrying returns the signals for an "error" line of Codex. If the line says that Codex reconnects
// to its servers, there is one signal, otherwise none. The line never ends the attempt, because
// Codex also prints a "turn.failed" line if it gives up.
func retrying(message string) []Signal {
	if strings.HasPrefix(message, "Reconnecting") {
		return []Signal{{State: Retrying, Doing: shortLine(message)}}
	}
	return nil
}

// since returns the usage of this attempt: total minus before. The subtraction is necessary because
// Codex reports the usage of the whole conversation, which may have begun before this attempt.
func since(total, before Usage) *Usage {
	return &Usage{Input: max(0, total.Input-before.Input), Output: max(0, total.Output-before.Output), Cached: max(0, total.Cached-before.Cached)}
}

func (c *codexReader) item(i codexItem) []Signal {
	switch i.Type {
	case "error":
		return nil // an item of this type is only a warning
	case "agent_message":
		c.text = i.Text
	}
	c.denied.item(i)
	return []Signal{{State: Running, Progress: true, Doing: i.doing()}}
}

// stderrLine handles a line that is not JSON, such as a line of stderr. If the line reports a
// denied command, stderrLine records the denial.
func (c *codexReader) stderrLine(line []byte) {
	c.otherOutput.add(line)
	text := clean(string(line[:min(len(line), 4000)]))
	if strings.Contains(text, "codex_core::") && strings.Contains(text, "approval policy is Never; reject command") {
		c.denied.add("a command outside the sandbox")
	}
}

func (c *codexReader) Verdict(exit Exit) Verdict {
	return judge(c.final, c.denied, c.otherOutput.String(), exit)
}

// item evaluates item i of Codex's output. If i is a denied action, item records the denial. If i
// is a tool use that has ended, item records that the agent has used a tool.
func (d *denial) item(i codexItem) {
	switch i.Status {
	case "declined":
		d.add(i.doing())
	case "completed", "failed":
		switch i.Type {
		case "command_execution", "commandExecution", "file_change", "fileChange", "mcp_tool_call", "mcpToolCall":
			d.usedTool()
		}
	}
}

// codexItem is one item of Codex's output, such as a message or a command. "codex exec" and the app
// server use different JSON names for the same member, such as exit_code and exitCode.
type codexItem struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Text    string `json:"text"`
	Command string `json:"command"`
	Status  string `json:"status"`
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Query   string `json:"query"`
	Message string `json:"message"` // text of a warning

	Output       string `json:"aggregated_output"`
	ServerOutput string `json:"aggregatedOutput"`
	Exit         *int   `json:"exit_code"`
	ServerExit   *int   `json:"exitCode"`

	Changes []struct {
		Path string `json:"path"`
	} `json:"changes"`
}

func (i codexItem) doing() string { return shortLine(i.describe()) }

// describe describes the item in words, without a length limit.
func (i codexItem) describe() string {
	switch i.Type {
	case "command_execution", "commandExecution":
		return "shell: " + withoutShell(i.Command)
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

// shellCall matches a call of a system shell with a command that is a single shell word, such as
// bash -c 'go test' or sh -c make. A word in double quotes matches only if it has no variable or
// other expansion.
var shellCall = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(?:/(?:usr/(?:local/)?)?bin/)?(?:ba|da|k|z)?sh -l?c (?:" +
		"'([^']*)'|\"([^\"\\\\$`!]*)\"|([A-Za-z0-9_./:=@%+-]+))$")
})

// withoutShell returns the command that a call such as "bash -c 'go test'" runs. It returns any
// more complex command unchanged, so that the user always sees all of the command to approve.
func withoutShell(command string) string {
	if m := shellCall().FindStringSubmatch(command); m != nil {
		return m[1] + m[2] + m[3]
	}
	return command
}

// codexClass maps an error kind of the app server to a failure class. For kinds that do not
// determine the class, the HTTP status and the error text determine it.
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
