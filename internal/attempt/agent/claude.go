package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/internal/engine/failure"
)

// claude is the adapter for Claude Code, which talks JSON over stdio: questions and requests for
// permission are lines on its stdout, and the answers are lines on its stdin.
type claude struct{ setup }

func (c claude) Launch(r Request) (Launch, error) {
	argv := append(slices.Clone(c.argv),
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--replay-user-messages")
	switch {
	case r.Fork != nil:
		argv = append(argv, "--resume", cmp.Or(r.Fork.File, r.Fork.Thread), "--fork-session", "--session-id", r.Thread)
		if r.Fork.Point != "" {
			argv = append(argv, "--resume-session-at", r.Fork.Point)
		}
	case r.Thread != "" && r.Begin:
		argv = append(argv, "--session-id", r.Thread)
	case r.Thread != "":
		argv = append(argv, "--resume", r.Thread)
	}
	if r.Model != "" {
		argv = append(argv, "--model", r.Model)
	}
	// The limit of this attempt can be passed unchanged, because the program counts its cost from 0
	// in each process, even if it resumes a conversation.
	if r.LimitUSD > 0 {
		argv = append(argv, "--max-budget-usd", strconv.FormatFloat(r.LimitUSD, 'f', -1, 64))
	}
	rules := r.programRules()
	if len(rules.allow) > 0 {
		argv = append(append(argv, "--allowedTools"), rules.allow...)
	}
	if len(rules.deny) > 0 {
		argv = append(append(argv, "--disallowedTools"), rules.deny...)
	}
	if r.Sandbox == OwnSandbox || r.Sandbox == OwnOffline {
		argv = append(argv, "--settings", claudeSandbox(r))
	}
	return Launch{
		Argv:   argv,
		Env:    append([]string{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"}, c.env...),
		Input:  encode(object{"type": "user", "message": object{"role": "user", "content": r.Prompt}}),
		Open:   true,
		Linger: linger,
	}, nil
}

// ConversationFiles implements [ConversationFinder].
func (c claude) ConversationFiles(thread string, getenv func(string) string) string {
	dir := getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(getenv("HOME"), ".claude")
	}
	return filepath.Join(dir, "projects", "*", thread+".jsonl")
}

// claudeSandbox returns the settings that turn on the program's own sandbox. If the program cannot
// make a sandbox, failIfUnavailable makes it fail instead of running without one.
func claudeSandbox(r Request) string {
	return strings.TrimSpace(string(encode(object{"sandbox": object{
		"enabled": true, "failIfUnavailable": true, "autoAllowBashIfSandboxed": r.Policy == Allow,
		"filesystem": object{"allowWrite": append([]string{}, r.Writable...)},
	}})))
}

func (c claude) Reader(r Request) Reader {
	return &claudeReader{
		launched: r, policy: r.Policy, asks: r.asks(), asksCost: r.LimitUSD > 0,
		openRequests: map[string]string{}, counted: map[string]string{}, failedAt: map[string]int{},
	}
}

// claudeReader interprets the output of Claude Code.
type claudeReader struct {
	launched Request
	policy   Policy
	// asks means that the user or rules decide about requests for permission. If it is false, this
	// reader itself answers every request.
	asks         bool
	thread       string
	openRequests map[string]string // id of each unanswered permission request; the key is the id of the tool use that it is about
	// counted contains the id of the last message whose tokens were counted, for each sub-agent and
	// for the main agent. The key is the id of the tool use that started the sub-agent, and is
	// empty for the main agent.
	counted map[string]string
	model   string // the model of the main agent
	// window is the size of the model's context window in tokens. It is 0 until the size is known
	// from the model's name or from the program's result line.
	window         int64
	usage          Usage          // usage so far: an estimate until the program's result line shows the exact values
	deniedByGaffer []claudeDenial // requests for permission that gaffer has denied
	tools          int            // number of tool uses so far
	// failedAt contains each failed tool use, by its id. The value is the number of tool uses that
	// the agent had made when this one failed. A denied tool use also counts as failed.
	failedAt map[string]int
	// reset is when the rate limit of the model's servers ends. It is zero if the servers have
	// rejected no request because of a rate limit.
	reset time.Time
	// errorKind is the program's name for the error in the main agent's last message, such as
	// "rate_limit". It is empty if the message has no error.
	errorKind      string
	final          *finalMessage
	deniedInResult []claudeDenial // requests for permission that the program's result line lists as denied
	interrupted    bool           // the program has accepted gaffer's request to end the turn
	otherOutput    lastOutput     // the last output lines that are not JSON
	// asksCost means that the attempt has a cost limit. Then this reader asks the program for the
	// cost so far after each message with a usage.
	asksCost     bool
	costRequests int // number of requests for the cost so far
}

type claudeLine struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Parent    string `json:"parent_tool_use_id"`
	State     string `json:"state"`
	Model     string `json:"model"` // name of the main agent's model, in the init line
	RequestID string `json:"request_id"`
	UUID      string `json:"uuid"`
	Time      string `json:"timestamp"`
	Replay    bool   `json:"isReplay"` // the line repeats a message that was written to the program's stdin
	Response  struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Response  struct {
			Text string `json:"text"`
		} `json:"response"`
	} `json:"response"`
	Request struct {
		Subtype   string          `json:"subtype"`
		Tool      string          `json:"tool_name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`

		Suggestions []claudeUpdate `json:"permission_suggestions"`
	} `json:"request"`
	Message struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
		Usage   claudeTokens    `json:"usage"`
	} `json:"message"`
	Error       string `json:"error"`
	ErrorStatus int    `json:"error_status"`
	Attempt     int    `json:"attempt"`
	MaxRetries  int    `json:"max_retries"`
	Limit       struct {
		Status   string  `json:"status"`
		ResetsAt float64 `json:"resetsAt"`
	} `json:"rate_limit_info"`
	Compact struct {
		Trigger string `json:"trigger"`
		Before  int64  `json:"pre_tokens"`
	} `json:"compact_metadata"`
}

