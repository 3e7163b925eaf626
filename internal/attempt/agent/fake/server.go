package fake

import (
	"encoding/json"
	"fmt"
	"io"
)

// server imitates "codex app-server".
type server struct {
	*world
	options
	turn  string
	items int
	asked int
}

type serverRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
		Input    []struct {
			Text string `json:"text"`
		} `json:"input"`
	} `json:"params"`
	Result struct {
		Decision string `json:"decision"`
		Answers  map[string]struct {
			Answers []string `json:"answers"`
		} `json:"answers"`
	} `json:"result"`
}

// begin answers requests until one starts a turn. It returns the prompt of that turn.
func (s *server) begin() (string, error) {
	for {
		var r serverRequest
		if err := s.read(&r); err != nil {
			return "", fmt.Errorf("wait for turn/start: %w", err)
		}
		switch r.Method {
		case "initialize":
			s.json(object{"id": r.ID, "result": object{"userAgent": "fake"}})
		case "thread/start", "thread/resume":
			if s.thread = r.Params.ThreadID; s.thread == "" {
				s.thread = uuid()
			}
			s.json(object{"id": r.ID, "result": object{"thread": object{"id": s.thread}}})
		case "turn/start":
			return s.start(r), nil
		}
	}
}

func (s *server) start(r serverRequest) (prompt string) {
	s.turn = uuid()
	s.json(object{"id": r.ID, "result": object{"turn": object{"id": s.turn, "status": "inProgress"}}})
	s.notify("thread/status/changed", object{"status": object{"type": "active", "activeFlags": []string{}}})
	for _, i := range r.Params.Input {
		prompt += i.Text
	}
	return prompt
}

func (s *server) notify(method string, params object) {
	params["threadId"], params["turnId"] = s.thread, s.turn
	s.json(object{"method": method, "params": params})
}

func (s *server) next() string {
	s.items++
	return fmt.Sprintf("item_%d", s.items)
}

func (s *server) say(text string) {
	s.notify("item/completed", object{"item": object{"type": "agentMessage", "id": s.next(), "text": text}})
}

func (s *server) tool(_, input string) func(string, int) {
	item := object{"type": "commandExecution", "id": s.next(), "command": shellCommand(input), "status": "inProgress"}
	s.notify("item/started", object{"item": item})
	return func(output string, code int) {
		item["aggregatedOutput"], item["exitCode"], item["status"] = output, code, "completed"
		if code != 0 {
			item["status"] = "failed"
		}
		s.notify("item/completed", object{"item": item})
	}
}

// request sends a request and waits for the answer to it.
func (s *server) request(method, flag string, params object) (serverRequest, bool) {
	id := s.asked
	s.asked++
	s.notify("thread/status/changed", object{"status": object{"type": "active", "activeFlags": []string{flag}}})
	params["threadId"], params["turnId"] = s.thread, s.turn
	s.json(object{"method": method, "id": id, "params": params})
	for {
		var r serverRequest
		if err := s.read(&r); err != nil {
			return r, false
		}
		if r.Method == "" && string(r.ID) == fmt.Sprint(id) {
			s.notify("serverRequest/resolved", object{"requestId": id})
			s.notify("thread/status/changed", object{"status": object{"type": "active", "activeFlags": []string{}}})
			return r, true
		}
	}
}

func (s *server) ask(question string, labels []string) (string, bool) {
	var choices []object
	for _, label := range labels {
		choices = append(choices, object{"label": label, "description": label})
	}
	r, ok := s.request("item/tool/requestUserInput", "waitingOnUserInput", object{"itemId": s.next(), "questions": []object{{"id": "q", "header": "Question", "question": question, "options": choices}}})
	if given := r.Result.Answers["q"].Answers; ok && len(given) > 0 {
		return given[0], true
	}
	return "", false
}

func (s *server) permission(_, input string) bool {
	item := object{"type": "commandExecution", "id": s.next(), "command": shellCommand(input), "status": "inProgress"}
	s.notify("item/started", object{"item": item})
	r, ok := s.request("item/commandExecution/requestApproval", "waitingOnApproval", object{"itemId": item["id"], "command": item["command"], "reason": "the fake agent asks"})
	item["status"] = "completed"
	if !ok || r.Result.Decision != "accept" {
		item["status"] = "declined"
	}
	s.notify("item/completed", object{"item": item})
	return item["status"] == "completed"
}

func (s *server) retry(n int) {
	s.notify("error", object{"willRetry": true, "error": object{"message": fmt.Sprintf("Reconnecting... %d/5", n), "additionalDetails": "stream disconnected before completion"}})
}

func (s *server) compact() {}

func (s *server) torn() { s.line(`{"method":"turn/completed","params":{"threadId":"` + s.thread) }

func (s *server) done(text string, u usage) {
	s.say(text)
	tokens := object{"inputTokens": u.input, "outputTokens": u.output}
	s.notify("thread/tokenUsage/updated", object{"tokenUsage": object{"total": tokens, "last": tokens}})
	s.completed(object{"status": "completed", "error": nil})
}

func (s *server) failed(f fault, _ usage) int {
	info := any("other")
	switch {
	case !f.reset.IsZero():
		info = "usageLimitExceeded"
		s.json(object{"method": "account/rateLimits/updated", "params": object{"rateLimits": object{"primary": object{"usedPercent": 100, "resetsAt": f.reset.Unix()}}}})
	case f.long:
		info = "contextWindowExceeded"
	case f.status != 0:
		info = object{"httpConnectionFailed": object{"httpStatusCode": f.status}}
	}
	s.completed(object{"status": "failed", "error": object{"message": codexWords(f), "codexErrorInfo": info}})
	return 0 // the server itself has not failed
}

func (s *server) completed(turn object) {
	turn["id"] = s.turn
	s.notify("thread/status/changed", object{"status": object{"type": "idle"}})
	s.notify("turn/completed", object{"turn": turn})
}

// leave waits for the end of stdin, as a server does.
func (s *server) leave() { _, _ = io.Copy(io.Discard, s.in) }
