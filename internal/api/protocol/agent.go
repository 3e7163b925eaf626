package protocol

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// agentService answers the requests about agents.
type agentService struct {
	db  *database
	now func() time.Time // returns the current time, to decide which agents are online
}

// Heartbeat implements [server.Protocol].
func (d *agentService) Heartbeat(ctx context.Context, by credential.Identity, h coordinator.Heartbeat) (coordinator.Agent, error) {
	said := store.Worker{
		ID: h.AgentID, Name: h.Name, Status: cmp.Or(h.ClaudeStatus, h.Status), Task: h.CurrentTaskID, Meta: orNil(h.Meta), Now: h.Now,
		Owner: by.ID, OwnerName: by.Owner(),
	}
	if h.Gone {
		said.Left = d.now()
	}
	if err := checkHeartbeat(said); err != nil {
		return coordinator.Agent{}, err
	}
	var w store.Worker
	err := d.db.do(ctx, by, func(s *engine.Tx) (err error) {
		w, err = heartbeat(s, by, said)
		return err
	})
	return d.agent(w), err
}

func heartbeat(s *engine.Tx, by credential.Identity, said store.Worker) (store.Worker, error) {
	if err := MayAct(by); err != nil {
		return said, err
	}
	if said.ID == "" {
		said.ID = s.NewID()
		return s.ClientHeartbeat(said)
	}
	w, err := s.Worker(said.ID)
	switch {
	case err == nil:
		err = MayActFor(by, w)
	case errors.Is(err, store.ErrNotFound):
		err = CheckNotRun(s, said.ID)
	}
	if err != nil {
		return w, err
	}
	return s.ClientHeartbeat(said)
}

func checkHeartbeat(said store.Worker) error {
	var c check
	c.idIfAny("agent_id", said.ID)
	c.line("name", said.Name, maxName)
	switch said.Status {
	case "", coordinator.Idle, coordinator.Running, coordinator.Waiting:
	default:
		c.fail("claude_status: is %.40q, and may be idle, running or waiting", said.Status)
	}
	c.idIfAny("current_task_id", said.Task)
	c.json("meta", said.Meta, maxMeta)
	c.line("now.doing", said.Now.Doing, maxDoing)
	if said.Now.CostUSD < 0 || said.Now.CostUSD > maxCost {
		c.fail("now.cost_usd: is %g, and may be 0 to %g", said.Now.CostUSD, float64(maxCost))
	}
	return c.err
}

// orNil returns raw, or nil if raw is empty or the JSON null.
func orNil(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// agent converts a worker's row to the protocol's agent. It computes whether the agent is online at
// the current time.
func (d *agentService) agent(w store.Worker) coordinator.Agent { return agentAt(w, d.now()) }

func agentAt(w store.Worker, now time.Time) coordinator.Agent {
	a := coordinator.Agent{
		ID: w.ID, Name: cmp.Or(w.Name, w.ID), Status: w.Status, ClaudeStatus: w.Status, ClaudeSince: inUTC(w.StatusReported), CurrentTaskID: w.Task,
		LastSeen: inUTC(w.Seen), Meta: metaOf(w), Subscriptions: w.Channels, CreatedAt: inUTC(w.Created), UpdatedAt: inUTC(w.Updated),
		WorkerStatus: coordinator.Offline, Gone: !w.Left.IsZero(), Now: w.Now,
	}
	if now.Sub(w.Seen) < coordinator.OfflineAfter && !a.Gone {
		a.WorkerStatus = coordinator.Online
	}
	return a
}

// metaOf returns the agent's meta, normally a JSON object, from its last heartbeat that had one. It
// adds the names of the agent's channels as the member "subscriptions", where old clients expect
// them. If meta is not a JSON object, or if the agent has no channels, metaOf returns it unchanged.
func metaOf(w store.Worker) json.RawMessage {
	members := map[string]json.RawMessage{}
	if len(w.Channels) == 0 || len(w.Meta) > 0 && json.Unmarshal(w.Meta, &members) != nil {
		return w.Meta
	}
	list, err := json.Marshal(w.Channels)
	if err != nil {
		return w.Meta
	}
	members["subscriptions"] = list
	whole, err := json.Marshal(members)
	if err != nil {
		return w.Meta
	}
	return whole
}

func inUTC(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}

// Agents implements [server.Protocol].
func (d *agentService) Agents(ctx context.Context) (list []coordinator.Agent, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) (err error) {
		list, err = d.agents(r)
		return err
	})
	return list, err
}

