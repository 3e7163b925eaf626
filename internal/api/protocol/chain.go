package protocol

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// chainRow is a chain as it is stored. A chain is a sequence of tasks that run one after the other.
// The chain's status is not stored but computed from its tasks.
type chainRow struct {
	coordinator.Chain
	Last    int       `json:"last,omitempty"`   // the highest sequence number of the chain's tasks so far
	Deleted time.Time `json:"deleted,omitzero"` // when the chain was deleted; clients can still read its ended tasks
}

// Chains implements [server.Protocol].
func (d *channelService) Chains(ctx context.Context) (list []coordinator.Chain, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		list, err = chains(r)
		return err
	})
	return list, err
}

func chains(r store.Reader) ([]coordinator.Chain, error) {
	rows, err := all[chainRow](r, kindChain)
	list := make([]coordinator.Chain, 0, len(rows))
	for _, row := range rows {
		if err != nil {
			return nil, err
		}
		if row.Deleted.IsZero() {
			row.Status, err = chainStatus(r, row.ID)
			list = append(list, row.Chain)
		}
	}
	return list, err
}

// Chain implements [server.Protocol].
func (d *channelService) Chain(ctx context.Context, id string) (c coordinator.Chain, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) error {
		row, _, err := chainOf(r, id)
		if err != nil {
			return err
		}
		c = row.Chain
		c.Status, err = chainStatus(r, id)
		return err
	})
	return c, err
}

// chainStatus computes the status of a chain from the statuses of its tasks. If the chain has no
// tasks, the status is queued.
func chainStatus(r store.Reader, id string) (coordinator.TaskStatus, error) {
	run, err := r.Run(chainRun + id)
	switch {
	case err != nil:
		return "", NotFound(err, "chain", id)
	case run.Active > 0:
		return coordinator.InProgress, nil
	case run.Open > 0:
		return coordinator.Queued, nil
	case run.Failed > 0:
		return coordinator.Failed, nil
	}
	done, err := r.EndedTasks(run.ID, store.Complete, 1)
	if err != nil || len(done) == 0 {
		return coordinator.Queued, err
	}
	return coordinator.Done, nil
}

// chainOf returns a chain and the store item that contains it. It returns an error if there is no
// such chain, or if it was deleted.
func chainOf(r rows, id string) (row chainRow, i store.Item, err error) {
	if i, err = r.Item(chainKey(id)); err == nil {
		row, err = decodeItem[chainRow](i)
	}
	if err == nil && !row.Deleted.IsZero() {
		err = store.ErrNotFound
	}
	return row, i, NotFound(err, "chain", id)
}

// AddChain implements [server.Protocol].
func (d *channelService) AddChain(ctx context.Context, by credential.Identity, c coordinator.Chain) (made coordinator.Chain, err error) {
	var bad check
	bad.name("name", c.Name, maxName)
	bad.text("description", c.Description, maxText)
	bad.idIfAny("channel_id", c.ChannelID)
	if err := cmp.Or(maySubmit(by), bad.err); err != nil {
		return made, err
	}
	err = d.db.do(ctx, by, func(s *engine.Tx) error {
		if c.ChannelID != "" {
			if _, err := channelOf(s, c.ChannelID); err != nil {
				return NotFound(err, "channel", c.ChannelID)
			}
		}
		now := inUTC(s.Now())
		made = coordinator.Chain{ID: s.NewID(), ChannelID: c.ChannelID, Name: c.Name, Description: c.Description, CreatedAt: now, UpdatedAt: now}
		return addChain(s, made)
	})
	made.Status = coordinator.Queued
	return made, err
}

func addChain(s *engine.Tx, c coordinator.Chain) error {
	i, err := put(s, chainKey(c.ID), "", s.NextSeq(), chainRow{Chain: c})
	if err != nil {
		return err
	}
	if err := s.Event(store.Event{Kind: "chain.added", Run: chainRun + c.ID}, i); err != nil {
		return err
	}
	_, err = s.Submit(engine.Submission{
		ID: chainRun + c.ID, Conducted: true, Ordered: true, Plan: plan.Plan{Name: c.Name, Source: plan.SourceOrchestrate},
	})
	return err
}

// changeChain calls the function change for a chain in one transaction, and returns the changed
// chain. If the chain does not exist, it returns a not-found error. If the function change itself
// deletes the chain, or another request deletes it right afterwards, changeChain returns an empty
// chain and no error.
func (d *channelService) changeChain(ctx context.Context, by credential.Identity, id string, change func(*engine.Tx, *chainRow) error) (coordinator.Chain, error) {
	if err := checkID("chain", id); err != nil {
		return coordinator.Chain{}, err
	}
	err := d.db.do(ctx, by, func(s *engine.Tx) error {
		row, i, err := chainOf(s, id)
		if err != nil {
			return err
		}
		if err := change(s, &row); err != nil {
			return err
		}
		row.UpdatedAt = inUTC(s.Now())
		i, err = put(s, i.ItemKey, i.Parent, i.Seq, row)
		if err != nil {
			return err
		}
		return s.Event(store.Event{Kind: "chain.changed", Run: chainRun + id}, i)
	})
	if err != nil {
		return coordinator.Chain{}, err
	}
	c, err := d.Chain(ctx, id)
	if isNotFound(err) { // the chain was deleted, by this change or by another request
		return c, nil
	}
	return c, err
}