type claudeTokens struct {
	Input  int64 `json:"input_tokens"`
	Create int64 `json:"cache_creation_input_tokens"`
	Read   int64 `json:"cache_read_input_tokens"`
	Output int64 `json:"output_tokens"`
}

func (c *claudeReader) Line(line []byte) []Signal {
	var l claudeLine
	if !decode(line, &l) {
		if r, ok := readLongResult(line); ok {
			return c.result(r)
		}
		c.otherOutput.add(line)
		return nil
	}
	signals := c.read(l, line)
	if l.SessionID != "" && l.SessionID != c.thread {
		c.thread = l.SessionID
		signals = append([]Signal{{Thread: c.thread}}, signals...)
	}
	return signals
}

func (c *claudeReader) read(l claudeLine, line []byte) []Signal {
	switch l.Type {
	case "system":
		return c.system(l)
	case "assistant":
		return c.assistant(l)
	case "user":
		return c.user(l)
	case "control_request":
		return c.request(l)
	case "control_response":
		if strings.HasPrefix(l.Response.RequestID, claudeCost) {
			return c.cost(l)
		}
		c.interrupted = c.interrupted || l.Response.RequestID == claudeInterrupt && l.Response.Subtype == "success"
	case "control_cancel_request":
		return []Signal{{Closed: l.RequestID}}
	case "rate_limit_event":
		if l.Limit.Status == "rejected" {
			c.reset = unixTime(l.Limit.ResetsAt)
		}
	case "result":
		var r claudeResult
		decode(line, &r)
		return c.result(r)
	}
	return nil
}

func (c *claudeReader) system(l claudeLine) []Signal {
	switch {
	case l.Subtype == "init":
		// If an init line follows a result line, the program starts another turn, for further
		// messages of the user. Forget the earlier result, because only the result of the last turn
		// counts.
		again := c.final != nil
		c.final = nil
		if c.model = l.Model; strings.HasSuffix(c.model, "[1m]") { // suffix for a context window of a million tokens
			c.window = 1_000_000
		}
		return []Signal{{State: Running, Resumed: again}}
	case l.Subtype == "session_state_changed" && l.State == "running":
		return []Signal{{State: Running}}
	case l.Subtype == "session_state_changed" && l.State == "requires_action" && c.asks:
		return []Signal{{State: Waiting}}
	case l.Subtype == "api_retry":
		why := l.Error
		if l.ErrorStatus > 0 {
			why = fmt.Sprintf("%s (%d)", l.Error, l.ErrorStatus)
		}
		return []Signal{{State: Retrying, Doing: shortLine(fmt.Sprintf("retry %d of %d: %s", l.Attempt, l.MaxRetries, why))}}
	case l.Subtype == "compact_boundary":
		return []Signal{{Progress: true, Compacted: l.compaction()}}
	case strings.HasPrefix(l.Subtype, "task_"):
		return []Signal{{Progress: true}}
	}
	return nil
}

