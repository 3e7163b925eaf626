package protocol

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"

	"gaffer/fleet"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// sessionPriority puts session requests before other tasks.
const sessionPriority = 100

// RequestSession implements [server.Protocol]. It queues a task for an agent of the
// channel that has no session: the agent shall start one.
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

// sessionStarted completes the task of a session request. In its new session, the agent
// may have another id than the one that claimed the task. So the task's secret and the
// client's token are checked instead of the agent's id.
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

// wireIDOf returns the protocol's id of a task, or "" for no task.
func wireIDOf(key store.TaskKey) string {
	if key.Task == "" {
		return ""
	}
	return wireID(key)
}

// Assign implements [server.Protocol]. It gives a queued task to an agent. Repeating it
// for the same agent changes nothing.
func (d *taskService) Assign(ctx context.Context, by credential.Identity, ask coordinator.Assignment) (task coordinator.Task, err error) {
	var bad check
	bad.id("task_id", ask.TaskID)
	bad.id("agent_id", ask.AgentID)
	bad.line("idempotency_key", ask.IdempotencyKey, maxKey)
	if bad.err != nil {
		return task, bad.err
	}
	key, err := taskKey(ask.TaskID)
	if err != nil {
		return task, err
	}
	var given taskAndAttempt
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		w, err := agentOf(s, by, ask.AgentID)
		if err != nil {
			return err
		}
		if given, err = taskWithAttempt(s, key); err != nil {
			return err
		}
		switch {
		case given.task.Status == store.Running && given.attempt.Worker == w.ID:
			return nil
		case given.task.Status == store.Running:
			return Conflict("not_owner", "task %s belongs to another agent", ask.TaskID)
		case given.task.Status.Final():
			return Conflict("task_ended", "task %s has ended", ask.TaskID)
		}
		if held, err := heldBy(s, w); err != nil || len(held) >= maxHeld {
			return cmp.Or(err, Conflict("too_many_tasks", "agent %s has %d tasks already", w.ID, len(held)))
		}
		if may, err := mayGetTask(s, w.ID)(key); err != nil || !may {
			return cmp.Or(err, Conflict("not_owner", "the chain of task %s belongs to another agent", ask.TaskID))
		}
		if _, err := s.Assign(key, w.ID); err != nil {
			return asConflict(err, ask.TaskID)
		}
		given, err = taskWithAttempt(s, key)
		return err
	})
	if err != nil {
		return task, err
	}
	return given.wire()
}

// asConflict converts the engine's conflict into the protocol's.
func asConflict(err error, id string) error {
	if late, ok := errors.AsType[*engine.ConflictError](err); ok {
		return Conflict("conflict", "task %s: %s", id, late.Why)
	}
	return err
}

// SetStatus implements [server.Protocol]. With it, a user requeues a task in progress,
// or ends it in place of its agent. Setting the current status again changes nothing.
func (d *taskService) SetStatus(ctx context.Context, by credential.Identity, id string, to coordinator.TaskStatus) (task coordinator.Task, err error) {
	if err := maySubmit(by); err != nil {
		return task, err
	}
	switch to {
	case coordinator.Queued, coordinator.Done, coordinator.Failed:
	default:
		return task, Invalid("status: is %.40q, and may be queued, done or failed", to)
	}
	key, err := taskKey(id)
	if err != nil {
		return task, err
	}
	var now taskAndAttempt
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		if now, err = taskWithAttempt(s, key); err != nil {
			return err
		}
		if statuses[now.task.Status] == to {
			return nil
		}
		if now.task.Status != store.Running {
			return Conflict("conflict", "task %s is %s: only a task in progress can be set to %s", id, statuses[now.task.Status], to)
		}
		a := now.attempt
		switch to {
		case coordinator.Queued:
			err = s.Release(a.Worker, []engine.HeldAttempt{{Attempt: a.ID, Token: a.Token}})
		case coordinator.Failed:
			_, err = s.Finish(engine.Finish{Attempt: a.ID, Token: a.Token, Ending: fleet.Ending{Class: failure.Crashed, Summary: "set to failed by " + by.Name}, Final: true})
		default:
			_, err = s.Finish(engine.Finish{Attempt: a.ID, Token: a.Token, Ending: fleet.Ending{Summary: "set to done by " + by.Name}})
		}
		if err != nil {
			return err
		}
		now, err = taskWithAttempt(s, key)
		return err
	})
	if err != nil {
		return task, err
	}
	return now.wire()
}
