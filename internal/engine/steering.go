package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"gaffer/fleet"
	"gaffer/internal/engine/review"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// steering sends users' messages and review comments to agents, and interrupts agents.
type steering struct {
	*txContext
	states      *taskStates
	propagation *propagation
	retries     *retries
	messages    *messages
	reviews     *reviews
}

// Send stores a message to the agent of a task, and returns it. If the task is running, its worker
// gets the message with its next heartbeat. If the task has ended, it is queued again, and its
// agent continues the conversation. An accepted message waits until an agent has received it, or
// until it is withdrawn.
//
// The message's id is an idempotency key: a repeated request returns the stored message. Send
// returns a [*ConflictError] if the agent cannot get messages, for example because the run belongs
// to a team (whose agents take orders only from the team), because the task runs a command or is
// being cancelled, or because its change was discarded.
func (e *Engine) Send(ctx context.Context, m fleet.Message) (sent fleet.Message, err error) {
	if err := checkMessage(m); err != nil {
		return m, err
	}
	err = e.write(ctx, m.By, func(tx *transaction) error {
		sent, err = tx.steering.send(fleet.Message{ID: m.ID, Run: m.Run, Task: m.Task, Text: m.Text, Now: m.Now})
		return err
	})
	return sent, err
}

func (s *steering) send(m fleet.Message) (fleet.Message, error) {
	if m.ID == "" {
		m.ID = s.opts.NewID()
	}
	known, err := s.messages.get(m.ID)
	switch {
	case err == nil && (known.Run != m.Run || known.Task != m.Task || known.Text != m.Text):
		return m, &ConflictError{"message " + m.ID, "is another message: use a new id"}
	case err == nil:
		return known.Message, nil
	case !errors.Is(err, store.ErrNotFound):
		return m, err
	}
	run, t, err := s.reachableTask(store.TaskKey{Run: m.Run, Task: m.Task})
	if err != nil {
		return m, err
	}
	waiting, err := s.messages.waiting(t.TaskKey)
	if err != nil {
		return m, err
	}
	if len(waiting) >= maxWaiting {
		return m, &ConflictError{"task " + t.Task, fmt.Sprintf("%d messages wait for its agent already", len(waiting))}
	}
	m.By, m.Sent = s.who, s.now
	if err := s.messages.put(message{m, t.Tries, s.NextSeq()}, "message.sent", t.RunningAttempt); err != nil {
		return m, err
	}
	t.HasMessages = true
	s.PutTask(t)
	switch t.Status {
	case store.Queued:
		return m, nil
	case store.Running:
		a, err := s.attempt(t.RunningAttempt)
		a.HasMessages = true
		s.PutAttempt(a)
		return m, err
	}
	return m, s.retries.requeueForMessage(run, t, "a message of "+cmp.Or(m.By, "the user")+" waits for its agent")
}

// reachableTask returns a task and its run, or an error if the task's agent cannot get messages.
func (s *steering) reachableTask(key store.TaskKey) (run store.Run, t store.Task, err error) {
	if run, err = s.run(key.Run); err != nil {
		return run, t, err
	}
	if t, err = s.task(key); err != nil {
		return run, t, err
	}
	if run.Conducted {
		return run, t, &ConflictError{"run " + run.ID, "is a team's, whose agents take their orders from the team"}
	}
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return run, t, fmt.Errorf("task %s: %w", t.Task, err)
	}
	if AgentOf(spec) == plan.CommandAgent || len(spec.Argv) > 0 {
		return run, t, &ConflictError{"task " + t.Task, "runs a command, which takes no messages"}
	}
	if AgentOf(spec) == plan.PickAgent {
		return run, t, s.pickTaskError(t)
	}
	if t.Status == store.Running {
		a, err := s.attempt(t.RunningAttempt)
		if err == nil && a.StopReason == cancelled {
			err = &ConflictError{"task " + t.Task, "is being cancelled; send the message when it has ended"}
		}
		return run, t, err
	}
	v, _, err := reviewOf(s.Tx, key)
	if err == nil && v.State == fleet.ReviewDiscarded {
		err = &ConflictError{"task " + t.Task, "its change was discarded; undo that first"}
	}
	return run, t, err
}

