package session

import (
	"context"
	"time"

	"gaffer/statefile/jsontree"
)

// StartAgent makes a queued agent run. A pid of 0 is one that is not known.
// It is refused in a session that has ended.
func (s *Store) StartAgent(ctx context.Context, id, agent string, pid int) error {
	return s.update(ctx, id, func(root *jsontree.Node, f *finder) error {
		node, err := f.find(root, agent)
		if err != nil {
			return err
		}
		if state := sessionState(root); state.Final() {
			return &TransitionError{What: "session " + id, From: state, To: Running}
		}
		return startAgent(node, s.opts.Now(), pid)
	})
}

// CompleteAgent ends a running agent well.
func (s *Store) CompleteAgent(ctx context.Context, id, agent string, exitCode int) error {
	return s.end(ctx, id, agent, Complete, func(node *jsontree.Node) {
		node.Set("exit_code", exitCode)
	})
}

// FailAgent ends a running agent badly. message says why, for people.
func (s *Store) FailAgent(ctx context.Context, id, agent, message string, exitCode int) error {
	return s.end(ctx, id, agent, Failed, func(node *jsontree.Node) {
		node.Set("exit_code", exitCode)
		node.Set("error", message)
	})
}

// CancelAgent ends an agent that is queued or runs.
func (s *Store) CancelAgent(ctx context.Context, id, agent string) error {
	return s.end(ctx, id, agent, Cancelled, func(*jsontree.Node) {})
}

func (s *Store) end(ctx context.Context, id, agent string, to State, set func(*jsontree.Node)) error {
	return s.update(ctx, id, func(root *jsontree.Node, f *finder) error {
		node, err := f.find(root, agent)
		if err != nil {
			return err
		}
		if err := endAgent(node, s.opts.Now(), to); err != nil {
			return err
		}
		set(node)
		return nil
	})
}

// CancelSession cancels every agent that is queued or runs, and the session.
func (s *Store) CancelSession(ctx context.Context, id string) error {
	return s.update(ctx, id, func(root *jsontree.Node, _ *finder) error {
		return cancelSession(root, id, s.opts.Now())
	})
}

func cancelSession(root *jsontree.Node, id string, now time.Time) error {
	if err := move(nextSession, "session "+id, sessionState(root), Cancelled); err != nil {
		return err
	}
	for agent := range agentsOf(root) {
		if state := agentState(agent); agent.Kind() != jsontree.Object || (state != Queued && state != Running) {
			continue
		}
		if err := endAgent(agent, now, Cancelled); err != nil {
			return err
		}
	}
	endSession(root, now, Cancelled)
	return nil
}

// CompleteSession ends a session whose agents have all ended: as failed if one
// of them has, as complete otherwise, also if there are none. A session ends
// by itself with its last agent; saying so again is no error.
func (s *Store) CompleteSession(ctx context.Context, id string) (State, error) {
	var final State
	err := s.update(ctx, id, func(root *jsontree.Node, _ *finder) (err error) {
		final, err = completeSession(root, id, s.opts.Now())
		return err
	})
	return final, err
}

func completeSession(root *jsontree.Node, id string, now time.Time) (State, error) {
	state := sessionState(root)
	if state == Complete || state == Failed {
		return state, nil
	}
	sum, busy := Summary{}, []string(nil)
	for agent := range agentsOf(root) {
		state := agentState(agent)
		if sum.add(state); !state.Final() {
			busy = append(busy, agent.Get("id").String())
		}
	}
	if err := move(nextSession, "session "+id, state, sum.outcome()); err != nil {
		return state, err
	}
	if len(busy) > 0 {
		return state, &BusyError{ID: id, Agents: busy}
	}
	endSession(root, now, sum.outcome())
	return sum.outcome(), nil
}
