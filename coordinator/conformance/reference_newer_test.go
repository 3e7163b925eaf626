package conformance

import (
	"fmt"
	"slices"
)

// listed returns the rows of one kind in the order in which the server lists them.
func (r *reference) listed(kind string) []object {
	list := some(r.rows[kind])
	if kind == "events" && !r.is("oldest event first") {
		slices.Reverse(list)
	}
	return list
}

func (r *reference) assign(b object) (int, any) {
	t := r.find(r.rows["tasks"], "id", text(b, "task_id"))
	switch {
	case t == nil:
		return r.one("task", nil)
	case t["status"] == "in_progress" && (t["assigned_agent_id"] == b["agent_id"] || r.is("anyone is assigned")):
		return 200, object{"task": t}
	case t["status"] != "queued":
		return 409, fault{409, "conflict", "the task is not queued"}
	}
	t["status"], t["assigned_agent_id"], t["claimed_at"] = "in_progress", b["agent_id"], r.stamp()
	r.publish("tasks", t)
	return 200, object{"task": t}
}

func (r *reference) setStatus(id string, b object) (int, any) {
	t := r.find(r.rows["tasks"], "id", id)
	switch to := text(b, "status"); {
	case t == nil:
		return r.one("task", nil)
	case t["status"] != "in_progress":
		return 409, fault{409, "conflict", "the task is not in progress"}
	case r.is("status stays"):
	case to == "queued":
		t["status"], t["assigned_agent_id"], t["claimed_at"] = to, nil, nil
	case to == "done" || to == "failed":
		t["status"], t["done_at"] = to, r.stamp()
	default:
		return 400, fault{400, "invalid_request", "the status is queued, done or failed"}
	}
	return 200, object{"task": t}
}

func (r *reference) changeChain(id string, b object) (int, any) {
	c := r.find(r.rows["chains"], "id", id)
	for _, member := range []string{"name", "description", "owner_agent_id"} {
		if value := text(b, member); value != "" && c != nil {
			c[member] = value
		}
	}
	return r.one("chain", c)
}

func (r *reference) dropChain(id string) (int, any) {
	c := r.find(r.rows["chains"], "id", id)
	if c == nil {
		return r.one("chain", nil)
	}
	if !r.is("chains stay") {
		r.rows["chains"] = slices.DeleteFunc(r.rows["chains"], func(o object) bool { return o["id"] == id })
	}
	return 204, nil
}

func (r *reference) detach(id string, b object) (int, any) {
	c := r.find(r.rows["chains"], "id", id)
	if c == nil {
		return r.one("chain", nil)
	}
	if c["owner_agent_id"] != b["agent_id"] {
		return 409, fault{409, "not_owner", "the chain is another agent's"}
	}
	delete(c, "owner_agent_id")
	return 200, object{"ok": true}
}

// mayHave reports whether the agent may claim the task t: t is in no chain, or in a chain that no
// other agent owns.
func (r *reference) mayHave(t object, agent string) bool {
	c := r.find(r.rows["chains"], "id", text(t, "chain_id"))
	return c == nil || text(c, "owner_agent_id") == "" || text(c, "owner_agent_id") == agent || r.is("owners are ignored")
}

func (r *reference) requestSession(b object) (int, any) {
	if text(b, "channel_id") == "" && text(b, "channel_name") == "" {
		return 400, fault{400, "invalid_request", "a channel is needed"}
	}
	c := r.find(r.rows["channels"], "id", text(b, "channel_id"))
	if c == nil {
		c = r.find(r.rows["channels"], "name", text(b, "channel_name"))
	}
	if c == nil {
		return r.one("channel", nil)
	}
	row := object{
		"status": "queued", "priority": 100.0, "updated_at": r.stamp(), "title": "start", "description": "", "channel_id": c["id"],
		"type": "request_claude_session",
	}
	if !r.is("sessions have no token") {
		row["agent_session_request_token"] = fmt.Sprint("secret-", r.number())
	}
	return 201, object{"task": r.add("tasks", row)}
}

func (r *reference) sessionStarted(b object) (int, any) {
	payload, _ := b["payload"].(map[string]any)
	t := r.find(r.rows["tasks"], "id", text(payload, "task_id"))
	if t == nil || t["agent_session_request_token"] != payload["agent_session_request_token"] && !r.is("any session token") {
		return 409, fault{409, "conflict", "another token is needed"}
	}
	t["status"], t["done_at"] = "done", r.stamp()
	return 0, nil
}

func (r *reference) notifications(object) (int, any) {
	list := []object{}
	for _, a := range r.agents {
		meta, _ := a["meta"].(map[string]any)
		if text(meta, "state") != "setup_waiting" || a["dismissed"] == true {
			continue
		}
		channels, _ := meta["subscriptions"].([]any)
		list = append(list, object{
			"key": text(a, "id") + ":setup_waiting", "agent_id": a["id"], "agent_name": a["name"], "type": "setup_waiting", "channel": channels[0],
			"message": "it waits", "created_at": r.stamp(),
		})
	}
	return 200, object{"notifications": list}
}

func (r *reference) dismiss(b object) (int, any) {
	if a := r.find(r.agents, "id", text(b, "agent_id")); a != nil && !r.is("nothing is dismissed") {
		a["dismissed"] = true
	}
	return 200, object{"ok": true}
}