// agents returns all agents that clients may see. It leaves out gaffer's own workers that report no
// name, and all workers that have left. A worker that was started for only one run leaves when this
// run ends.
func (d *agentService) agents(r store.Reader) ([]coordinator.Agent, error) {
	workers, err := r.Workers()
	list := make([]coordinator.Agent, 0, len(workers))
	now := d.now()
	for _, w := range workers {
		if !w.Created.IsZero() && w.Left.IsZero() {
			list = append(list, agentAt(w, now))
		}
	}
	return list, err
}

// Agent implements [server.Protocol].
func (d *agentService) Agent(ctx context.Context, id string) (coordinator.Agent, error) {
	var w store.Worker
	err := d.db.store.Read(ctx, func(r store.Reader) (err error) {
		w, err = agentRow(r, id)
		return err
	})
	if err != nil {
		return coordinator.Agent{}, err
	}
	return d.agent(w), nil
}

func agentRow(r rows, id string) (store.Worker, error) {
	if err := checkID("agent", id); err != nil {
		return store.Worker{}, err
	}
	w, err := r.Worker(id)
	if err == nil && w.Created.IsZero() {
		err = store.ErrNotFound
	}
	return w, NotFound(err, "agent", id)
}

// checkID returns a not-found error if id is not a valid id, because no object can have an invalid
// id.
func checkID(what, id string) error {
	var c check
	if c.id(what, id); c.err != nil {
		return NotFound(store.ErrNotFound, what, fmt.Sprintf("%.40q", id))
	}
	return nil
}

// CurrentTask implements [server.Protocol].
func (d *agentService) CurrentTask(ctx context.Context, agent string) (task coordinator.Task, err error) {
	err = d.db.store.Read(ctx, func(r store.Reader) error {
		w, err := agentRow(r, agent)
		if err != nil {
			return err
		}
		held, err := heldBy(r, w)
		// For one of gaffer's own workers, search all running attempts, because the worker's row
		// does not list its attempts. A row with Slots belongs to such a worker.
		if err == nil && w.Slots > 0 {
			held, err = store.RunningAttempts(r)
			held = slices.DeleteFunc(held, func(a store.Attempt) bool { return a.Worker != w.ID })
		}
		if err != nil {
			return err
		}
		if len(held) == 0 {
			return NothingFound("no_current_task", "agent "+agent+" has no task")
		}
		task, err = taskOf(r, currentAttempt(w, held).Key())
		return err
	})
	return task, err
}

// currentAttempt returns the attempt at the task that the agent reports as its current task. held
// lists the agent's running attempts, and must not be empty. If none of them is at that task,
// currentAttempt returns the last one.
func currentAttempt(w store.Worker, held []store.Attempt) store.Attempt {
	for _, a := range held {
		if wireID(a.Key()) == w.Task {
			return a
		}
	}
	return held[len(held)-1]
}

// heldBy returns the running attempts among those that the agent's row lists, in the order in which
// the agent got them.
func heldBy(r rows, w store.Worker) (held []store.Attempt, err error) {
	for _, id := range w.HeldAttempts {
		a, err := r.Attempt(id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if a.Status == store.Running {
			held = append(held, a)
		}
	}
	return held, nil
}

// Subscribe implements [server.Protocol].
func (d *agentService) Subscribe(ctx context.Context, by credential.Identity, agent string, channels []string) (coordinator.Agent, error) {
	var c check
	c.number("subscriptions", len(channels), 0, maxSubscriptions)
	for _, channel := range channels {
		c.name("subscriptions", channel, maxName)
	}
	err := cmp.Or(c.err, checkID("agent", agent))
	var w store.Worker
	if err == nil {
		err = d.db.do(ctx, by, func(s *engine.Tx) error {
			if _, err := agentOf(s, by, agent); err != nil {
				return err
			}
			w, err = s.Subscribe(agent, channels)
			return err
		})
	}
	return d.agent(w), err
}