// SendBack sends all comments of a task's review that were not sent yet to the task's agent, in one
// message. The parameter tree is the id of the git tree that the user has reviewed, or empty.
// SendBack returns the same errors as [Engine.Send]. It also returns a [*review.RefusedError] if
// the state of the review does not allow it, for example if all comments were already sent.
func (e *Engine) SendBack(ctx context.Context, key store.TaskKey, who, tree string) error {
	return e.write(ctx, who, func(tx *transaction) error { return tx.steering.sendBack(key, tree) })
}

func (s *steering) sendBack(key store.TaskKey, tree string) error {
	t, err := s.task(key)
	if err != nil {
		return err
	}
	v, _, err := reviewOf(s.Tx, key)
	if err != nil {
		return err
	}
	before := v.State
	text, err := review.SendBack(&v, tree)
	if err != nil {
		return err
	}
	if len(text) > MaxMessage {
		return &MessageError{fmt.Sprintf("the comments have %d bytes together, and may have %d: send some of them later", len(text), MaxMessage)}
	}
	v.By = s.who
	if err := s.reviews.put(t, v, before); err != nil {
		return err
	}
	t.SentBack = true
	s.PutTask(t)
	_, err = s.send(fleet.Message{Run: key.Run, Task: key.Task, Text: text, Round: v.Round})
	return err
}

// WithdrawMessage withdraws a message that no agent has received yet. Review comments in the
// message become drafts again. If the task had ended and was queued again only for the message, it
// gets its earlier status back. WithdrawMessage returns a [*ConflictError] if the message was
// delivered. An agent may still receive a message that is withdrawn at the same moment.
func (e *Engine) WithdrawMessage(ctx context.Context, id, who string) error {
	return e.write(ctx, who, func(tx *transaction) error {
		m, err := tx.messages.get(id)
		if err != nil {
			return asNotFound(err, "message", id)
		}
		if m.Withdrawn {
			return nil
		}
		if !m.Delivered.IsZero() {
			return &ConflictError{"message " + id, "was delivered to the agent already"}
		}
		return tx.steering.withdraw(m)
	})
}

func (s *steering) withdraw(m message) error {
	key := store.TaskKey{Run: m.Run, Task: m.Task}
	if err := s.reviews.withdraw(m); err != nil {
		return err
	}
	t, err := s.task(key)
	if err != nil {
		return err
	}
	waiting, err := s.messages.waiting(key)
	if err != nil || len(waiting) > 0 || t.Status != store.Queued || t.EndedAs == "" {
		return err
	}
	if err := s.states.endQueued(&t, "", "the message was withdrawn"); err != nil {
		return err
	}
	return s.propagation.statusChanged(t)
}

// Interrupt asks the worker of a running task to stop what the agent is doing now, which ends the
// attempt. If messages already wait for the agent, the task is queued again, and the agent
// continues with these messages. If no message waits, the task is cancelled, and a later message
// can continue the conversation. Interrupt returns a [*ConflictError] if the task is not running,
// or if its run belongs to a team of agents.
func (e *Engine) Interrupt(ctx context.Context, key store.TaskKey, who string) error {
	return e.write(ctx, who, func(tx *transaction) error {
		run, err := tx.run(key.Run)
		if err != nil {
			return err
		}
		t, err := tx.task(key)
		switch {
		case err != nil:
			return err
		case run.Conducted:
			return &ConflictError{"run " + run.ID, "is a team's, whose agents take their orders from the team"}
		case t.Status != store.Running:
			return &ConflictError{"task " + t.Task, fmt.Sprintf("is %s: only a running agent can be interrupted", t.Status)}
		}
		a, err := tx.attempt(t.RunningAttempt)
		if err != nil || a.StopReason != "" { // the worker was already asked to end the attempt
			return err
		}
		a.StopReason = interrupted
		tx.PutAttempt(a)
		return tx.attemptEvent("attempt.stopping", a, "the user interrupts the agent")
	})
}
