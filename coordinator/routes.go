package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
)

// ask sends a request and decodes one member of the answer.
func ask[T any](ctx context.Context, c *Client, q call, member string) (T, error) {
	var value T
	body, err := c.do(ctx, q)
	if err != nil {
		return value, err
	}
	if err := members(body).pick(member, &value); err != nil {
		return value, fmt.Errorf("%s: %w", q, err)
	}
	return value, nil
}

// answer is the answer's JSON object by member, or nil if it was not an object.
type answer map[string]json.RawMessage

func members(body []byte) answer {
	var a answer
	if json.Unmarshal(body, &a) != nil {
		return nil
	}
	return a
}

// pick decodes one member. A list may be null: some programs encode an empty list so.
func (a answer) pick(member string, to any) error {
	raw, ok := a[member]
	list := reflect.TypeOf(to).Elem().Kind() == reflect.Slice
	switch {
	case a == nil:
		return badAnswer("the answer is not a JSON object")
	case !ok, !list && string(raw) == "null":
		return badAnswer("the answer has no " + member)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return badAnswer(member + " of the answer: " + printable(err.Error()))
	}
	return nil
}

func badAnswer(why string) *Error {
	return &Error{Code: BadAnswer, Message: why, Status: http.StatusOK}
}

func get(query url.Values, route ...string) call {
	return call{method: http.MethodGet, route: route, query: query, safe: true}
}

func post(body any, safe bool, route ...string) call {
	return call{method: http.MethodPost, route: route, body: body, safe: safe}
}

// Health returns nil if the coordinator is able to work.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.do(ctx, get(nil, "health"))
	return err
}

// Heartbeat reports the state of an agent. Without an id the coordinator creates a new
// agent, and the request is not retried.
func (c *Client) Heartbeat(ctx context.Context, h Heartbeat) (Agent, error) {
	return ask[Agent](ctx, c, post(h, h.AgentID != "", "v1", "agents", "heartbeat"), "agent")
}

// Agents returns all agents.
func (c *Client) Agents(ctx context.Context) ([]Agent, error) {
	return ask[[]Agent](ctx, c, get(nil, "v1", "agents"), "agents")
}

// Agent returns one agent.
func (c *Client) Agent(ctx context.Context, id string) (Agent, error) {
	return ask[Agent](ctx, c, get(nil, "v1", "agents", id), "agent")
}

// CurrentTask returns the task that an agent works on. If it has none, the [Error] is
// NotFound.
func (c *Client) CurrentTask(ctx context.Context, agent string) (Task, error) {
	return ask[Task](ctx, c, get(nil, "v1", "agents", agent, "current-task"), "task")
}

// Subscribe sets the channels whose tasks an agent takes.
func (c *Client) Subscribe(ctx context.Context, agent string, channels []string) (Agent, error) {
	if channels == nil {
		channels = []string{}
	}
	body := map[string]any{"subscriptions": channels}
	q := call{method: http.MethodPatch, route: []string{"v1", "agents", agent, "channels"}, body: body, safe: true}
	return ask[Agent](ctx, c, q, "agent")
}

// Channels returns all channels.
func (c *Client) Channels(ctx context.Context) ([]Channel, error) {
	return ask[[]Channel](ctx, c, get(nil, "v1", "channels"), "channels")
}

// Channel returns the channel with this name.
func (c *Client) Channel(ctx context.Context, name string) (Channel, error) {
	return ask[Channel](ctx, c, get(nil, "v1", "channels", "by-name", name), "channel")
}

// AddChannel creates a channel.
func (c *Client) AddChannel(ctx context.Context, name, description string) (Channel, error) {
	body := map[string]string{"name": name, "description": description}
	return ask[Channel](ctx, c, post(body, false, "v1", "channels"), "channel")
}

// Chains returns all chains.
func (c *Client) Chains(ctx context.Context) ([]Chain, error) {
	return ask[[]Chain](ctx, c, get(nil, "v1", "chains"), "chains")
}

