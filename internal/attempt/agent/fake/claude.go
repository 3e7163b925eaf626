package fake

import (
	"fmt"
	"io"
)

// claude imitates Claude Code over stdio.
type claude struct {
	*world
	options
	tools   int
	asked   int
	denials []object
}

func (c *claude) begin() (string, error) {
	if c.thread == "" {
		c.thread = uuid()
	}
	prompt := c.prompt
	if !c.given {
		var line struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		}
		if err := c.read(&line); err != nil {
			return "", fmt.Errorf("read the prompt: %w", err)
		}
		prompt = line.Message.Content
	}
	c.state("running")
	c.json(object{"type": "system", "subtype": "init", "session_id": c.thread, "model": "fake", "permissionMode": "default"})
	return prompt, nil
}

func (c *claude) state(state string) {
	c.json(object{"type": "system", "subtype": "session_state_changed", "state": state, "session_id": c.thread})
}

func (c *claude) message(kind string, content object) {
	c.json(object{"type": kind, "message": object{"role": kind, "content": []object{content}}, "parent_tool_use_id": nil, "session_id": c.thread})
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

func (c *claude) tool(name, input string) func(string, int) {
	id := c.use(name, object{"command": input})
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

// request asks for permission to use a tool and waits for the answer to this request.
func (c *claude) request(id, name string, input object) (controlResponse, bool) {
	c.asked++
	request := fmt.Sprintf("request-%d", c.asked)
	c.state("requires_action")
	c.json(object{"type": "control_request", "request_id": request, "request": object{
		"subtype": "can_use_tool", "tool_name": name, "input": input, "tool_use_id": id,
	}})
	for {
		var r controlResponse
		if err := c.read(&r); err != nil {
			return r, false
		}
		if r.Type == "control_response" && r.Response.RequestID == request {
			c.state("running")
			if r.Response.Response.Behavior != "allow" {
				c.denials = append(c.denials, object{"tool_name": name, "tool_use_id": id, "tool_input": input})
			}
			return r, true
		}
	}
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
	in := object{"command": input}
	id := c.use(tool, in)
	r, ok := c.request(id, tool, in)
	allowed := ok && r.Response.Response.Behavior == "allow"
	c.used(id, r.Response.Response.Message, !allowed)
	return allowed
}

func (c *claude) retry(n int) {
	c.json(object{"type": "system", "subtype": "api_retry", "attempt": n, "max_retries": 10, "retry_delay_ms": 100, "error_status": 529, "error": "overloaded", "session_id": c.thread})
}

func (c *claude) compact() {
	c.json(object{"type": "system", "subtype": "compact_boundary", "compact_metadata": object{"trigger": "auto", "pre_tokens": 155000}, "session_id": c.thread})
}

func (c *claude) torn() {
	c.line(`{"type":"result","subtype":"success","is_error":false,"result":"Done`)
}

func (c *claude) done(text string, u usage) { c.result(object{"result": text, "is_error": false}, u) }

func (c *claude) failed(f fault, u usage) int {
	if !f.reset.IsZero() {
		c.json(object{"type": "rate_limit_event", "rate_limit_info": object{"status": "rejected", "resetsAt": f.reset.Unix(), "rateLimitType": "five_hour"}, "session_id": c.thread})
	}
	r := object{"is_error": true, "result": f.words()}
	switch {
	case f.long:
		r["api_error_status"], r["terminal_reason"] = 400, "prompt_too_long"
		r["result"] = "Prompt is too long"
		c.synthetic("invalid_request", r)
	case f.status != 0:
		r["api_error_status"] = f.status
		r["result"] = fmt.Sprintf("API Error: %d %s", f.status, f.words())
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

// synthetic prints an error in place of a message of the model.
func (c *claude) synthetic(cause string, result object) {
	c.json(object{"type": "assistant", "error": cause, "session_id": c.thread, "parent_tool_use_id": nil, "message": object{
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
		"usage":      object{"input_tokens": u.input, "output_tokens": u.output},
		"modelUsage": object{"fake": object{"inputTokens": u.input, "outputTokens": u.output, "costUSD": u.usd}},
	}
	for key, value := range r {
		line[key] = value
	}
	c.json(line)
	c.state("idle")
}

// leave waits for the end of stdin, which stays open for another turn.
func (c *claude) leave() {
	if !c.given {
		_, _ = io.Copy(io.Discard, c.in)
	}
}
