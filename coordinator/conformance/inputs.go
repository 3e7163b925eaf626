package conformance

import (
	"fmt"
	"slices"
	"time"
)

// held creates an agent and a task, which the agent claims. It returns the ids of both.
func (s *script) held(name string) (agent, task string) {
	s.Helper()
	agent = s.newAgent(name)
	channel := s.newChannel(name)
	task = s.newTask(object{"channel_id": channel})
	s.claims(agent, channel, task)
	return agent, task
}

func (s *script) claimInput(agent, task string) reply {
	s.Helper()
	return s.asWorker("POST", "/v1/tasks/inputs/claim", object{"task_id": task, "agent_id": agent})
}

var inputPromises = []requirement{
	{"inputs are delivered once and in order", func(s *script) {
		agent, task := s.held("inputs")
		for i, kind := range []string{"text", "keys"} {
			body := object{"task_id": task, "agent_id": agent, "kind": kind, "text": fmt.Sprint("answer ", i), "send_enter": i == 0}
			made := s.asUser("POST", "/v1/tasks/inputs", body).want(201).one("input", inputShape)
			s.equal("the answer", made, body.with("agent_id", made["agent_id"]))
		}
		first := s.claimInput(agent, task).want(200).one("input", inputShape)
		s.equal("the first input", first, object{"task_id": task, "kind": "text", "text": "answer 0", "send_enter": true})
		second := s.claimInput(agent, task).want(200).one("input", inputShape)
		s.equal("the second input", second, object{"task_id": task, "kind": "keys", "text": "answer 1", "send_enter": false})
		if code := s.claimInput(agent, task).refuses(404); code != "no_inputs" {
			s.Errorf("the code is %q, want no_inputs", code)
		}
	}},
	{"a task without inputs is 404 no_inputs", func(s *script) {
		agent, task := s.held("silent")
		if code := s.claimInput(agent, task).refuses(404); code != "no_inputs" {
			s.Errorf("the code is %q, want no_inputs", code)
		}
	}},
	{"the same idempotency key gives the same input", func(s *script) {
		agent, task := s.held("samekey")
		body := object{"task_id": task, "agent_id": agent, "kind": "text", "text": "yes", "send_enter": true, "idempotency_key": "in-" + s.mark}
		first := s.asUser("POST", "/v1/tasks/inputs", body).want(201).one("input", inputShape)
		again := s.asUser("POST", "/v1/tasks/inputs", body).want(200, 201).one("input", inputShape)
		s.equal("the second answer", again, object{"id": first["id"]})
		s.claimInput(agent, task).want(200)
		s.claimInput(agent, task).refuses(404)
	}},
	{"an input is not delivered to another agent", func(s *script) {
		agent, task := s.held("private")
		other := s.newAgent("curious")
		s.asUser("POST", "/v1/tasks/inputs", object{"task_id": task, "agent_id": agent, "kind": "text", "text": "secret"}).want(201)
		s.claimInput(other, task).refuses(403, 404, 409)
		s.equal("its owner's", s.claimInput(agent, task).want(200).one("input", inputShape), object{"text": "secret"})
	}},
	{"an input needs an existing task and a known kind", func(s *script) {
		agent, task := s.held("kinds")
		s.asUser("POST", "/v1/tasks/inputs", object{"task_id": "nothing-" + s.mark, "agent_id": agent, "kind": "text", "text": "x"}).refuses(404)
		s.asUser("POST", "/v1/tasks/inputs", object{"task_id": task, "agent_id": agent, "kind": "smoke", "text": "x"}).refuses(400)
	}},
	{"an event is stored as it was sent", func(s *script) {
		agent, task := s.held("events")
		payload := object{"kind": "choice", "options": []any{"a", "b"}, "input_mode": "arrows", "selected_index": 1}
		body := object{"agent_id": agent, "task_id": task, "type": "task.prompt", "payload": payload}
		made := s.asWorker("POST", "/v1/events", body).want(201).one("event", eventShape)
		s.equal("the answer", made, body)
		all := s.asUser("GET", "/v1/events", nil).want(200).list("events", eventShape)
		s.equal("the list", s.find(all, made["id"].(string)), body)
	}},
	{"an event sent twice with one key is stored once", func(s *script) {
		agent := s.newAgent("echo")
		kind := "echo-" + s.mark
		body := object{"agent_id": agent, "type": kind, "payload": object{}, "idempotency_key": "ev-" + s.mark}
		s.asWorker("POST", "/v1/events", body).want(201).one("event", eventShape)
		s.equal("the second answer", s.asWorker("POST", "/v1/events", body).want(200).json(), object{"deduped": true})
		all := s.asUser("GET", "/v1/events", nil).want(200).list("events", eventShape)
		if n := len(slices.DeleteFunc(all, func(o object) bool { return o["type"] != kind })); n != 1 {
			s.Errorf("the event is listed %d times", n)
		}
		s.asWorker("POST", "/v1/events", body.with("idempotency_key", "")).want(201)
		s.asWorker("POST", "/v1/events", body.with("idempotency_key", "")).want(201)
	}},
	{"events are listed newest first", func(s *script) {
		agent := s.newAgent("order")
		for _, kind := range []string{"one-" + s.mark, "two-" + s.mark, "three-" + s.mark} {
			s.asWorker("POST", "/v1/events", object{"agent_id": agent, "type": kind}).want(201)
			s.wait(10 * time.Millisecond)
		}
		for _, at := range []string{"/v1/events", "/v1/dashboard"} {
			var kinds []any
			for _, e := range s.asUser("GET", at, nil).want(200).list("events", eventShape) {
				if e["agent_id"] == agent {
					kinds = append(kinds, e["type"])
				}
			}
			if !slices.Equal(kinds, []any{"three-" + s.mark, "two-" + s.mark, "one-" + s.mark}) {
				s.Errorf("%s has them as %v", at, kinds)
			}
		}
	}},
	{"an event needs a type", func(s *script) {
		s.asWorker("POST", "/v1/events", object{"agent_id": s.newAgent("typeless"), "type": ""}).refuses(400)
	}},
	{"the dashboard has everything at a glance", func(s *script) {
		agent, task := s.held("glance")
		chain := s.asUser("POST", "/v1/chains", object{"name": "glance-" + s.mark, "channel_id": s.task(task)["channel_id"]}).want(201).one("chain", chainShape)
		event := s.asWorker("POST", "/v1/events", object{"agent_id": agent, "task_id": task, "type": "glance"}).want(201).one("event", eventShape)
		board := s.asUser("GET", "/v1/dashboard", nil).want(200)
		s.equal("its agent", s.find(board.list("agents", listedAgentShape), agent), object{"worker_status": "online", "claude_status": "idle"})
		s.equal("its task", s.find(board.list("tasks", taskShape), task), object{"status": "in_progress", "assigned_agent_id": agent})
		s.find(board.list("channels", channelShape), s.task(task)["channel_id"].(string))
		s.find(board.list("chains", chainShape), chain["id"].(string))
		s.find(board.list("events", eventShape), event["id"].(string))
	}},
}