// ChangeChain implements [server.Protocol]. Empty fields of the request change nothing. A status in
// the request is checked but has no effect, because a chain's status is computed from its tasks.
func (d *channelService) ChangeChain(ctx context.Context, by credential.Identity, id string, ask coordinator.ChainChange) (coordinator.Chain, error) {
	var bad check
	bad.line("name", ask.Name, maxName)
	bad.text("description", ask.Description, maxText)
	switch ask.Status {
	case "", coordinator.Queued, coordinator.InProgress, coordinator.Done, coordinator.Failed:
	default:
		bad.fail("status: is %.40q, and may be queued, in_progress, done or failed", ask.Status)
	}
	if err := cmp.Or(maySubmit(by), bad.err); err != nil {
		return coordinator.Chain{}, err
	}
	return d.changeChain(ctx, by, id, func(_ *engine.Tx, row *chainRow) error {
		row.Name, row.Description = cmp.Or(strings.TrimSpace(ask.Name), row.Name), cmp.Or(ask.Description, row.Description)
		return nil
	})
}

// DropChain implements [server.Protocol]. It cancels the queued tasks of the chain and deletes the
// chain. It returns an error while a task of the chain is in progress.
func (d *channelService) DropChain(ctx context.Context, by credential.Identity, id string) error {
	if err := maySubmit(by); err != nil {
		return err
	}
	_, err := d.changeChain(ctx, by, id, func(s *engine.Tx, row *chainRow) error {
		run, err := s.Run(chainRun + id)
		if err != nil {
			return NotFound(err, "chain", id)
		}
		if run.Active > 0 {
			return Conflict("chain_busy", "a task of chain %s is in progress: detach its agent first", id)
		}
		row.Deleted = inUTC(s.Now())
		return s.Cancel(engine.Target{Run: run.ID}, "the chain is deleted")
	})
	return err
}

// AssignChain implements [server.Protocol]. It assigns a chain to an agent. Afterwards only this
// agent may claim the chain's tasks.
func (d *channelService) AssignChain(ctx context.Context, by credential.Identity, id, agent string) (coordinator.Chain, error) {
	if err := cmp.Or(maySubmit(by), CheckID("agent_id", agent)); err != nil {
		return coordinator.Chain{}, err
	}
	return d.changeChain(ctx, by, id, func(s *engine.Tx, row *chainRow) error {
		if _, err := agentRow(s, agent); err != nil {
			return err
		}
		row.OwnerAgentID = agent
		return nil
	})
}

// DetachChain implements [server.Protocol]. It takes a chain away from the given agent. If the
// chain was assigned to this agent, any agent may claim its tasks afterwards. If tasks of the chain
// are in progress at this agent, they are queued again. If neither was the case, DetachChain
// returns a conflict error.
func (d *channelService) DetachChain(ctx context.Context, by credential.Identity, id, agent string) error {
	if err := cmp.Or(maySubmit(by), CheckID("agent_id", agent)); err != nil {
		return err
	}
	_, err := d.changeChain(ctx, by, id, func(s *engine.Tx, row *chainRow) error {
		w, err := agentRow(s, agent)
		if err != nil {
			return err
		}
		held, err := heldBy(s, w)
		if err != nil {
			return err
		}
		owner := row.OwnerAgentID == agent
		for _, a := range held {
			if a.Run != chainRun+id {
				continue
			}
			owner = true
			if err := s.Release(agent, []engine.HeldAttempt{{Attempt: a.ID, Token: a.Token}}); err != nil {
				return err
			}
		}
		if !owner {
			return Conflict("not_owner", "chain %s is not agent %s's", id, agent)
		}
		if row.OwnerAgentID == agent {
			row.OwnerAgentID = ""
		}
		return nil
	})
	return err
}

// mayGetTask returns a function that reports whether the given agent may get a task. If the task
// belongs to a chain that is assigned to an agent, only that agent may get it. If the chain was
// deleted, no agent may get it.
func mayGetTask(r rows, agent string) func(store.TaskKey) (bool, error) {
	return func(key store.TaskKey) (bool, error) {
		id, ok := strings.CutPrefix(key.Run, chainRun)
		if !ok {
			return true, nil
		}
		row, _, err := chainOf(r, id)
		if isNotFound(err) {
			return false, nil
		}
		return row.OwnerAgentID == "" || row.OwnerAgentID == agent, err
	}
}

// sequence returns the sequence number of a new task in its chain: the number in the request or, if
// that is 0, one more than the highest number so far. It also stores the highest number in the
// chain's row.
func sequence(s *engine.Tx, t coordinator.NewTask) (int, error) {
	row, i, err := chainOf(s, t.ChainID)
	if err != nil {
		return 0, err
	}
	// If Last is 0, the chain has no tasks yet, or an earlier version of gaffer has stored it
	// without Last. In the second case the chain may have tasks, so compute Last from the tasks.
	if row.Last == 0 {
		if row.Last, err = lastSequence(s, chainRun+t.ChainID); err != nil {
			return 0, err
		}
	}
	place := cmp.Or(t.Sequence, row.Last+1)
	row.Last = max(row.Last, place)
	_, err = put(s, i.ItemKey, i.Parent, i.Seq, row)
	return place, err
}

func lastSequence(s *engine.Tx, run string) (last int, err error) {
	tasks, err := s.Tasks(run)
	if err != nil {
		return 0, err
	}
	for _, t := range tasks {
		words, err := specOf(t)
		if err != nil {
			return 0, fmt.Errorf("sequence: %w", err)
		}
		last = max(last, words.Step.Sequence)
	}
	return last, nil
}
