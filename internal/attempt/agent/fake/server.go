package fake

import (
	"encoding/json"
	"fmt"
	"io"
)

// server imitates "codex app-server".
type server struct {
	*stdio
	options
	*stdinQueue
	turn string // id of the current or last turn
	// latest is the turn id that was sent to the client last. active says that this turn runs or is
	// about to run. stdinQueue.lock guards both.
	latest string
	active bool
	items  int
	asked  int
}

type serverRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
		Input    []struct {
			Text string `json:"text"`
		} `json:"input"`
		Message string `json:"clientUserMessageId"`
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
	s.listen(s.stdio, s.handleLine)
	prompt, ok := s.next()
	if !ok {
		return "", fmt.Errorf("wait for turn/start: %w", io.EOF)
	}
	return prompt, nil
}

// handleLine handles a line of stdin. A line with a method is a request or a notification of the
// client. A line without a method is the response to a request of the server.
func (s *server) handleLine(line []byte) {
	var r serverRequest
	_ = json.Unmarshal(line, &r) // on an error, keep what could be decoded
	switch r.Method {
	case "":
		s.change(func() { s.answers = append(s.answers, line) })
	case "initialize":
		s.writeJSON(object{"id": r.ID, "result": object{"userAgent": "fake"}})
	case "thread/fork":
		s.thread = uuid()
		s.writeJSON(object{"id": r.ID, "result": object{"thread": object{"id": s.thread}}})
	case "thread/start", "thread/resume":
		if s.thread = r.Params.ThreadID; s.thread == "" {
			s.thread = uuid()
		}
		s.writeJSON(object{"id": r.ID, "result": object{"thread": object{"id": s.thread}}})
	case "turn/start":
		l := userMessage{key: r.Params.Message}
		for _, i := range r.Params.Input {
			l.text += i.Text
		}
		s.change(func() {
			if !s.active {
				s.latest, s.active = uuid(), true
			}
			l.turn = s.latest
			s.queue = append(s.queue, l)
			// Answer while the queue is locked, so that the answer comes before the output of the
			// turn, as in the real program.
			s.writeJSON(object{"id": r.ID, "result": object{"turn": object{"id": l.turn, "status": "inProgress"}}})
		})
	case "turn/interrupt":
		s.writeJSON(object{"id": r.ID, "result": object{}})
		s.change(func() {
			s.queue = nil // the real program drops queued messages too
			s.cutTurn()
		})
	}
}

// next waits for the message that starts the first or another turn. It returns false when stdin
// ends.
func (s *server) next() (string, bool) {
	l, ok := s.stdinQueue.next()
	if !ok {
		return "", false
	}
	s.turn = l.turn
	s.notify("thread/status/changed", object{"status": object{"type": "active", "activeFlags": []string{}}})
	s.notify("turn/started", object{"turn": object{"id": s.turn, "status": "inProgress"}})
	s.echo(l)
	return l.text, true
}

// echo reports a message of the user to the client at the moment when it is passed to the model.
func (s *server) echo(l userMessage) {
	item := object{"type": "userMessage", "id": s.number(), "clientId": nil, "content": []object{{"type": "text", "text": l.text}}}
	if l.key != "" {
		item["clientId"] = l.key
	}
	s.notify("item/started", object{"item": item})
	s.notify("item/completed", object{"item": item})
}

func (s *server) arrived() []string {
	var texts []string
	for _, l := range s.take(s.stdio) {
		s.echo(l)
		texts = append(texts, l.text)
	}
	return texts
}

func (s *server) endTurn() bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.active = len(s.queue) > 0
	return !s.active
}

func (s *server) interrupted(usage) int {
	s.completed(object{"status": "interrupted", "error": nil})
	return 0
}

func (s *server) notify(method string, params object) {
	params["threadId"], params["turnId"] = s.thread, s.turn
	s.writeJSON(object{"method": method, "params": params})
}

func (s *server) number() string {
	s.items++
	return fmt.Sprintf("item_%d", s.items)
}

func (s *server) say(text string) {
	s.notify("item/completed", object{"item": object{"type": "agentMessage", "id": s.number(), "text": text}})
}

