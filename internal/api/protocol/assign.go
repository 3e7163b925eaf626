package protocol

import (
	"cmp"
	"context"
	"errors"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
)

// Assign implements [server.Protocol]. It gives a queued task to an agent. If the agent already has
// the task, it changes nothing. If another agent has the task, or the task has ended, Assign
// returns a conflict error.
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

// asConflict converts the engine's conflict error about a task into a conflict error of the
// protocol. It returns other errors unchanged.
func asConflict(err error, id string) error {
	if late, ok := errors.AsType[*engine.ConflictError](err); ok {
		return Conflict("conflict", "task %s: %s", id, late.Why)
	}
	return err
}

// SetStatus implements [server.Protocol]. With it, a user can return a task in progress to the
// queue, or end it instead of its agent. If the task already has the given status, SetStatus
// changes nothing. Otherwise the task must be in progress, or SetStatus returns a conflict error.
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
