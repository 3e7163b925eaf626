package protocol

import (
	"cmp"
	"context"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// maxInputs is how many unclaimed inputs a task may have. An input is text or keys that a user
// sends to the agent of the task. It is unclaimed until the agent fetches it.
const maxInputs = 1000

func inputKey(id string) store.ItemKey { return store.ItemKey{Kind: kindInput, ID: id} }

// AddInput implements [server.Protocol]. If an agent has the task now, the input is for this agent.
// Otherwise it is for the agent that the request names. If the request names none, any agent that
// gets the task later may claim the input.
func (d *taskService) AddInput(ctx context.Context, by credential.Identity, n coordinator.NewInput) (input coordinator.Input, err error) {
	n.Kind = cmp.Or(n.Kind, "text")
	if err := cmp.Or(MayAct(by), checkInput(n)); err != nil {
		return input, err
	}
	key, err := taskKey(n.TaskID)
	if err != nil {
		return input, err
	}
	once := n.IdempotencyKey
	if once != "" {
		once = n.TaskID + " " + once
	}
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		t, err := s.Task(key)
		if err != nil {
			return NotFound(err, "task", n.TaskID)
		}
		if err := mayChangeTask(s, by, t); err != nil {
			return err
		}
		input, err = engine.Once(s, onceInput, once, func() (coordinator.Input, error) { return addInput(s, t, n) })
		return err
	})
	return input, err
}

func checkInput(n coordinator.NewInput) error {
	var c check
	c.id("task_id", n.TaskID)
	c.idIfAny("agent_id", n.AgentID)
	c.text("text", n.Text, maxInput)
	c.line("idempotency_key", n.IdempotencyKey, maxKey)
	if n.Kind != "text" && n.Kind != "keys" {
		c.fail("kind: is %.40q, and may be text or keys", n.Kind)
	}
	if n.Text == "" && !n.SendEnter {
		c.fail("text: is missing")
	}
	return c.err
}

func addInput(s *engine.Tx, t store.Task, n coordinator.NewInput) (input coordinator.Input, err error) {
	agent, err := recipient(s, t, n.AgentID)
	if err != nil {
		return input, err
	}
	waiting, err := s.Items(kindInput, n.TaskID, 0, maxInputs)
	if err != nil {
		return input, err
	}
	if len(waiting) >= maxInputs {
		return input, Conflict("too_many_inputs", "task %s has %d inputs that were not taken yet", n.TaskID, len(waiting))
	}
	input = coordinator.Input{
		ID: s.NewID(), TaskID: n.TaskID, AgentID: agent, Kind: n.Kind, Text: n.Text, SendEnter: n.SendEnter, CreatedAt: inUTC(s.Now()),
	}
	i, err := put(s, inputKey(input.ID), n.TaskID, s.NextSeq(), input)
	if err != nil {
		return input, err
	}
	return input, s.Event(store.Event{Kind: "input.added", Run: t.Run, Task: t.Task}, i)
}

// recipient returns the id of the agent that a new input of the task t is for, or "" if any agent
// may get it. The parameter name is the id of the agent that the request names, or empty.
//   - If an agent has the task, recipient returns the id of this agent. If the request names a
//     different agent, it returns an error.
//   - If the task is queued, recipient returns name.
//   - If the task has ended, recipient returns an error.
func recipient(s *engine.Tx, t store.Task, name string) (string, error) {
	if t.Status.Final() {
		return "", Conflict("task_ended", "task %s has ended", wireID(t.TaskKey))
	}
	if t.Status != store.Running {
		return name, nil
	}
	a, err := lastAttempt(s, t)
	if err != nil {
		return "", err
	}
	if name != "" && name != a.Worker {
		return "", Conflict("not_owner", "task %s belongs to another agent", wireID(t.TaskKey))
	}
	return a.Worker, nil
}

// ClaimInput implements [server.Protocol].
func (d *taskService) ClaimInput(ctx context.Context, by credential.Identity, task, agent string) (input coordinator.Input, err error) {
	var bad check
	bad.id("task_id", task)
	bad.id("agent_id", agent)
	if bad.err != nil {
		return input, bad.err
	}
	key, err := taskKey(task)
	if err != nil {
		return input, err
	}
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		if _, err := agentOf(s, by, agent); err != nil {
			return err
		}
		if err := checkHasTask(s, key, agent); err != nil {
			return err
		}
		input, err = claimInput(s, key, agent)
		return err
	})
	return input, err
}

// checkHasTask returns an error unless the agent has the task now.
func checkHasTask(s *engine.Tx, key store.TaskKey, agent string) error {
	t, err := s.Task(key)
	if err != nil {
		return NotFound(err, "task", wireID(key))
	}
	a, err := lastAttempt(s, t)
	if err != nil {
		return err
	}
	if t.Status != store.Running || a == nil || a.Worker != agent {
		return Conflict("not_owner", "task %s is not agent %s's now", wireID(key), agent)
	}
	return nil
}

// claimInput claims the task's first unclaimed input that this agent may get, and returns it. If
// there is none, it returns a not-found error.
func claimInput(s *engine.Tx, key store.TaskKey, agent string) (input coordinator.Input, err error) {
	waiting, err := s.Items(kindInput, wireID(key), 0, maxInputs)
	if err != nil {
		return input, err
	}
	for _, i := range waiting {
		if input, err = decodeItem[coordinator.Input](i); err != nil {
			return input, err
		}
		if input.AgentID != "" && input.AgentID != agent {
			continue
		}
		now := inUTC(s.Now())
		input.AgentID, input.ClaimedAt = agent, &now
		taken, err := put(s, i.ItemKey, "", i.Seq, input)
		if err != nil {
			return input, err
		}
		return input, s.Event(store.Event{Kind: "input.claimed", Run: key.Run, Task: key.Task}, taken)
	}
	return coordinator.Input{}, NothingFound("no_inputs", "task "+wireID(key)+" has no input that waits")
}
