package conformance

import (
	"net/url"
	"slices"
	"time"
)

// heartbeat sends a heartbeat of an agent and returns the agent from the answer. The parameter
// claude is the value of the member claude_status in the request body. The members of the object
// more are added to the request body, or replace its default members.
func (s *script) heartbeat(id, claude string, more object) object {
	s.Helper()
	body := object{"agent_id": id, "name": "agent " + id, "claude_status": claude}
	for k, v := range more {
		body[k] = v
	}
	return s.asWorker("POST", "/v1/agents/heartbeat", body).want(200, 201).one("agent", agentShape)
}

// newAgent creates an idle agent and returns its id.
func (s *script) newAgent(name string) string {
	s.Helper()
	return s.heartbeat(name+"-"+s.mark, "idle", nil)["id"].(string)
}

// seen requests the list of agents and returns the agent with this id from it.
func (s *script) seen(id string) object {
	s.Helper()
	return s.find(s.asUser("GET", "/v1/agents", nil).want(200).list("agents", listedAgentShape), id)
}

var agentPromises = []requirement{
	{"a heartbeat without an agent id creates an agent", func(s *script) {
		first := s.heartbeat("", "idle", nil)["id"]
		second := s.heartbeat("", "idle", nil)["id"]
		without := s.asWorker("POST", "/v1/agents/heartbeat", object{"claude_status": "idle"}).want(200, 201).one("agent", agentShape)["id"]
		if first == "" || second == "" || without == "" || first == second || second == without {
			s.Errorf("new ids are %q, %q and %q", first, second, without)
		}
		s.seen(first.(string))
	}},
	{"a heartbeat is returned as it was sent", func(s *script) {
		id := "said-" + s.mark
		said := object{"name": "a name " + s.mark, "current_task_id": "", "meta": object{"host": "h", "slots": 3}}
		want := object{"id": id, "name": "a name " + s.mark, "claude_status": "waiting", "meta": said["meta"]}
		s.equal("the answer", s.heartbeat(id, "waiting", said), want)
		s.equal("the agent", s.asUser("GET", "/v1/agents/"+id, nil).want(200).one("agent", agentShape), want)
		s.equal("the agent of the list", s.seen(id), want.with("worker_status", "online"))
	}},
	{"a heartbeat of a known agent creates no second agent", func(s *script) {
		id := s.newAgent("again")
		s.heartbeat(id, "running", nil)
		all := s.asUser("GET", "/v1/agents", nil).list("agents", listedAgentShape)
		if n := len(slices.DeleteFunc(all, func(o object) bool { return o["id"] != id })); n != 1 {
			s.Errorf("the agent is listed %d times", n)
		}
	}},
	{"a missing claude status falls back to the status of old clients", func(s *script) {
		id := "old-" + s.mark
		for _, word := range []string{"running", "idle"} {
			s.asWorker("POST", "/v1/agents/heartbeat", object{"agent_id": id, "name": "old", "status": word}).want(200, 201)
			s.equal("the agent", s.seen(id), object{"claude_status": word})
		}
	}},
	{"a claude status that is not known is refused", func(s *script) {
		id := s.newAgent("odd")
		s.asWorker("POST", "/v1/agents/heartbeat", object{"agent_id": id, "claude_status": "melting"}).refuses(400)
		s.equal("the agent", s.seen(id), object{"claude_status": "idle"})
	}},
	{"the claude status has precedence over the status", func(s *script) {
		id := "both-" + s.mark
		s.heartbeat(id, "waiting", object{"status": "idle"})
		s.equal("the agent", s.seen(id), object{"claude_status": "waiting"})
	}},
	{"a heartbeat sets when an agent was last seen", func(s *script) {
		id := s.newAgent("seen")
		before := s.stamp(s.seen(id), "last_seen")
		s.wait(2 * time.Second)
		s.heartbeat(id, "idle", nil)
		if after := s.stamp(s.seen(id), "last_seen"); !after.After(before) {
			s.Errorf("last seen at %s, and after another heartbeat at %s", before, after)
		}
	}},
	{"an unknown agent is 404", func(s *script) {
		s.asUser("GET", "/v1/agents/nobody-"+s.mark, nil).refuses(404)
		s.asUser("GET", "/v1/agents/nobody-"+s.mark+"/current-task", nil).refuses(404)
		s.asUser("PATCH", "/v1/agents/nobody-"+s.mark+"/channels", object{"subscriptions": []string{}}).refuses(404)
	}},
	{"the current task is returned, or 404 if there is none", func(s *script) {
		agent, channel := s.newAgent("current"), s.newChannel("current")
		s.asUser("GET", "/v1/agents/"+agent+"/current-task", nil).refuses(404)
		task := s.newTask(object{"channel_id": channel})
		s.claims(agent, channel, task)
		s.heartbeat(agent, "running", object{"current_task_id": task})
		now := s.asUser("GET", "/v1/agents/"+agent+"/current-task", nil).want(200).one("task", claimedShape)
		s.equal("the current task", now, object{"id": task, "status": "in_progress"})
		s.equal("the agent", s.seen(agent), object{"current_task_id": task})
		s.ends("complete", agent, task)
		s.heartbeat(agent, "idle", object{"current_task_id": ""})
		s.asUser("GET", "/v1/agents/"+agent+"/current-task", nil).refuses(404)
	}},
	{"an agent's channels are set as a whole", func(s *script) {
		id, one, two := s.newAgent("listens"), "one-"+s.mark, "two-"+s.mark
		for _, name := range []string{one, two} {
			s.asUser("POST", "/v1/channels", object{"name": name}).want(200, 201)
		}
		for _, list := range [][]string{{one, two}, {two}} {
			agent := s.asWorker("PATCH", "/v1/agents/"+id+"/channels", object{"subscriptions": list}).want(200).one("agent", agentShape)
			s.equal("the answer", object{"subscriptions": subscriptions(agent)}, object{"subscriptions": list})
			s.equal("the agent", object{"subscriptions": subscriptions(s.seen(id))}, object{"subscriptions": list})
		}
	}},
	{"channels are created, listed and found by name", func(s *script) {
		name := "a channel ü " + s.mark
		made := s.asUser("POST", "/v1/channels", object{"name": name, "description": "what for"}).want(201).one("channel", channelShape)
		want := object{"id": made["id"], "name": name, "description": "what for"}
		s.equal("the answer", made, want)
		s.equal("the list", s.find(s.asUser("GET", "/v1/channels", nil).want(200).list("channels", channelShape), made["id"].(string)), want)
		s.equal("by name", s.asUser("GET", "/v1/channels/by-name/"+url.PathEscape(name), nil).want(200).one("channel", channelShape), want)
		s.asUser("GET", "/v1/channels/by-name/nothing-"+s.mark, nil).refuses(404)
	}},
	{"the name of a channel is unique", func(s *script) {
		id := s.newChannel("twice")
		again := s.asUser("POST", "/v1/channels", object{"name": "twice-" + s.mark})
		if again.status != 409 {
			s.equal("the second answer", again.want(200, 201).one("channel", channelShape), object{"id": id})
		}
		s.asUser("POST", "/v1/channels", object{"name": ""}).refuses(400)
	}},
	{"chains are created and listed", func(s *script) {
		channel := s.newChannel("chains")
		body := object{"name": "chain-" + s.mark, "description": "in order", "channel_id": channel}
		made := s.asUser("POST", "/v1/chains", body).want(201).one("chain", chainShape)
		want := object{"id": made["id"], "name": "chain-" + s.mark, "description": "in order"}
		s.equal("the answer", made, want)
		s.equal("the list", s.find(s.asUser("GET", "/v1/chains", nil).want(200).list("chains", chainShape), made["id"].(string)), want)
	}},
}

// subscriptions returns the channels that an agent has subscribed to. The protocol allows the
// member "subscriptions" in the agent itself or in the agent's member "meta".
func subscriptions(agent object) any {
	if list, ok := agent["subscriptions"]; ok {
		return list
	}
	meta, _ := agent["meta"].(map[string]any)
	return meta["subscriptions"]
}

func (o object) with(member string, value any) object {
	more := object{member: value}
	for k, v := range o {
		if k != member {
			more[k] = v
		}
	}
	return more
}

func (s *script) stamp(o object, member string) time.Time {
	s.Helper()
	text, _ := o[member].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		s.Fatalf("%s: %v", member, err)
	}
	return at
}
