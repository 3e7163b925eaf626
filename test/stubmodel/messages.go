package stubmodel

import (
	"bytes"
	"encoding/json"
	"slices"
)

// messages implements the protocol of Anthropic's messages API.
type messages struct{}

type messagesRequest struct {
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Tools  []struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Messages []messagesTurn `json:"messages"`
}

type messagesTurn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (messages) read(body []byte) modelRequest {
	var r messagesRequest
	_ = json.Unmarshal(body, &r) // ignore the error: fields of an unexpected type stay empty
	h := modelRequest{model: r.Model, stream: r.Stream}
	for _, t := range r.Tools {
		h.tools = append(h.tools, tool{name: t.Name, params: properties(t.Schema)})
	}
	turns := slices.DeleteFunc(r.Messages, func(t messagesTurn) bool { return t.Role == "system" })
	if n := len(turns); n > 0 {
		h.done = bytes.Contains(turns[n-1].Content, []byte(`"tool_result"`))
		h.side = isSide(string(turns[0].Content))
	}
	// A request without tools does not continue the user's conversation, but asks for a title, a
	// summary or the quota.
	h.side = h.side || len(h.tools) == 0
	return h
}

func (messages) failed(_ int, f vendorError) any {
	return object{"type": "error", "error": object{"type": f.kind, "message": f.message}, "request_id": id("req_")}
}

func (m messages) say(out *response, _ string, h modelRequest, r reply) {
	message := object{
		"id": id("msg_"), "type": "message", "role": "assistant", "model": h.model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": m.usage(1),
	}
	block, reason := m.block(r)
	if !h.stream {
		message["content"], message["stop_reason"], message["usage"] = []object{block}, reason, m.usage(OutputTokens)
		out.answerWhole(message)
		return
	}
	out.begin()
	out.event("message_start", object{"type": "message_start", "message": message})
	m.stream(out, block, r)
	out.event("content_block_stop", object{"type": "content_block_stop", "index": 0})
	out.event("message_delta", object{
		"type": "message_delta", "usage": object{"output_tokens": OutputTokens},
		"delta": object{"stop_reason": reason, "stop_sequence": nil},
	})
	out.event("message_stop", object{"type": "message_stop"})
}

func (messages) usage(output int) object {
	return object{"input_tokens": InputTokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": output}
}

func (messages) block(r reply) (block object, reason string) {
	if r.call == nil {
		return object{"type": "text", "text": r.text}, "end_turn"
	}
	return object{"type": "tool_use", "id": id("toolu_"), "name": r.call.name, "input": r.call.args}, "tool_use"
}

// stream sends the only content block of a message as a stream of events: first an empty block,
// then its content.
func (messages) stream(out *response, block object, r reply) {
	delta := func(d object) {
		out.event("content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": d})
	}
	start := func() {
		out.event("content_block_start", object{"type": "content_block_start", "index": 0, "content_block": block})
	}
	if r.call == nil {
		block["text"] = ""
		start()
		out.words(r.text, func(word string) { delta(object{"type": "text_delta", "text": word}) })
		return
	}
	block["input"] = object{}
	start()
	delta(object{"type": "input_json_delta", "partial_json": r.call.arguments()})
}