// compaction returns a sentence that says how the agent shortened its conversation.
func (l claudeLine) compaction() string {
	text := "The agent compacted its context"
	if l.Compact.Trigger != "" {
		text += " (" + shortLine(l.Compact.Trigger) + ")"
	}
	if l.Compact.Before > 0 {
		text += fmt.Sprintf(": %d tokens were summarized", l.Compact.Before)
	}
	return text
}

type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"` // output of a tool, in a block of type tool_result
	IsError   bool            `json:"is_error"`
}

// blocks returns the parts of a message, or none if the message is a plain string.
func (l claudeLine) blocks() []claudeBlock {
	var blocks []claudeBlock
	_ = json.Unmarshal(l.Message.Content, &blocks) // on an error, keep what could be decoded
	return blocks
}

func (c *claudeReader) assistant(l claudeLine) []Signal {
	if l.Parent == "" {
		c.errorKind = l.Error // each message overwrites this, so only the last error counts
	}
	if l.Error != "" {
		return nil // the program itself wrote this message, not the model
	}
	s := Signal{Progress: true, Usage: c.count(l)}
	if t := l.Message.Usage; s.Usage != nil && l.Parent == "" { // ignore sub-agents, which have contexts of their own
		s.Context = Context{Tokens: t.Input + t.Create + t.Read + t.Output, Window: c.window}
	}
	for _, b := range l.blocks() {
		switch {
		case b.Type == "tool_use":
			s.Doing = describeCall(b.Name, b.Input)
			c.tools++
		case b.Type == "text" && strings.TrimSpace(b.Text) != "":
			s.Doing = shortLine(b.Text)
		}
	}
	if l.Parent == "" {
		s.State = Running
	} else if s.Doing != "" {
		s.Doing = shortLine("sub-agent: " + s.Doing)
	}
	if s.Usage == nil || !c.asksCost {
		return []Signal{s}
	}
	return []Signal{s, c.askCost()}
}

// count adds a message's tokens to the usage, and returns the new usage. A message with several
// parts is printed as several lines, so each message id is counted only once. count returns nil if
// it has added nothing.
func (c *claudeReader) count(l claudeLine) *Usage {
	// maxSubAgents limits the size of the map c.counted. The messages of further sub-agents are not
	// counted here, but the usage in the program's result line includes them.
	const maxSubAgents = 1000
	last, known := c.counted[l.Parent]
	if l.Message.ID == "" || last == l.Message.ID || l.Parent != "" && !known && len(c.counted) >= maxSubAgents {
		return nil
	}
	c.counted[l.Parent] = l.Message.ID
	t := l.Message.Usage
	c.usage.Input += t.Input + t.Create + t.Read
	c.usage.Cached += t.Read
	c.usage.Output += t.Output
	used := c.usage
	return &used
}

func (c *claudeReader) user(l claudeLine) []Signal {
	if l.Replay {
		// If the line has no time, the same message was written to stdin twice, and the program has
		// dropped the second copy.
		if l.Time == "" {
			return nil
		}
		return []Signal{{Delivered: l.UUID}}
	}
	var signals []Signal
	for _, b := range l.blocks() {
		if b.Type != "tool_result" {
			continue
		}
		signals = append(signals, Signal{Progress: true})
		if b.IsError {
			c.failedAt[b.ToolUseID] = c.tools
		}
		if id, ok := c.openRequests[b.ToolUseID]; ok {
			delete(c.openRequests, b.ToolUseID)
			signals = append(signals, Signal{Closed: id})
		}
	}
	return signals
}

