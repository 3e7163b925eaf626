package stubmodel

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// gemini implements the protocol of Google's generateContent API.
type gemini struct{}

type geminiRequest struct {
	Tools []struct {
		Functions []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"parametersJsonSchema"`
			Params json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Contents []struct {
		Parts json.RawMessage `json:"parts"`
	} `json:"contents"`
}

func (gemini) read(body []byte) modelRequest {
	var r geminiRequest
	_ = json.Unmarshal(body, &r) // ignore the error: fields of an unexpected type stay empty
	var h modelRequest
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			schema := f.Schema
			if len(schema) == 0 {
				schema = f.Params
			}
			h.tools = append(h.tools, tool{name: f.Name, params: properties(schema)})
		}
	}
	if n := len(r.Contents); n > 0 {
		h.done = bytes.Contains(r.Contents[n-1].Parts, []byte(`"functionResponse"`))
	}
	h.side = len(h.tools) == 0
	return h
}

func (gemini) failed(status int, f vendorError) any {
	names := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
	name, ok := names[status]
	if !ok {
		name = "INTERNAL"
	}
	return object{"error": object{"code": status, "message": f.message, "status": name}}
}

func (gemini) say(out *response, at string, _ modelRequest, r reply) {
	model, _, _ := strings.Cut(path.Base(at), ":")
	chunk := func(part object, reason string) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": []object{part}}}
		if reason != "" {
			candidate["finishReason"] = reason
		}
		return object{
			"candidates": []object{candidate}, "modelVersion": model,
			"usageMetadata": object{"promptTokenCount": InputTokens, "candidatesTokenCount": OutputTokens, "totalTokenCount": InputTokens + OutputTokens},
		}
	}
	part := object{"text": r.text}
	if r.call != nil {
		part = object{"functionCall": object{"name": r.call.name, "args": r.call.args}}
	}
	if !strings.Contains(at, ":stream") {
		out.answerWhole(chunk(part, "STOP"))
		return
	}
	out.begin()
	if r.call == nil {
		out.words(r.text, func(word string) { out.event("", chunk(object{"text": word}, "")) })
		part = object{"text": ""}
	}
	out.event("", chunk(part, "STOP"))
}
