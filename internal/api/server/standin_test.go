package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

// serviceError is an error with a configurable kind and code.
type serviceError struct {
	kind, code, text string
}

func (e *serviceError) Error() string  { return e.text }
func (e *serviceError) Code() string   { return e.code }
func (e *serviceError) NotFound() bool { return e.kind == "missing" }
func (e *serviceError) Conflict() bool { return e.kind == "conflict" }
func (e *serviceError) Invalid() bool  { return e.kind == "invalid" }
func (e *serviceError) Denied() bool   { return e.kind == "denied" }

// standIn is an in-memory service with only the rules that the server's tests need.
type standIn struct {
	now func() time.Time

	mu       sync.Mutex
	agents   map[string]coordinator.Agent
	owner    map[string]string // id of the token that registered an agent, by agent id
	channels []coordinator.Channel
	chains   []coordinator.Chain
	tasks    []coordinator.Task
	claims   map[string]string // id of the claimed task, by idempotency key
	inputs   []coordinator.Input
	events   []coordinator.Event
	keys     map[string]bool
	updates  []Update
	changed  chan struct{}
	down     error // error that every method returns; nil if the database works
	reads    int   // how often Updates was called
	slow     chan struct{}
}

func newStandIn(now func() time.Time) *standIn {
	return &standIn{
		now: now, agents: map[string]coordinator.Agent{}, owner: map[string]string{},
		claims: map[string]string{}, keys: map[string]bool{}, changed: make(chan struct{}),
	}
}

func (d *standIn) change(kind, run, project string, row any) {
	data, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	u := Update{Seq: int64(len(d.updates) + 1), Run: run, Project: project}
	u.Type, u.Time, u.Change = kind, d.now(), data
	d.updates = append(d.updates, u)
	close(d.changed)
	d.changed = make(chan struct{})
}

// tell stores n changes about a run and a project. Their content does not matter.
func (d *standIn) tell(n int, run, project string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for range n {
		d.change("events", run, project, map[string]int{"n": len(d.updates) + 1})
	}
}

func (d *standIn) lock() (func(), error) {
	d.mu.Lock()
	if d.down != nil {
		defer d.mu.Unlock()
		return nil, d.down
	}
	return d.mu.Unlock, nil
}

func (d *standIn) Heartbeat(ctx context.Context, by credential.Identity, h coordinator.Heartbeat) (coordinator.Agent, error) {
	if d.slow != nil {
		select {
		case <-d.slow:
		case <-ctx.Done():
			return coordinator.Agent{}, ctx.Err()
		}
	}
	done, err := d.lock()
	if err != nil {
		return coordinator.Agent{}, err
	}
	defer done()
	if h.AgentID == "" {
		h.AgentID = "agent-" + strconv.Itoa(len(d.agents)+1)
	}
	if d.owner[h.AgentID] == "" {
		d.owner[h.AgentID] = by.ID
	}
	if err := d.mine(by, h.AgentID); err != nil {
		return coordinator.Agent{}, err
	}
	status := h.ClaudeStatus
	if status == "" {
		status = h.Status
	}
	a := coordinator.Agent{
		ID: h.AgentID, Name: h.Name, Status: status, ClaudeStatus: status, ClaudeSince: d.now(), CurrentTaskID: h.CurrentTaskID,
		LastSeen: d.now(), Meta: h.Meta, WorkerStatus: coordinator.Online,
	}
	d.agents[a.ID] = a
	d.change("agents", "", "", a)
	return a, nil
}

func (d *standIn) mine(by credential.Identity, agent string) error {
	if by.Role == credential.Worker && d.owner[agent] != by.ID {
		return &serviceError{"denied", "not_yours", fmt.Sprintf("agent %q is not this token's", agent)}
	}
	return nil
}

func (d *standIn) Agents(context.Context) ([]coordinator.Agent, error) {
	done, err := d.lock()
	if err != nil {
		return nil, err
	}
	defer done()
	var all []coordinator.Agent
	for _, a := range d.agents {
		all = append(all, a)
	}
	return all, nil
}

