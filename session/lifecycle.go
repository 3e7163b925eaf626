package session

import (
	"context"
	"time"

	"gaffer/statefile/jsontree"
)

// StartAgent changes the status of a queued agent to running. A pid of 0 means that the process id
// is unknown. StartAgent returns an error if the session has ended.
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

// CompleteAgent changes the status of a running agent to complete. If all other agents of the
// session have already ended, the session ends, too.
func (s *Store) CompleteAgent(ctx context.Context, id, agent string, exitCode int) error {
	return s.end(ctx, id, agent, Complete, func(node *jsontree.Node) {
		node.Set("exit_code", exitCode)
	})
}

// FailAgent changes the status of a running agent to failed. message tells the user the reason. If
// all other agents of the session have already ended, the session ends, too.
func (s *Store) FailAgent(ctx context.Context, id, agent, message string, exitCode int) error {
	return s.end(ctx, id, agent, Failed, func(node *jsontree.Node) {
		node.Set("exit_code", exitCode)
		node.Set("error", message)
	})
}

// CancelAgent changes the status of a queued or running agent to cancelled. If all other agents of
// the session have already ended, the session ends, too.
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

// CancelSession sets the status of the session, and of its queued and running agents, to cancelled.
// It returns an error if the session has already ended.
func (s *Store) CancelSession(ctx context.Context, id string) error {
	return s.update(ctx, id, func(root *jsontree.Node, _ *finder) error {
		return cancelSession(root, id, s.opts.Now())
	})
}

func cancelSession(root *jsontree.Node, id string, now time.Time) error {
	if err := checkTransition(nextSessionStates, "session "+id, sessionState(root), Cancelled); err != nil {
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

// CompleteSession ends a session whose agents have all ended, and returns its final status. The
// session becomes failed if an agent failed. Otherwise, even if it has no agents, it becomes
// complete. If the session is already complete or failed, CompleteSession changes nothing and
// returns no error, because a session ends automatically when its last agent ends. If the session
// is cancelled, CompleteSession returns a [*TransitionError]. If an agent has not ended, it returns
// a [*BusyError].
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
	if err := checkTransition(nextSessionStates, "session "+id, state, sum.outcome()); err != nil {
		return state, err
	}
	if len(busy) > 0 {
		return state, &BusyError{ID: id, Agents: busy}
	}
	endSession(root, now, sum.outcome())
	return sum.outcome(), nil
}
