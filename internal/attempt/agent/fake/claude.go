package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// claude imitates Claude Code over stdio.
type claude struct {
	*stdio
	options
	*stdinQueue
	seen         map[string]bool // UUIDs of the messages that handleLine has read
	cutByMessage atomic.Bool     // the turn was ended by a message of the user, not by an interrupt
	tools        int
	asked        int
	denials      []object
	reported     usage                 // total usage that the messages of the model have reported so far
	spent        atomic.Pointer[usage] // copy of the field reported that handleLine may read; nil before the first report
}

func (c *claude) begin() (string, error) {
	if c.thread == "" {
		c.thread = uuid()
	}
	prompt := c.prompt
	if !c.given {
		c.listen(c.stdio, c.handleLine)
		l, ok := c.stdinQueue.next()
		if !ok {
			return "", fmt.Errorf("read the prompt: %w", io.EOF)
		}
		prompt = l.text
		defer c.echo(l)
	}
	c.state("running")
	c.printInit()
	return prompt, nil
}

func (c *claude) printInit() {
	c.writeJSON(object{"type": "system", "subtype": "init", "session_id": c.thread, "model": "fake", "permissionMode": "default"})
}

// echo prints a message of the user at the moment when it is passed to the model. It prints nothing
// if the program was started without --replay-user-messages.
func (c *claude) echo(l userMessage) {
	if c.replay {
		c.writeJSON(object{
			"type": "user", "message": object{"role": "user", "content": l.text}, "parent_tool_use_id": nil, "session_id": c.thread,
			"uuid": l.key, "timestamp": time.Now().UTC().Format(time.RFC3339Nano), "isReplay": true,
		})
	}
}

