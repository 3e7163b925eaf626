package protocol

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// sessionPriority puts session requests before other tasks.
const sessionPriority = 100

// RequestSession implements [server.Protocol]. It queues a task that asks an agent of the
// channel without a session to start one.
func (d *Service) RequestSession(ctx context.Context, by credential.Identity, ask coordinator.NewSession) (task coordinator.Task, err error) {
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
	need := store.Need{Items: []store.ItemKey{namedKey(ask.ChannelName), channelKey(ask.ChannelID)}}
	var added tried
	err = d.do(ctx, by, need, func(s *engine.Step) error {
		channel, err := claimed(s, named)
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

// sessionStarted completes the task of a session request. In its new session the agent
// may have another id than the one that claimed the task. Therefore the secret of the
// task and the client's token are checked, not the agent's id.
func sessionStarted(s *engine.Step, by credential.Identity, n coordinator.NewEvent) (store.TaskKey, error) {
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
		return key, missing(err, "task", id)
	}
	words, err := specOf(t)
	if err != nil {
		return key, err
	}
	if words.Step.Session == "" || subtle.ConstantTimeCompare([]byte(words.Step.Session), []byte(said.Secret)) != 1 {
		return key, conflict("wrong_token", "task %s has another agent_session_request_token", id)
	}
	if err := touches(s, by, t); err != nil || t.Status == store.Complete {
		return key, err
	}
	a, err := lastAttempt(s, t)
	if err != nil {
		return key, err
	}
	if t.Status != store.Running || a == nil {
		return key, conflict("not_claimed", "task %s is not in progress", id)
	}
	_, err = s.Finish(engine.Finish{Attempt: a.ID, Token: a.Token, Summary: "the session has started"})
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
func (d *Service) Assign(ctx context.Context, by credential.Identity, ask coordinator.Assignment) (task coordinator.Task, err error) {
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
	var given tried
	err = d.do(ctx, by, store.Need{Workers: []string{ask.AgentID}, Runs: []string{key.Run}}, func(s *engine.Step) error {
		w, err := agentOf(s, by, ask.AgentID)
		if err != nil {
			return err
		}
		if given, err = triedTask(s, key); err != nil {
			return err
		}
		switch {
		case given.task.Status == store.Running && given.attempt.Worker == w.ID:
			return nil
		case given.task.Status == store.Running:
			return conflict("not_owner", "task %s belongs to another agent", ask.TaskID)
		case given.task.Status.Final():
			return conflict("task_ended", "task %s has ended", ask.TaskID)
		}
		if held, err := heldBy(s, w); err != nil || len(held) >= maxHeld {
			return cmp.Or(err, conflict("too_many_tasks", "agent %s has %d tasks already", w.ID, len(held)))
		}
		if may, err := mayHave(s, w.ID)(key); err != nil || !may {
			return cmp.Or(err, conflict("not_owner", "the chain of task %s belongs to another agent", ask.TaskID))
		}
		if _, err := s.Assign(key, w.ID); err != nil {
			return notNow(err, ask.TaskID)
		}
		given, err = triedTask(s, key)
		return err
	})
	if err != nil {
		return task, err
	}
	return given.wire()
}

// notNow converts the engine's conflict into the protocol's.
func notNow(err error, id string) error {
	if late, ok := errors.AsType[*engine.ConflictError](err); ok {
		return conflict("conflict", "task %s: %s", id, late.Why)
	}
	return err
}

// SetStatus implements [server.Protocol]. A user requeues a task in progress, or ends it
// on behalf of its agent. Setting the current status again changes nothing.
func (d *Service) SetStatus(ctx context.Context, by credential.Identity, id string, to coordinator.TaskStatus) (task coordinator.Task, err error) {
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
	var now tried
	err = d.do(ctx, by, store.Need{Runs: []string{key.Run}}, func(s *engine.Step) error {
		if now, err = triedTask(s, key); err != nil {
			return err
		}
		if statuses[now.task.Status] == to {
			return nil
		}
		if now.task.Status != store.Running {
			return conflict("conflict", "task %s is %s: only a task in progress can be set to %s", id, statuses[now.task.Status], to)
		}
		a := now.attempt
		switch to {
		case coordinator.Queued:
			err = s.Release(a.Worker, []engine.Held{{Attempt: a.ID, Token: a.Token}})
		case coordinator.Failed:
			_, err = s.Finish(engine.Finish{Attempt: a.ID, Token: a.Token, Class: failure.Crashed, Final: true, Summary: "set to failed by " + by.Name})
		default:
			_, err = s.Finish(engine.Finish{Attempt: a.ID, Token: a.Token, Summary: "set to done by " + by.Name})
		}
		if err != nil {
			return err
		}
		now, err = triedTask(s, key)
		return err
	})
	if err != nil {
		return task, err
	}
	return now.wire()
}

// dismissal records that a user has dismissed a notification. It holds until the agent
// reports a different state.
type dismissal struct {
	Since time.Time `json:"since"` // the time of the agent's last change at that moment
}

func dismissedKey(agent, kind string) store.ItemKey {
	return store.ItemKey{Kind: kindDismissed, ID: agent + ":" + kind}
}

// Notifications implements [server.Protocol]. It lists the online agents that wait for a
// session.
func (d *Service) Notifications(ctx context.Context) (list []coordinator.Notification, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		list = []coordinator.Notification{}
		agents, err := d.agents(r)
		if err != nil {
			return err
		}
		for _, a := range agents {
			if a.WorkerStatus != coordinator.Online || stateOf(a) != coordinator.SetupWaiting {
				continue
			}
			i, err := r.Item(dismissedKey(a.ID, coordinator.SetupWaiting))
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if err == nil {
				if gone, err := wireItem[dismissal](i); err == nil && gone.Since.Equal(a.UpdatedAt) {
					continue
				}
			}
			n := coordinator.Notification{
				Key: a.ID + ":" + coordinator.SetupWaiting, AgentID: a.ID, AgentName: a.Name, Type: coordinator.SetupWaiting,
				Message: fmt.Sprintf("Agent %s waits for a session.", a.Name), CreatedAt: a.UpdatedAt,
			}
			if subscribed := subscriptionsOf(a); len(subscribed) > 0 {
				n.Channel = subscribed[0]
			} else {
				n.Message += " It takes tasks of no channel yet."
			}
			list = append(list, n)
		}
		return nil
	})
	return list, err
}

// stateOf returns the state in the agent's meta.
func stateOf(a coordinator.Agent) string {
	var meta struct{ State string }
	_ = json.Unmarshal(a.Meta, &meta) // meta in another format has no state
	return meta.State
}

// subscriptionsOf returns the channels whose tasks the agent takes.
func subscriptionsOf(a coordinator.Agent) []string {
	var meta struct{ Subscriptions []string }
	_ = json.Unmarshal(a.Meta, &meta) // meta in another format has none
	return meta.Subscriptions
}

// Dismiss implements [server.Protocol]. Dismissing a notification that does not exist is
// not an error.
func (d *Service) Dismiss(ctx context.Context, by credential.Identity, agent, kind string) error {
	var bad check
	bad.id("agent_id", agent)
	bad.id("type", kind)
	if err := cmp.Or(maySubmit(by), bad.err); err != nil {
		return err
	}
	return d.do(ctx, by, store.Need{Workers: []string{agent}}, func(s *engine.Step) error {
		w, err := agentRow(s, agent)
		if gone(err) || err == nil && kind != coordinator.SetupWaiting {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = put(s, dismissedKey(agent, kind), "", s.NextSeq(), dismissal{Since: utc(w.Updated)})
		return err
	})
}