func (s *server) tool(_ string, input object) func(string, int) {
	item := object{"type": "commandExecution", "id": s.number(), "command": shellCommand(input), "status": "inProgress"}
	s.notify("item/started", object{"item": item})
	return func(output string, code int) {
		item["aggregatedOutput"], item["exitCode"], item["status"] = output, code, "completed"
		if code != 0 {
			item["status"] = "failed"
		}
		s.notify("item/completed", object{"item": item})
	}
}

// request sends a request and waits for the client's answer. It returns false if stdin or the turn
// ends before the answer.
func (s *server) request(method, flag string, params object) (serverRequest, bool) {
	id := s.asked
	s.asked++
	s.notify("thread/status/changed", object{"status": object{"type": "active", "activeFlags": []string{flag}}})
	params["threadId"], params["turnId"] = s.thread, s.turn
	s.writeJSON(object{"method": method, "id": id, "params": params})
	var r serverRequest
	ok := s.answer(s.stdio, func(line []byte) bool {
		r = serverRequest{}
		return json.Unmarshal(line, &r) == nil && string(r.ID) == fmt.Sprint(id)
	})
	s.notify("serverRequest/resolved", object{"requestId": id})
	s.notify("thread/status/changed", object{"status": object{"type": "active", "activeFlags": []string{}}})
	return r, ok
}

func (s *server) ask(question string, labels []string) (string, bool) {
	var choices []object
	for _, label := range labels {
		choices = append(choices, object{"label": label, "description": label})
	}
	r, ok := s.request("item/tool/requestUserInput", "waitingOnUserInput", object{"itemId": s.number(), "questions": []object{{"id": "q", "header": "Question", "question": question, "options": choices}}})
	if given := r.Result.Answers["q"].Answers; ok && len(given) > 0 {
		return given[0], true
	}
	return "", false
}

func (s *server) permission(_, input string) bool {
	item := object{"type": "commandExecution", "id": s.number(), "command": shellCommand(object{"command": input}), "status": "inProgress"}
	s.notify("item/started", object{"item": item})
	r, ok := s.request("item/commandExecution/requestApproval", "waitingOnApproval", object{"itemId": item["id"], "command": item["command"], "reason": "the fake agent asks"})
	item["status"] = "completed"
	if !ok || r.Result.Decision != "accept" && r.Result.Decision != "acceptForSession" {
		item["status"] = "declined"
	}
	s.notify("item/completed", object{"item": item})
	return item["status"] == "completed"
}

func (s *server) retry(n int) {
	s.notify("error", object{"willRetry": true, "error": object{"message": fmt.Sprintf("Reconnecting... %d/5", n), "additionalDetails": "stream disconnected before completion"}})
}

func (s *server) compact() {}

func (s *server) halfDone() { s.line(`{"method":"turn/completed","params":{"threadId":"` + s.thread) }

func (s *server) spend(u usage) bool {
	tokens := object{"inputTokens": u.input, "cachedInputTokens": u.cached, "outputTokens": u.output}
	s.notify("thread/tokenUsage/updated", object{"tokenUsage": object{"total": tokens, "last": tokens}})
	return true
}

func (s *server) done(text string, u usage) {
	s.say(text)
	s.spend(u)
	s.completed(object{"status": "completed", "error": nil})
}

func (s *server) failed(f fault, _ usage) int {
	info := any("other")
	switch {
	case !f.reset.IsZero():
		info = "usageLimitExceeded"
		s.writeJSON(object{"method": "account/rateLimits/updated", "params": object{"rateLimits": object{"primary": object{"usedPercent": 100, "resetsAt": f.reset.Unix()}}}})
	case f.long:
		info = "contextWindowExceeded"
	case f.status != 0:
		info = object{"httpConnectionFailed": object{"httpStatusCode": f.status}}
	}
	s.completed(object{"status": "failed", "error": object{"message": codexMessage(f), "codexErrorInfo": info}})
	return 0 // a failed turn does not make the server exit with an error
}

func (s *server) completed(turn object) {
	s.change(func() { s.active = s.active && s.latest != s.turn })
	turn["id"] = s.turn
	s.notify("thread/status/changed", object{"status": object{"type": "idle"}})
	s.notify("turn/completed", object{"turn": turn})
}