type claudeInput struct {
	Type      string `json:"type"`
	UUID      string `json:"uuid"`
	Priority  string `json:"priority"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
		Message string `json:"message_uuid"`
	} `json:"request"`
	Message struct {
		Content string `json:"content"`
	} `json:"message"`
}

// handleLine handles a line of stdin: a message of the user, an answer to a request of the agent,
// or a control request.
func (c *claude) handleLine(line []byte) {
	var in claudeInput
	_ = json.Unmarshal(line, &in) // on an error, keep what could be decoded
	switch {
	case in.Type == "user" && in.UUID != "" && c.seen[in.UUID]:
		// The message was sent twice. Ignore the second copy, but print it without a time, as the
		// real program does.
		c.writeJSON(object{"type": "user", "message": in.Message, "session_id": c.thread, "uuid": in.UUID, "isReplay": true})
	case in.Type == "user":
		c.seen[in.UUID] = true
		c.change(func() {
			c.queue = append(c.queue, userMessage{key: in.UUID, text: in.Message.Content})
			if in.Priority == "now" {
				c.cutByMessage.Store(true)
				c.cutTurn()
			}
		})
	case in.Type == "control_response":
		c.change(func() { c.answers = append(c.answers, line) })
	case in.Request.Subtype == "interrupt":
		c.controlReply(in.RequestID, nil)
		c.cutTurn()
	case in.Request.Subtype == "get_session_cost":
		var cost float64
		if u := c.spent.Load(); u != nil {
			cost = u.usd
		}
		c.controlReply(in.RequestID, object{"text": fmt.Sprintf("Total cost:            $%.4f\nTotal duration (API):  1s", cost)})
	case in.Request.Subtype == "cancel_async_message":
		c.controlReply(in.RequestID, object{"cancelled": c.drop(in.Request.Message)})
	}
}

func (c *claude) controlReply(id string, response object) {
	c.writeJSON(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": response}})
}

func (c *claude) arrived() []string {
	if c.given {
		return nil
	}
	var texts []string
	for _, l := range c.take(c.stdio) {
		c.echo(l)
		texts = append(texts, l.text)
	}
	return texts
}

// endTurn always returns true: messages that are still queued get another turn.
func (c *claude) endTurn() bool { return true }

func (c *claude) interrupted(u usage) int {
	if c.cutByMessage.Swap(false) {
		c.result(object{"result": "", "is_error": false, "terminal_reason": "aborted_streaming"}, u)
		return 0
	}
	c.message("user", object{"type": "text", "text": "[Request interrupted by user]"})
	c.result(object{"is_error": true, "subtype": "error_during_execution", "terminal_reason": "aborted_streaming", "errors": []string{}}, u)
	return 1
}

// next waits for the message that starts another turn. It returns false when stdin ends. If the
// prompt was not read from stdin, it returns false immediately.
func (c *claude) next() (string, bool) {
	if c.given {
		return "", false
	}
	l, ok := c.stdinQueue.next()
	if !ok {
		return "", false
	}
	c.cutByMessage.Store(false)
	c.printInit()
	c.echo(l)
	return l.text, true
}

func (c *claude) state(state string) {
	c.writeJSON(object{"type": "system", "subtype": "session_state_changed", "state": state, "session_id": c.thread})
}

func (c *claude) message(kind string, content object) {
	c.writeJSON(object{"type": kind, "message": object{"role": kind, "content": []object{content}}, "parent_tool_use_id": nil, "session_id": c.thread, "uuid": uuid()})
}

// spend prints a message of the model with the tokens that were used since the model's previous
// message. The cost is printed only in the result, or when gaffer asks for it.
func (c *claude) spend(u usage) bool {
	c.tools++
	c.spent.Store(&u)
	c.writeJSON(object{"type": "assistant", "message": object{
		"id": fmt.Sprintf("msg_%d", c.tools), "role": "assistant", "content": []object{},
		"usage": object{"input_tokens": u.input - u.cached - c.reported.input + c.reported.cached, "cache_read_input_tokens": u.cached - c.reported.cached, "output_tokens": u.output - c.reported.output},
	}, "parent_tool_use_id": nil, "session_id": c.thread})
	c.reported = u
	return c.most == 0 || u.usd < c.most
}

func (c *claude) say(text string) { c.message("assistant", object{"type": "text", "text": text}) }

func (c *claude) use(name string, input object) (id string) {
	c.tools++
	id = fmt.Sprintf("toolu_%d", c.tools)
	c.message("assistant", object{"type": "tool_use", "id": id, "name": name, "input": input})
	return id
}

func (c *claude) used(id, output string, isError bool) {
	c.message("user", object{"type": "tool_result", "tool_use_id": id, "content": output, "is_error": isError})
}

func (c *claude) tool(name string, input object) func(string, int) {
	id := c.use(name, input)
	return func(output string, code int) { c.used(id, output, code != 0) }
}

type controlResponse struct {
	Type     string `json:"type"`
	Response struct {
		RequestID string `json:"request_id"`
		Response  struct {
			Behavior     string `json:"behavior"`
			Message      string `json:"message"`
			UpdatedInput struct {
				Answers map[string]string `json:"answers"`
			} `json:"updatedInput"`
		} `json:"response"`
	} `json:"response"`
}

// request asks for permission to use a tool and waits for the answer to this request. It returns
// false if stdin or the turn ends before the answer.
func (c *claude) request(id, name string, input object) (controlResponse, bool) {
	c.asked++
	request := fmt.Sprintf("request-%d", c.asked)
	c.state("requires_action")
	c.writeJSON(object{"type": "control_request", "request_id": request, "request": object{
		"subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": id,
	}})
	var r controlResponse
	ok := c.answer(c.stdio, func(line []byte) bool {
		r = controlResponse{}
		return json.Unmarshal(line, &r) == nil && r.Response.RequestID == request
	})
	if !ok {
		c.writeJSON(object{"type": "control_cancel_request", "request_id": request})
		return r, false
	}
	c.state("running")
	if r.Response.Response.Behavior != "allow" {
		c.denials = append(c.denials, object{"tool_name": name, "tool_use_id": id, "tool_input": input})
	}
	return r, true
}

func (c *claude) ask(question string, labels []string) (string, bool) {
	var choices []object
	for _, label := range labels {
		choices = append(choices, object{"label": label, "description": label})
	}
	input := object{"questions": []object{{"question": question, "header": "Question", "multiSelect": false, "options": choices}}}
	id := c.use("AskUserQuestion", input)
	r, ok := c.request(id, "AskUserQuestion", input)
	if !ok || r.Response.Response.Behavior != "allow" {
		c.used(id, r.Response.Response.Message, true)
		return "", false
	}
	answer := r.Response.Response.UpdatedInput.Answers[question]
	c.used(id, fmt.Sprintf("%q=%q", question, answer), false)
	return answer, true
}

func (c *claude) permission(tool, input string) bool {
	in := object{inputName(tool): input}
	id := c.use(tool, in)
	r, ok := c.request(id, tool, in)
	allowed := ok && r.Response.Response.Behavior == "allow"
	c.used(id, r.Response.Response.Message, !allowed)
	return allowed
}

// inputName returns the name of the most important member of a tool's input, such as "command".
func inputName(tool string) string {
	switch tool {
	case "Edit", "Write", "Read":
		return "file_path"
	case "WebFetch":
		return "url"
	}
	return "command"
}

func (c *claude) retry(n int) {
	c.writeJSON(object{"type": "system", "subtype": "api_retry", "attempt": n, "max_retries": 10, "retry_delay_ms": 100, "error_status": 529, "error": "overloaded", "session_id": c.thread})
}

func (c *claude) compact() {
	c.writeJSON(object{"type": "system", "subtype": "compact_boundary", "compact_metadata": object{"trigger": "auto", "pre_tokens": 155000}, "session_id": c.thread})
}

func (c *claude) halfDone() {
	c.line(`{"type":"result","subtype":"success","is_error":false,"result":"Done`)
}

func (c *claude) done(text string, u usage) { c.result(object{"result": text, "is_error": false}, u) }

func (c *claude) failed(f fault, u usage) int {
	if !f.reset.IsZero() {
		c.writeJSON(object{"type": "rate_limit_event", "rate_limit_info": object{"status": "rejected", "resetsAt": f.reset.Unix(), "rateLimitType": "five_hour"}, "session_id": c.thread})
	}
	r := object{"is_error": true, "result": f.message()}
	switch {
	case f.budget:
		delete(r, "result")
		r["subtype"], r["errors"] = "error_max_budget_usd", []string{fmt.Sprintf("Reached maximum budget ($%g)", c.most)}
	case f.long:
		r["api_error_status"], r["terminal_reason"] = 400, "prompt_too_long"
		r["result"] = "Prompt is too long"
		c.synthetic("invalid_request", r)
	case f.status != 0:
		r["api_error_status"] = f.status
		r["result"] = fmt.Sprintf("API Error: %d %s", f.status, f.message())
		c.synthetic(cause(f.status), r)
	default:
		r["subtype"] = "error_during_execution"
	}
	c.result(r, u)
	return 1
}

func cause(status int) string {
	switch status {
	case 401, 403:
		return "authentication_failed"
	case 429:
		return "rate_limit"
	}
	return "server_error"
}

// synthetic prints an error as a message of the model, as Claude Code does for errors of the
// model's servers.
func (c *claude) synthetic(cause string, result object) {
	c.writeJSON(object{"type": "assistant", "error": cause, "session_id": c.thread, "parent_tool_use_id": nil, "message": object{
		"model": "<synthetic>", "role": "assistant", "content": []object{{"type": "text", "text": result["result"]}},
	}})
}

func (c *claude) result(r object, u usage) {
	if c.denials == nil {
		c.denials = []object{}
	}
	line := object{
		"type": "result", "subtype": "success", "api_error_status": nil, "session_id": c.thread, "num_turns": 1,
		"total_cost_usd": u.usd, "permission_denials": c.denials, "terminal_reason": "completed",
		"usage":      object{"input_tokens": u.input - u.cached, "cache_read_input_tokens": u.cached, "output_tokens": u.output},
		"modelUsage": object{"fake": object{"inputTokens": u.input - u.cached, "cacheReadInputTokens": u.cached, "outputTokens": u.output, "costUSD": u.usd}},
	}
	for key, value := range r {
		line[key] = value
	}
	c.writeJSON(line)
	if c.idle() {
		c.state("idle")
	}
}
