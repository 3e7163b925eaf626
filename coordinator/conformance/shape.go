package conformance

import (
	"strings"
	"time"
)

// shape maps the name of each member of a JSON object to the type of the member: text, number,
// boolean, object or time. A question mark after the type means that the member may be missing or
// null.
type shape map[string]string

var (
	agentShape = shape{
		"id": "text", "name": "text", "status": "text", "claude_status": "text", "current_task_id": "text?",
		"last_seen": "time", "meta": "object?", "created_at": "time", "updated_at": "time", "worker_status": "text?",
	}
	listedAgentShape = agentShape.with("worker_status", "text")
	channelShape     = shape{"id": "text", "name": "text", "description": "text?", "created_at": "time?"}
	chainShape       = shape{"id": "text", "name": "text", "description": "text?", "channel_id": "text?", "created_at": "time?"}
	taskShape        = shape{
		"id": "text", "chain_id": "text?", "sequence": "number?", "channel_id": "text", "title": "text", "description": "text",
		"type": "text?", "status": "text", "priority": "number", "assigned_agent_id": "text?", "execution_mode": "text?",
		"created_at": "time", "claimed_at": "time?", "done_at": "time?", "updated_at": "time",
	}
	claimedShape = taskShape.with("assigned_agent_id", "text").with("claimed_at", "time")
	endedShape   = claimedShape.with("done_at", "time")
	inputShape   = shape{
		"id": "text", "task_id": "text", "agent_id": "text?", "kind": "text", "text": "text", "send_enter": "boolean",
		"created_at": "time", "claimed_at": "time?",
	}
	eventShape = shape{
		"id": "text", "agent_id": "text?", "task_id": "text?", "type": "text", "payload": "object?", "created_at": "time",
	}
)

func (of shape) with(member, kind string) shape {
	more := shape{member: kind}
	for k, v := range of {
		if k != member {
			more[k] = v
		}
	}
	return more
}

func (of shape) check(s *script, where string, o object) {
	s.Helper()
	for member, kind := range of {
		value, there := o[member]
		plain, optional := strings.CutSuffix(kind, "?")
		if optional && (!there || value == nil) {
			continue
		}
		if !is(value, plain) {
			s.Errorf("%s: %s is %v (%T), want a %s", where, member, value, value, plain)
		}
	}
	if s.Failed() {
		s.FailNow()
	}
}

func is(value any, kind string) bool {
	ok := false
	switch kind {
	case "text":
		_, ok = value.(string)
	case "number":
		_, ok = value.(float64)
	case "boolean":
		_, ok = value.(bool)
	case "object":
		_, ok = value.(map[string]any)
	case "time":
		text, _ := value.(string)
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	}
	return ok
}
