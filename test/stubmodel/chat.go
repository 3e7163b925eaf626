package stubmodel

import "encoding/json"

// chat implements the protocol of OpenAI's chat completions API, which is older than OpenAI's
// responses API.
type chat struct{}

type chatRequest struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Tools  []struct {
		Function struct {
			Name   string          `json:"name"`
			Params json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []struct {
		Role string `json:"role"`
	} `json:"messages"`
}

func (chat) read(body []byte) modelRequest {
	var r chatRequest
	_ = json.Unmarshal(body, &r) // ignore the error: fields of an unexpected type stay empty
	h := modelRequest{model: r.Model, stream: r.Stream}
	for _, t := range r.Tools {
		h.tools = append(h.tools, tool{name: t.Function.Name, params: properties(t.Function.Params)})
	}
	if n := len(r.Messages); n > 0 {
		h.done = r.Messages[n-1].Role == "tool"
	}
	h.side = len(h.tools) == 0
	return h
}

func (chat) failed(status int, f vendorError) any { return responses{}.failed(status, f) }

func (c chat) say(out *response, _ string, h modelRequest, r reply) {
	usage := object{"prompt_tokens": InputTokens, "completion_tokens": OutputTokens, "total_tokens": InputTokens + OutputTokens}
	answer := object{"id": id("chatcmpl-"), "created": 1735689600, "model": h.model}
	if !h.stream {
		message := c.message(r)
		answer["object"], answer["usage"] = "chat.completion", usage
		answer["choices"] = []object{{"index": 0, "finish_reason": c.reason(r), "message": message}}
		out.answerWhole(answer)
		return
	}
	answer["object"] = "chat.completion.chunk"
	chunk := func(delta object, reason any) {
		answer["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": reason}}
		out.event("", answer)
	}
	out.begin()
	if r.call != nil {
		chunk(c.message(r), nil)
	} else {
		out.words(r.text, func(word string) { chunk(object{"role": "assistant", "content": word}, nil) })
	}
	chunk(object{}, c.reason(r))
	answer["choices"], answer["usage"] = []object{}, usage
	out.event("", answer)
	out.event("", "[DONE]")
}

func (chat) message(r reply) object {
	if r.call == nil {
		return object{"role": "assistant", "content": r.text}
	}
	return object{"role": "assistant", "content": nil, "tool_calls": []object{{
		"index": 0, "id": id("call_"), "type": "function",
		"function": object{"name": r.call.name, "arguments": r.call.arguments()},
	}}}
}

func (chat) reason(r reply) string {
	if r.call != nil {
		return "tool_calls"
	}
	return "stop"
}