type claudeResult struct {
	// IsError is raw JSON, because a bool would silently be false if the value had another type.
	IsError json.RawMessage `json:"is_error"`
	Subtype string          `json:"subtype"`
	Result  string          `json:"result"`
	Errors  []string        `json:"errors"`
	Status  int             `json:"api_error_status"`
	Reason  string          `json:"terminal_reason"`
	USD     float64         `json:"total_cost_usd"`
	Usage   claudeTokens    `json:"usage"`
	Models  map[string]struct {
		Input  int64 `json:"inputTokens"`
		Output int64 `json:"outputTokens"`
		Read   int64 `json:"cacheReadInputTokens"`
		Create int64 `json:"cacheCreationInputTokens"`
		Window int64 `json:"contextWindow"`
	} `json:"modelUsage"`
	Denials []claudeDenial `json:"permission_denials"`
}

type claudeDenial struct {
	Tool      string          `json:"tool_name"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"tool_input"`
}

func (c *claudeReader) result(r claudeResult) []Signal {
	c.final = &finalMessage{class: c.class(r), text: r.text(), reset: c.reset}
	if c.final.class == failure.Interrupted {
		c.final.text = InterruptedText
	}
	c.deniedInResult = r.Denials
	c.window = cmp.Or(r.Models[c.model].Window, c.window)
	c.usage = *r.usage() // the exact usage replaces the estimate; further turns add their tokens to it
	signals := []Signal{{Usage: r.usage(), Ended: true}}
	for _, id := range slices.Sorted(maps.Values(c.openRequests)) {
		signals = append(signals, Signal{Closed: id})
	}
	clear(c.openRequests)
	return signals
}

// class returns the failure class of a result. It relies on is_error, because the subtype
// is "success" for some failures too.
func (c *claudeReader) class(r claudeResult) failure.Class {
	switch {
	case string(r.IsError) == "false":
		return failure.None
	case r.Subtype == "error_max_budget_usd":
		return failure.OverBudget
	case c.interrupted && strings.HasPrefix(r.Reason, "aborted_"):
		return failure.Interrupted
	case r.Reason == "prompt_too_long":
		return failure.ContextOverflow
	case r.Status == 0 && c.errorKind == "rate_limit":
		return failure.RateLimited
	case r.Status == 0 && c.errorKind == "authentication_failed":
		return failure.Auth
	case r.Status == 0 && c.errorKind != "":
		return failure.APIError
	}
	return classify(r.Status, r.text())
}

// text returns the text of the result, without the program's internal diagnostics.
func (r claudeResult) text() string {
	errors := slices.DeleteFunc(slices.Clone(r.Errors), func(e string) bool { return strings.HasPrefix(e, "[ede_diagnostic]") })
	switch {
	case r.Result != "" || r.Subtype == "success" && len(errors) == 0:
		return r.Result
	case len(errors) > 0:
		return strings.Join(errors, "\n")
	}
	return appendDetail(r.Subtype, r.Reason)
}

// usage returns the usage of the attempt. It prefers the token counts for each model, because they
// include sub-agents.
func (r claudeResult) usage() *Usage {
	u := Usage{USD: r.USD}
	for _, m := range r.Models {
		u.Input += m.Input + m.Read + m.Create
		u.Cached += m.Read
		u.Output += m.Output
	}
	if len(r.Models) == 0 {
		u.Input, u.Output, u.Cached = r.Usage.Input+r.Usage.Create+r.Usage.Read, r.Usage.Output, r.Usage.Read
	}
	return &u
}

func (c *claudeReader) Verdict(exit Exit) Verdict {
	list := c.deniedInResult
	if len(list) == 0 {
		list = c.deniedByGaffer
	}
	var refused denial
	last := 0 // value of c.tools at the last denial
	for _, d := range list {
		refused.add(describeCall(d.Tool, d.Input))
		if n, ok := c.failedAt[d.ToolUseID]; ok {
			last = max(last, n)
			continue
		}
		for _, n := range c.failedAt { // failedAt does not contain the denied tool use, so it may be any of the failed ones
			last = max(last, n)
		}
	}
	refused.continued = c.tools > last
	return judge(c.final, refused, c.otherOutput.String(), exit)
}