func (d *standIn) Agent(_ context.Context, id string) (coordinator.Agent, error) {
	done, err := d.lock()
	if err != nil {
		return coordinator.Agent{}, err
	}
	defer done()
	a, ok := d.agents[id]
	if !ok {
		return a, &serviceError{"missing", "", fmt.Sprintf("no agent %q", id)}
	}
	return a, nil
}

func (d *standIn) CurrentTask(ctx context.Context, agent string) (coordinator.Task, error) {
	a, err := d.Agent(ctx, agent)
	if err != nil {
		return coordinator.Task{}, err
	}
	if a.CurrentTaskID == "" {
		return coordinator.Task{}, &serviceError{"missing", "no_current_task", "the agent has no task"}
	}
	return d.Task(ctx, a.CurrentTaskID)
}

func (d *standIn) Subscribe(ctx context.Context, by credential.Identity, agent string, channels []string) (coordinator.Agent, error) {
	a, err := d.Agent(ctx, agent)
	if err != nil {
		return a, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.mine(by, agent); err != nil {
		return a, err
	}
	a.Subscriptions = channels
	d.agents[agent] = a
	return a, nil
}

func (d *standIn) Channels(context.Context) ([]coordinator.Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.channels), d.down
}

func (d *standIn) Channel(_ context.Context, name string) (coordinator.Channel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.channels {
		if c.Name == name {
			return c, nil
		}
	}
	return coordinator.Channel{}, &serviceError{"missing", "", fmt.Sprintf("no channel %q", name)}
}

func (d *standIn) AddChannel(ctx context.Context, _ credential.Identity, c coordinator.Channel) (coordinator.Channel, error) {
	if old, err := d.Channel(ctx, c.Name); err == nil {
		return old, nil
	}
	if c.Name == "" {
		return c, &serviceError{"invalid", "", "a channel needs a name"}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	c.ID, c.CreatedAt = "c"+strconv.Itoa(len(d.channels)+1), d.now()
	d.channels = append(d.channels, c)
	d.change("channels", "", "", c)
	return c, nil
}

func (d *standIn) Chains(context.Context) ([]coordinator.Chain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.chains), d.down
}

func (d *standIn) AddChain(_ context.Context, _ credential.Identity, c coordinator.Chain) (coordinator.Chain, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.ID, c.CreatedAt = "chain"+strconv.Itoa(len(d.chains)+1), d.now()
	d.chains = append(d.chains, c)
	return c, nil
}

func (d *standIn) Tasks(_ context.Context, f TaskFilter) ([]coordinator.Task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []coordinator.Task
	for _, t := range d.tasks {
		if (f.Channel == "" || f.Channel == t.ChannelID) && (f.Status == "" || f.Status == t.Status) && (f.Limit == 0 || len(all) < f.Limit) {
			all = append(all, t)
		}
	}
	return all, d.down
}

func (d *standIn) Task(_ context.Context, id string) (coordinator.Task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, err := d.find(id)
	if err != nil {
		return coordinator.Task{}, err
	}
	return *t, nil
}

func (d *standIn) find(id string) (*coordinator.Task, error) {
	for i := range d.tasks {
		if d.tasks[i].ID == id {
			return &d.tasks[i], nil
		}
	}
	return nil, &serviceError{"missing", "", fmt.Sprintf("no task %q", id)}
}

func (d *standIn) AddTask(_ context.Context, _ credential.Identity, n coordinator.NewTask) (coordinator.Task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := coordinator.Task{
		ID: "t" + strconv.Itoa(len(d.tasks)+1), ChannelID: n.ChannelID, ChainID: n.ChainID, Sequence: n.Sequence,
		Title: n.Title, Description: n.Description, Priority: n.Priority, Status: coordinator.Queued, CreatedAt: d.now(),
	}
	d.tasks = append(d.tasks, t)
	d.change("tasks", "ch-"+t.ChannelID, "", t)
	return t, nil
}

