package conformance

// newerRoutes are the routes that newer clients of the protocol use in addition to those in the
// protocol's table.
var newerRoutes = []struct{ method, path string }{
	{"POST", "/v1/agents/request-session"},
	{"POST", "/v1/tasks/assign"},
	{"POST", "/v1/tasks/{id}/status"},
	{"GET", "/v1/chains/{id}"},
	{"PUT", "/v1/chains/{id}"},
	{"DELETE", "/v1/chains/{id}"},
	{"POST", "/v1/chains/{id}/assign-agent"},
	{"POST", "/v1/chains/{id}/detach"},
	{"GET", "/v1/notifications"},
	{"POST", "/v1/notifications/dismiss"},
}

// newChain creates a chain in a channel and returns the chain's id.
func (s *script) newChain(channel string) string {
	s.Helper()
	return s.asUser("POST", "/v1/chains", object{"name": "chain-" + s.mark, "channel_id": channel}).want(201).one("chain", newerChainShape)["id"].(string)
}

var newerChainShape = chainShape.with("status", "text").with("owner_agent_id", "text?").with("updated_at", "time?")

var notificationShape = shape{
	"key": "text", "agent_id": "text", "agent_name": "text", "type": "text", "channel": "text?", "message": "text", "created_at": "time",
}

// notified returns an agent's notification from the list of notifications, or nil if there is none.
func (s *script) notified(agent string) object {
	s.Helper()
	for _, n := range s.asUser("GET", "/v1/notifications", nil).want(200).list("notifications", notificationShape) {
		if n["agent_id"] == agent {
			return n
		}
	}
	return nil
}

var newerPromises = []requirement{
	{"a task is assigned to one agent", func(s *script) {
		agent, other, channel := s.newAgent("assigned"), s.newAgent("unassigned"), s.newChannel("assign")
		first, second := s.newTask(object{"channel_id": channel}), s.newTask(object{"channel_id": channel})
		body := object{"task_id": second, "agent_id": agent, "idempotency_key": "assign-" + s.mark}
		// Assign the task twice to the same agent. The second time must not be an error.
		for range 2 {
			got := s.asWorker("POST", "/v1/tasks/assign", body).want(200).one("task", claimedShape)
			s.equal("the assigned task", got, object{"id": second, "status": "in_progress", "assigned_agent_id": agent})
		}
		s.asWorker("POST", "/v1/tasks/assign", body.with("agent_id", other)).refuses(409)
		s.asWorker("POST", "/v1/tasks/assign", body.with("task_id", "nothing-"+s.mark)).refuses(404)
		s.claims(other, channel, first)
		s.ends("complete", agent, second)
		s.asWorker("POST", "/v1/tasks/assign", body).refuses(409)
	}},
	{"a user sets the status of a task in progress", func(s *script) {
		agent, channel := s.newAgent("status"), s.newChannel("status")
		task := s.newTask(object{"channel_id": channel})
		set := func(to string) reply { return s.asUser("POST", "/v1/tasks/"+task+"/status", object{"status": to}) }
		s.claims(agent, channel, task)
		s.equal("given back", set("queued").want(200).one("task", taskShape), object{"status": "queued", "assigned_agent_id": ""})
		set("done").refuses(409)
		s.claims(agent, channel, task)
		s.equal("ended", set("done").want(200).one("task", taskShape), object{"status": "done"})
		set("queued").refuses(409)
		set("melted").refuses(400, 409)
	}},
	{"a chain is read, changed and deleted", func(s *script) {
		chain := s.newChain(s.newChannel("crud"))
		at := "/v1/chains/" + chain
		s.equal("the chain", s.asUser("GET", at, nil).want(200).one("chain", newerChainShape), object{"id": chain, "name": "chain-" + s.mark, "status": "queued"})
		s.asUser("PUT", at, object{"name": "other-" + s.mark}).want(200)
		s.equal("changed", s.asUser("GET", at, nil).want(200).one("chain", newerChainShape), object{"name": "other-" + s.mark})
		s.asUser("DELETE", at, nil).want(204)
		s.asUser("GET", at, nil).refuses(404)
		s.asUser("DELETE", at, nil).refuses(404)
	}},
	{"only the owner of a chain claims its tasks", func(s *script) {
		owner, other, channel := s.newAgent("owner"), s.newAgent("other"), s.newChannel("owned")
		for _, id := range []string{owner, other} {
			s.heartbeat(id, "idle", object{"meta": object{"subscriptions": []any{"owned-" + s.mark}}})
		}
		chain := s.newChain(channel)
		task := s.newTask(object{"channel_id": channel, "chain_id": chain})
		got := s.asUser("POST", "/v1/chains/"+chain+"/assign-agent", object{"agent_id": owner}).want(200).one("chain", newerChainShape)
		s.equal("the chain", got, object{"owner_agent_id": owner})
		s.claim(other, channel).refuses(404)
		s.claims(owner, channel, task)
		s.asUser("POST", "/v1/chains/"+chain+"/detach", object{"agent_id": other}).refuses(409)
		s.asUser("POST", "/v1/chains/"+chain+"/detach", object{"agent_id": owner}).want(200)
		s.equal("detached", s.asUser("GET", "/v1/chains/"+chain, nil).want(200).one("chain", newerChainShape), object{"owner_agent_id": ""})
	}},
	{"a session is requested of a channel's agents", func(s *script) {
		agent, channel := s.newAgent("session"), s.newChannel("session")
		shape := taskShape.with("agent_session_request_token", "text")
		task := s.asUser("POST", "/v1/agents/request-session", object{"channel_name": "session-" + s.mark}).want(201).one("task", shape)
		s.equal("the request", task, object{"type": "request_claude_session", "channel_id": channel, "status": "queued"})
		s.asUser("POST", "/v1/agents/request-session", object{"channel_id": channel}).want(201).one("task", shape)
		s.asUser("POST", "/v1/agents/request-session", object{"channel_name": "nothing-" + s.mark}).refuses(404)
		s.asUser("POST", "/v1/agents/request-session", object{}).refuses(400)
		s.asWorker("POST", "/v1/tasks/assign", object{"task_id": task["id"], "agent_id": agent}).want(200)
		started := object{"agent_id": agent, "type": "agent.automation.session_request.completed"}
		s.asWorker("POST", "/v1/events", started.with("payload", object{"task_id": task["id"], "agent_session_request_token": "wrong"})).refuses(404, 409)
		s.asWorker("POST", "/v1/events", started.with("payload", object{"task_id": task["id"], "agent_session_request_token": task["agent_session_request_token"]})).want(201)
		s.equal("the request in the end", s.task(task["id"].(string)), object{"status": "done"})
	}},
	{"an agent that waits for a session causes a notification until it is dismissed", func(s *script) {
		agent := s.newAgent("waits")
		if n := s.notified(agent); n != nil {
			s.Errorf("an agent that does not wait: %v", n)
		}
		s.heartbeat(agent, "idle", object{"meta": object{"state": "setup_waiting", "subscriptions": []any{"x"}}})
		n := s.notified(agent)
		if n == nil {
			s.Fatal("there is none")
		}
		s.equal("the notification", n, object{"type": "setup_waiting", "key": agent + ":setup_waiting", "channel": "x"})
		s.asUser("POST", "/v1/notifications/dismiss", object{"agent_id": agent, "type": "setup_waiting"}).want(200)
		if n := s.notified(agent); n != nil {
			s.Errorf("it was dismissed: %v", n)
		}
	}},
}
