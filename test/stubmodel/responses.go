package stubmodel

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// responses implements the protocol of OpenAI's responses API, as Codex uses it.
type responses struct{}

type responsesTool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Params json.RawMessage `json:"parameters"`
	Tools  []responsesTool `json:"tools"`
}

type responsesRequest struct {
	Model string            `json:"model"`
	Tools []responsesTool   `json:"tools"`
	Input []json.RawMessage `json:"input"`
}

func (responses) read(body []byte) modelRequest {
	var r responsesRequest
	_ = json.Unmarshal(body, &r) // ignore the error: fields of an unexpected type stay empty
	h := modelRequest{model: r.Model, stream: true}
	for _, t := range r.Tools {
		h.tools = append(h.tools, t.flat("")...)
	}
	for _, item := range r.Input {
		h.side = h.side || isSide(string(item))
	}
	if n := len(r.Input); n > 0 {
		var last struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(r.Input[n-1], &last) // ignore the error: fields of an unexpected type stay empty
		h.done = strings.HasSuffix(last.Type, "_output")
	}
	h.running = runningSession(r.Input)
	return h
}

var sessionInOutput = regexp.MustCompile(`Process running with session ID (\d+)`)

// runningSession looks for the result of the last tool call in input. If the result says that the
// call's command still runs, runningSession returns the id of the shell session in which it runs.
// It returns "" if the command has ended, or if anything other than messages of the user follows
// the result.
func runningSession(input []json.RawMessage) string {
	for _, item := range slices.Backward(input) {
		var i struct {
			Type string `json:"type"`
			Role string `json:"role"`
		}
		_ = json.Unmarshal(item, &i) // ignore the error: fields of an unexpected type stay empty
		if i.Type == "function_call_output" {
			if m := sessionInOutput.FindSubmatch(item); m != nil {
				return string(m[1])
			}
			return ""
		}
		if i.Role != "user" {
			return ""
		}
	}
	return ""
}

// flat returns the tools that t describes. If t is a namespace, these are the tools in that
// namespace; otherwise it is only t itself. The parameter space is the name of the namespace that
// contains t, or empty if there is none.
func (t responsesTool) flat(space string) []tool {
	if t.Type != "namespace" {
		name := t.Name
		if name == "" {
			name = t.Type
		}
		return []tool{{name: name, space: space, params: properties(t.Params)}}
	}
	var all []tool
	for _, inner := range t.Tools {
		all = append(all, inner.flat(t.Name)...)
	}
	return all
}

func (responses) failed(status int, f vendorError) any {
	e := object{"message": f.message, "type": f.kind, "code": f.kind, "param": nil}
	if status == 429 {
		e["code"] = "rate_limit_exceeded"
	}
	if !f.reset.IsZero() {
		e["type"], e["plan_type"] = "usage_limit_reached", "pro"
		e["resets_at"], e["resets_in_seconds"] = f.reset.Unix(), int(limitDuration.Seconds())
	}
	return object{"error": e}
}

func (p responses) say(out *response, _ string, h modelRequest, r reply) {
	number := 0
	event := func(kind string, fields object) {
		number++
		fields["type"], fields["sequence_number"] = kind, number
		out.event(kind, fields)
	}
	response := object{"id": id("resp_"), "object": "response", "created_at": 1735689600, "status": "in_progress", "model": h.model, "output": []object{}}
	out.begin()
	event("response.created", object{"response": response})
	item := p.item(out, r, event)
	event("response.output_item.done", object{"output_index": 0, "item": item})
	response["status"], response["output"], response["usage"] = "completed", []object{item}, p.usage()
	event("response.completed", object{"response": response})
}

// item returns the only output item of a response: a tool call or a message. Before it returns a
// message, it streams the text of the message word by word.
func (responses) item(out *response, r reply, event func(string, object)) object {
	if r.call != nil {
		return r.call.responsesItem()
	}
	item := object{"type": "message", "id": id("msg_"), "role": "assistant", "status": "in_progress", "content": []object{}}
	event("response.output_item.added", object{"output_index": 0, "item": item})
	var all strings.Builder
	out.words(r.text, func(word string) {
		all.WriteString(word)
		event("response.output_text.delta", object{"item_id": item["id"], "output_index": 0, "content_index": 0, "delta": word})
	})
	item["status"] = "completed"
	item["content"] = []object{{"type": "output_text", "text": all.String(), "annotations": []object{}}}
	return item
}

func (c call) responsesItem() object {
	item := object{"id": id("item_"), "call_id": id("call_"), "name": c.name, "status": "completed"}
	if c.space != "" {
		item["namespace"] = c.space
	}
	if c.free != "" {
		item["type"], item["input"] = "custom_tool_call", c.free
		return item
	}
	item["type"], item["arguments"] = "function_call", c.arguments()
	return item
}

func (responses) usage() object {
	return object{
		"input_tokens": InputTokens, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": OutputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": InputTokens + OutputTokens,
	}
}
