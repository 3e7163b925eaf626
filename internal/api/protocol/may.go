package protocol

import (
	"gaffer/internal/api/credential"
	"gaffer/internal/engine/store"
)

// maySubmit returns an error unless the client may create channels, chains and tasks.
func maySubmit(by credential.Identity) error {
	if by.Role == credential.Admin || by.Role == credential.Operator {
		return nil
	}
	return denied("a token of role %s may not add anything: use one of role operator or admin", by.Role)
}

// maySpeak returns an error if the client may not act for any agent.
func maySpeak(by credential.Identity) error {
	if by.Role == credential.Worker {
		return nil
	}
	if err := maySubmit(by); err != nil {
		return denied("a token of role %s may only look", by.Role)
	}
	return nil
}

// speaksFor returns an error unless the client may act for an agent. A worker's token may
// act for the agents that it registered, and for those that another token of the same
// name and role registered: tokens are replaced, agents keep their ids.
func speaksFor(by credential.Identity, w store.Worker) error {
	if err := maySpeak(by); err != nil {
		return err
	}
	registered := by.ID != "" && by.ID == w.Owner
	replaces := w.Holder != "" && by.Owner() == w.Holder
	if by.Role == credential.Worker && !registered && !replaces {
		return denied("agent %s belongs to another token: use one of the same name and role as that", w.ID)
	}
	return nil
}

// agentOf returns an agent, or an error if the client may not act for it.
func agentOf(r rows, by credential.Identity, id string) (store.Worker, error) {
	if err := maySpeak(by); err != nil {
		return store.Worker{}, err
	}
	w, err := r.Worker(id)
	if err != nil {
		return w, missing(err, "agent", id)
	}
	return w, speaksFor(by, w)
}

// touches returns an error unless the client may send events or inputs to a task. A
// worker's token may do so only if one of its agents has the task, or had it last.
func touches(r rows, by credential.Identity, t store.Task) error {
	if by.Role != credential.Worker {
		return maySubmit(by)
	}
	a, err := lastAttempt(r, t)
	if err != nil {
		return err
	}
	if a == nil {
		return denied("task %s belongs to no agent", wireID(t.TaskKey))
	}
	_, err = agentOf(r, by, a.Worker)
	return err
}

// lastAttempt returns the running attempt at a task, or the last ended one, or nil.
func lastAttempt(r rows, t store.Task) (*store.Attempt, error) {
	id := t.Attempt
	if id == "" {
		id = t.Last
	}
	if id == "" {
		return nil, nil
	}
	a, err := r.Attempt(id)
	if err != nil {
		return nil, missing(err, "attempt", id)
	}
	return &a, nil
}