// NewChain describes a chain to create.
type NewChain struct {
	ChannelID   string `json:"channel_id,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// AddChain creates a chain.
func (c *Client) AddChain(ctx context.Context, n NewChain) (Chain, error) {
	return ask[Chain](ctx, c, post(n, false, "v1", "chains"), "chain")
}

// TaskQuery selects tasks. Its zero value selects all.
type TaskQuery struct {
	ChannelID, ChainID, AgentID string
	Status                      TaskStatus
	Limit                       int
}

// Tasks returns the tasks that match a query.
func (c *Client) Tasks(ctx context.Context, q TaskQuery) ([]Task, error) {
	query := set(url.Values{}, "channel_id", q.ChannelID, "chain_id", q.ChainID, "agent_id", q.AgentID,
		"status", string(q.Status), "limit", number(q.Limit))
	return ask[[]Task](ctx, c, get(query, "v1", "tasks"), "tasks")
}

// Task returns one task.
func (c *Client) Task(ctx context.Context, id string) (Task, error) {
	return ask[Task](ctx, c, get(nil, "v1", "tasks", id), "task")
}

// AddTask queues a task.
func (c *Client) AddTask(ctx context.Context, t NewTask) (Task, error) {
	return ask[Task](ctx, c, post(t, false, "v1", "tasks"), "task")
}

// Claim claims a task of a channel. If none is queued, the [Error]'s code is [NoTasks].
// The request is retried only with an idempotency key.
func (c *Client) Claim(ctx context.Context, q Claim) (Task, error) {
	return ask[Task](ctx, c, post(q, q.IdempotencyKey != "", "v1", "tasks", "claim"), "task")
}

// Complete reports that a task is done. The owner may report it twice, so the request is
// retried.
func (c *Client) Complete(ctx context.Context, r Report) (Task, error) {
	return ask[Task](ctx, c, post(r, true, "v1", "tasks", "complete"), "task")
}

// Fail reports that a task failed. The owner may report it twice, so the request is
// retried.
func (c *Client) Fail(ctx context.Context, r Report) (Task, error) {
	return ask[Task](ctx, c, post(r, true, "v1", "tasks", "fail"), "task")
}

// AddInput adds text to type for the agent of a task. The request is retried only with an
// idempotency key.
func (c *Client) AddInput(ctx context.Context, n NewInput) (Input, error) {
	return ask[Input](ctx, c, post(n, n.IdempotencyKey != "", "v1", "tasks", "inputs"), "input")
}

// ClaimInput claims the next input of a task. If there is none, the [Error]'s code is
// [NoInputs]. The request is never retried, because each input is given out once.
func (c *Client) ClaimInput(ctx context.Context, task, agent string) (Input, error) {
	body := map[string]string{"task_id": task, "agent_id": agent}
	return ask[Input](ctx, c, post(body, false, "v1", "tasks", "inputs", "claim"), "input")
}

// Events returns the latest events, the newest first. A limit of 0 means the
// coordinator's default.
func (c *Client) Events(ctx context.Context, limit int) ([]Event, error) {
	query := set(url.Values{}, "limit", number(limit))
	return ask[[]Event](ctx, c, get(query, "v1", "events"), "events")
}

// AddEvent publishes an event. If an event with the same idempotency key exists, deduped
// is true and the returned event may be empty.
func (c *Client) AddEvent(ctx context.Context, n NewEvent) (e Event, deduped bool, err error) {
	q := post(n, n.IdempotencyKey != "", "v1", "events")
	body, err := c.do(ctx, q)
	if err != nil {
		return e, false, err
	}
	told := members(body)
	if told.pick("deduped", &deduped) == nil && deduped {
		_ = told.pick("event", &e) // a coordinator need not send it again
		return e, true, nil
	}
	if err := told.pick("event", &e); err != nil {
		return e, false, fmt.Errorf("%s: %w", q, err)
	}
	return e, false, nil
}

// Dashboard returns all agents, channels, chains, tasks and recent events.
func (c *Client) Dashboard(ctx context.Context) (Dashboard, error) {
	q := get(nil, "v1", "dashboard")
	body, err := c.do(ctx, q)
	if err != nil {
		return Dashboard{}, err
	}
	var d Dashboard
	told := members(body)
	for member, to := range map[string]any{
		"agents": &d.Agents, "channels": &d.Channels, "chains": &d.Chains, "tasks": &d.Tasks, "events": &d.Events,
	} {
		if err := told.pick(member, to); err != nil {
			return Dashboard{}, fmt.Errorf("%s: %w", q, err)
		}
	}
	return d, nil
}

// number formats a limit for a query; it returns "" for no limit.
func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// set adds the name-value pairs whose value is not empty.
func set(v url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}