func (d *standIn) Claim(_ context.Context, by credential.Identity, c coordinator.Claim) (coordinator.Task, error) {
	done, err := d.lock()
	if err != nil {
		return coordinator.Task{}, err
	}
	defer done()
	if err := d.mine(by, c.AgentID); err != nil {
		return coordinator.Task{}, err
	}
	if id := d.claims[c.AgentID+" "+c.IdempotencyKey]; c.IdempotencyKey != "" && id != "" {
		t, err := d.find(id)
		return *t, err
	}
	for i := range d.tasks {
		if t := &d.tasks[i]; t.Status == coordinator.Queued {
			t.Status, t.AssignedAgentID = coordinator.InProgress, c.AgentID
			d.claims[c.AgentID+" "+c.IdempotencyKey] = t.ID
			d.change("tasks", "", "", *t)
			return *t, nil
		}
	}
	return coordinator.Task{}, &serviceError{"missing", "no_tasks", "nothing is queued"}
}

func (d *standIn) Complete(_ context.Context, by credential.Identity, r coordinator.Report) (coordinator.Task, error) {
	return d.end(by, r, coordinator.Done)
}

func (d *standIn) Fail(_ context.Context, by credential.Identity, r coordinator.Report) (coordinator.Task, error) {
	return d.end(by, r, coordinator.Failed)
}

func (d *standIn) end(by credential.Identity, r coordinator.Report, status coordinator.TaskStatus) (coordinator.Task, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, err := d.find(r.TaskID)
	if err != nil {
		return coordinator.Task{}, err
	}
	if err := d.mine(by, r.AgentID); err != nil {
		return coordinator.Task{}, err
	}
	if t.AssignedAgentID != r.AgentID {
		return coordinator.Task{}, &serviceError{"conflict", "", "another agent has the task"}
	}
	if t.Status == coordinator.InProgress {
		t.Status = status
		d.change("tasks", "", "", *t)
	}
	return *t, nil
}

func (d *standIn) AddInput(_ context.Context, _ credential.Identity, n coordinator.NewInput) (coordinator.Input, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.find(n.TaskID); err != nil {
		return coordinator.Input{}, err
	}
	in := coordinator.Input{ID: "i" + strconv.Itoa(len(d.inputs)+1), TaskID: n.TaskID, Kind: n.Kind, Text: n.Text, SendEnter: n.SendEnter, CreatedAt: d.now()}
	d.inputs = append(d.inputs, in)
	d.change("inputs", "", "", in)
	return in, nil
}

func (d *standIn) ClaimInput(_ context.Context, by credential.Identity, task, agent string) (coordinator.Input, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.mine(by, agent); err != nil {
		return coordinator.Input{}, err
	}
	for i := range d.inputs {
		if in := &d.inputs[i]; in.TaskID == task && in.ClaimedAt == nil {
			now := d.now()
			in.ClaimedAt, in.AgentID = &now, agent
			return *in, nil
		}
	}
	return coordinator.Input{}, &serviceError{"missing", "no_inputs", "nothing was typed"}
}

func (d *standIn) Events(_ context.Context, limit int) ([]coordinator.Event, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.events[max(0, len(d.events)-limit):]), d.down
}

func (d *standIn) AddEvent(_ context.Context, by credential.Identity, n coordinator.NewEvent) (coordinator.Event, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n.AgentID != "" {
		if err := d.mine(by, n.AgentID); err != nil {
			return coordinator.Event{}, false, err
		}
	}
	if n.IdempotencyKey != "" && d.keys[n.IdempotencyKey] {
		return coordinator.Event{}, true, nil
	}
	d.keys[n.IdempotencyKey] = true
	e := coordinator.Event{ID: "e" + strconv.Itoa(len(d.events)+1), AgentID: n.AgentID, TaskID: n.TaskID, Type: n.Type, Payload: n.Payload, CreatedAt: d.now()}
	d.events = append(d.events, e)
	d.change("events", "", "", e)
	return e, false, nil
}

