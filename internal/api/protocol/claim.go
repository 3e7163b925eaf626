package protocol

import (
	"cmp"
	"context"

	"gaffer/fleet"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// maxHeld is how many tasks an agent may have in progress at the same time.
const maxHeld = 100

// Claim implements [server.Protocol].
func (d *taskService) Claim(ctx context.Context, by credential.Identity, c coordinator.Claim) (task coordinator.Task, err error) {
	if err := checkClaim(c); err != nil {
		return task, err
	}
	key := c.IdempotencyKey
	if key != "" {
		key = c.AgentID + " " + key
	}
	var given taskAndAttempt
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		w, err := agentOf(s, by, c.AgentID)
		if err != nil {
			return err
		}
		given = taskAndAttempt{}
		key, err := engine.Once(s, onceClaim, key, func() (*store.TaskKey, error) { return claim(s, w, c) })
		if err != nil || key == nil {
			return err
		}
		given, err = taskWithAttempt(s, *key)
		return err
	})
	switch {
	case err != nil:
		return task, err
	case given.task.Task == "":
		return task, NothingFound("no_tasks", "no task of the channel can start now")
	}
	return d.wire(given)
}

func checkClaim(c coordinator.Claim) error {
	var bad check
	bad.id("agent_id", c.AgentID)
	bad.line("channel", c.Channel, maxName)
	bad.idIfAny("channel_id", c.ChannelID)
	bad.line("idempotency_key", c.IdempotencyKey, maxKey)
	if c.Channel == "" && c.ChannelID == "" {
		bad.fail("channel: is missing")
	}
	return bad.err
}

// claim assigns the next task of the claim's channel to agent w, and returns the task's key. It
// returns nil if no task can start now. It does not change the status that the agent last reported.
func claim(s *engine.Tx, w store.Worker, c coordinator.Claim) (*store.TaskKey, error) {
	if len(w.HeldAttempts) >= maxHeld {
		held, err := heldBy(s, w)
		if err != nil {
			return nil, err
		}
		if len(held) >= maxHeld {
			return nil, Conflict("too_many_tasks", "agent %s has %d tasks already", w.ID, len(held))
		}
	}
	channel, err := channelOfClaim(s, c)
	if err != nil {
		return nil, err
	}
	a, err := s.ClaimForClient(engine.Claim{Worker: w.ID, Labels: []string{channelLabel(channel)}, Only: true, May: mayGetTask(s, w.ID)})
	if err != nil || a == nil {
		return nil, err
	}
	key := a.Task.TaskKey
	return &key, nil
}

// channelOfClaim returns the id of the channel that a claim names by its id or its name. If there
// is no such channel, it returns a not-found error.
func channelOfClaim(s *engine.Tx, c coordinator.Claim) (string, error) {
	if c.ChannelID != "" {
		_, err := s.Item(channelKey(c.ChannelID))
		return c.ChannelID, NotFound(err, "channel", c.ChannelID)
	}
	id, err := channelIDByName(s, c.Channel)
	return id, NotFound(err, "channel", c.Channel)
}

// Complete implements [server.Protocol].
func (d *taskService) Complete(ctx context.Context, by credential.Identity, r coordinator.Report) (coordinator.Task, error) {
	return d.report(ctx, by, r, engine.Finish{Ending: fleet.Ending{Summary: r.Reason}})
}

// Fail implements [server.Protocol].
func (d *taskService) Fail(ctx context.Context, by credential.Identity, r coordinator.Report) (coordinator.Task, error) {
	summary := cmp.Or(r.Reason, "the agent said that it failed")
	return d.report(ctx, by, r, engine.Finish{Ending: fleet.Ending{Class: failure.Crashed, Summary: summary}, Final: true})
}

// report ends the agent's attempt at a task with the result f, and returns the changed task. It
// returns an error if the agent does not have the task.
func (d *taskService) report(ctx context.Context, by credential.Identity, r coordinator.Report, f engine.Finish) (task coordinator.Task, err error) {
	var bad check
	bad.id("task_id", r.TaskID)
	bad.id("agent_id", r.AgentID)
	bad.text("reason", r.Reason, maxReason)
	if bad.err != nil {
		return task, bad.err
	}
	key, err := taskKey(r.TaskID)
	if err != nil {
		return task, err
	}
	var ended taskAndAttempt
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		if _, err := agentOf(s, by, r.AgentID); err != nil {
			return err
		}
		if err := finish(s, key, r.AgentID, f); err != nil {
			return err
		}
		ended, err = taskWithAttempt(s, key)
		return err
	})
	if err != nil {
		return task, err
	}
	return d.wire(ended)
}

// finish ends the agent's attempt at a task with the result f. It returns a conflict error if the
// task is queued, or if its last attempt belongs to another agent. If the task has already ended,
// even with another result, finish changes nothing and returns no error.
func finish(s *engine.Tx, key store.TaskKey, agent string, f engine.Finish) error {
	t, err := s.Task(key)
	if err != nil {
		return NotFound(err, "task", wireID(key))
	}
	a, err := lastAttempt(s, t)
	switch {
	case err != nil:
		return err
	case t.Status == store.Queued || a == nil:
		return Conflict("not_claimed", "task %s is no agent's: it waits for one", wireID(key))
	case a.Worker != agent:
		return Conflict("not_owner", "task %s belongs to another agent", wireID(key))
	case t.Status.Final():
		return nil
	}
	f.Attempt, f.Token = a.ID, a.Token
	_, err = s.Finish(f)
	return err
}
