package protocol

import (
	"errors"

	"gaffer/internal/api/credential"
	"gaffer/internal/engine/store"
)

// maySubmit returns an error unless the client's role may create channels, chains and tasks.
func maySubmit(by credential.Identity) error {
	if by.Role == credential.Admin || by.Role == credential.Operator {
		return nil
	}
	return Denied("a token of role %s may not add anything: use one of role operator or admin", by.Role)
}

// MayAct returns an error unless the client's role may act for agents. The roles worker, operator
// and admin may do so.
func MayAct(by credential.Identity) error {
	if by.Role == credential.Worker {
		return nil
	}
	if err := maySubmit(by); err != nil {
		return Denied("a token of role %s may only look", by.Role)
	}
	return nil
}

// MayActFor returns an error unless the client may act for an agent. Operators and admins may act
// for all agents. A client with a worker token may act for the agents that were registered with
// this token. It may also act for agents that were registered with another token of the same name
// and role, because the agents keep their ids when their token is replaced.
func MayActFor(by credential.Identity, w store.Worker) error {
	if err := MayAct(by); err != nil {
		return err
	}
	registered := by.ID != "" && by.ID == w.Owner
	replaces := w.OwnerName != "" && by.Owner() == w.OwnerName
	if by.Role == credential.Worker && !registered && !replaces {
		return Denied("agent %s belongs to another token: use one of the same name and role as that", w.ID)
	}
	return nil
}

// agentOf returns the agent with the given id. It returns an error if the client may not act for
// this agent.
func agentOf(r rows, by credential.Identity, id string) (store.Worker, error) {
	if err := MayAct(by); err != nil {
		return store.Worker{}, err
	}
	w, err := r.Worker(id)
	if err != nil {
		return w, NotFound(err, "agent", id)
	}
	return w, MayActFor(by, w)
}

// mayChangeTask returns an error unless the client may send events or inputs to a task. A client
// with a worker token may do so only if it may act for the agent that has the task or, if no agent
// has it, for the agent that had it last.
func mayChangeTask(r rows, by credential.Identity, t store.Task) error {
	if by.Role != credential.Worker {
		return maySubmit(by)
	}
	a, err := lastAttempt(r, t)
	if err != nil {
		return err
	}
	if a == nil {
		return Denied("task %s belongs to no agent", wireID(t.TaskKey))
	}
	_, err = agentOf(r, by, a.Worker)
	return err
}

// lastAttempt returns the running attempt at a task. If none is running, it returns the last ended
// attempt, or nil if there was no attempt.
func lastAttempt(r rows, t store.Task) (*store.Attempt, error) {
	id := t.RunningAttempt
	if id == "" {
		id = t.LastAttempt
	}
	if id == "" {
		return nil, nil
	}
	a, err := r.Attempt(id)
	if err != nil {
		return nil, NotFound(err, "attempt", id)
	}
	return &a, nil
}

// runRows reads runs.
type runRows interface {
	Run(id string) (store.Run, error)
}

// CheckNotRun returns an error if id is the id of a run. Clients must not register an agent with
// such an id, because the worker that executes a local run has the same id as the run.
func CheckNotRun(r runRows, id string) error {
	_, err := r.Run(id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return Denied("agent %.40q: is the worker of a run", id)
}