func (d *standIn) Dashboard(ctx context.Context) (coordinator.Dashboard, error) {
	agents, err := d.Agents(ctx)
	return coordinator.Dashboard{Agents: agents, Tasks: slices.Clone(d.tasks)}, err
}

func (d *standIn) Updates(_ context.Context, after int64, limit int) ([]Update, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reads++
	if d.down != nil {
		return nil, 0, d.down
	}
	end := min(int(after)+limit, len(d.updates))
	return slices.Clone(d.updates[min(int(after), end):end]), int64(end), nil
}

func (d *standIn) Last(context.Context) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int64(len(d.updates)), d.down
}

func (d *standIn) Wait(ctx context.Context, after int64) error {
	for {
		d.mu.Lock()
		there, changed := int64(len(d.updates)) > after, d.changed
		d.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *standIn) Ready(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.down
}

func (d *standIn) fall(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = err
}

// memory stores tokens in memory.
type memory struct {
	mu   sync.Mutex
	rows map[string]credential.Token
}

func (m *memory) List(context.Context) (all []credential.Token, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.rows {
		all = append(all, r)
	}
	return all, nil
}

func (m *memory) Put(_ context.Context, r credential.Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows[r.ID] = r
	return nil
}

func (m *memory) Drop(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, id)
	return nil
}

func (m *memory) Touch(_ context.Context, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.rows[id]; ok {
		r.Used = at
		m.rows[id] = r
	}
	return nil
}

// The stand-in does not implement the methods below. Package protocol has the tests for them.
var errNoneHere = &serviceError{"missing", "not_found", "the stand-in has none"}

func (d *standIn) Chain(context.Context, string) (c coordinator.Chain, err error) {
	return c, errNoneHere
}

func (d *standIn) ChangeChain(context.Context, credential.Identity, string, coordinator.ChainChange) (c coordinator.Chain, err error) {
	return c, errNoneHere
}

func (d *standIn) DropChain(context.Context, credential.Identity, string) error { return errNoneHere }

func (d *standIn) AssignChain(context.Context, credential.Identity, string, string) (c coordinator.Chain, err error) {
	return c, errNoneHere
}

func (d *standIn) DetachChain(context.Context, credential.Identity, string, string) error {
	return errNoneHere
}

func (d *standIn) Assign(context.Context, credential.Identity, coordinator.Assignment) (t coordinator.Task, err error) {
	return t, errNoneHere
}

func (d *standIn) SetStatus(context.Context, credential.Identity, string, coordinator.TaskStatus) (t coordinator.Task, err error) {
	return t, errNoneHere
}

func (d *standIn) RequestSession(context.Context, credential.Identity, coordinator.NewSession) (t coordinator.Task, err error) {
	return t, errNoneHere
}

func (d *standIn) Notifications(context.Context) ([]coordinator.Notification, error) { return nil, nil }

func (d *standIn) Dismiss(context.Context, credential.Identity, string, string) error { return nil }

func (d *standIn) Metrics(ctx context.Context) (ServiceMetrics, error) {
	f := ServiceMetrics{Tasks: map[coordinator.TaskStatus]int{}}
	agents, err := d.Agents(ctx)
	if err != nil {
		return f, err
	}
	for _, a := range agents {
		if a.WorkerStatus != coordinator.Online {
			continue
		}
		f.AgentsOnline++
		if a.ClaudeStatus == coordinator.Waiting && (f.Waiting.IsZero() || a.ClaudeSince.Before(f.Waiting)) {
			f.Waiting = a.ClaudeSince
		}
	}
	tasks, err := d.Tasks(ctx, TaskFilter{})
	for _, t := range tasks {
		f.Tasks[t.Status]++
	}
	return f, err
}
