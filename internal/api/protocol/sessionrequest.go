package protocol

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// sessionPriority is the priority of tasks that ask an agent to start a session. It is higher than
// the default priority 0, so that agents claim these tasks first.
const sessionPriority = 100

// RequestSession implements [server.Protocol]. It queues a task in the given channel. The task asks
// the agent that claims it to start a session, if the agent has none.
func (d *taskService) RequestSession(ctx context.Context, by credential.Identity, ask coordinator.NewSession) (task coordinator.Task, err error) {
	var bad check
	bad.idIfAny("channel_id", ask.ChannelID)
	bad.line("channel_name", ask.ChannelName, maxName)
	if ask.ChannelID == "" && ask.ChannelName == "" {
		bad.fail("channel_id: is missing, and so is channel_name")
	}
	if err := cmp.Or(maySubmit(by), bad.err); err != nil {
		return task, err
	}
	secret, err := credential.Secret(d.random)
	if err != nil {
		return task, fmt.Errorf("session request: %w", err)
	}
	named := coordinator.Claim{ChannelID: ask.ChannelID, Channel: ask.ChannelName}
	var added taskAndAttempt
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		channel, err := channelOfClaim(s, named)
		if err != nil {
			return err
		}
		added, err = addTask(s, channelRun+channel, channel, coordinator.NewTask{
			ChannelID: channel, Title: "Start a session", Type: coordinator.SessionRequest, Priority: sessionPriority,
			Description: "An agent of this channel that has no session is asked to start one.",
		}, "asr_"+secret)
		return err
	})
	if err != nil {
		return task, err
	}
	return added.wire()
}

// sessionStarted completes a task that asked an agent to start a session, after the agent has
// reported in the event n that the session has started. It returns the key of the task. The agent's
// id may have changed since it claimed the task, so sessionStarted does not check the id. Instead,
// the event must contain the task's secret, and the client's token must permit it to change the
// task. If the task is already complete, sessionStarted changes nothing.
func sessionStarted(s *engine.Tx, by credential.Identity, n coordinator.NewEvent) (store.TaskKey, error) {
	var said struct {
		Task   string `json:"task_id"`
		Secret string `json:"agent_session_request_token"`
	}
	if err := json.Unmarshal(n.Payload, &said); err != nil || said.Secret == "" {
		return store.TaskKey{}, Invalid("payload: agent_session_request_token is missing")
	}
	id := cmp.Or(n.TaskID, said.Task)
	key, err := taskKey(id)
	if err != nil {
		return key, err
	}
	t, err := s.Task(key)
	if err != nil {
		return key, NotFound(err, "task", id)
	}
	words, err := specOf(t)
	if err != nil {
		return key, err
	}
	if words.Step.Session == "" || subtle.ConstantTimeCompare([]byte(words.Step.Session), []byte(said.Secret)) != 1 {
		return key, Conflict("wrong_token", "task %s has another agent_session_request_token", id)
	}
	if err := mayChangeTask(s, by, t); err != nil || t.Status == store.Complete {
		return key, err
	}
	a, err := lastAttempt(s, t)
	if err != nil {
		return key, err
	}
	if t.Status != store.Running || a == nil {
		return key, Conflict("not_claimed", "task %s is not in progress", id)
	}
	_, err = s.Finish(engine.Finish{Attempt: a.ID, Token: a.Token, Ending: fleet.Ending{Summary: "the session has started"}})
	return key, err
}

// wireIDOf returns the protocol's id of a task, or "" if key is empty.
func wireIDOf(key store.TaskKey) string {
	if key.Task == "" {
		return ""
	}
	return wireID(key)
}
