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

// ask returns the member of an answer that a route is about.
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

// answer is what a coordinator sent, or nil if that was not an object.
type answer map[string]json.RawMessage

func members(body []byte) answer {
	var a answer
	if json.Unmarshal(body, &a) != nil {
		return nil
	}
	return a
}

// pick reads one member. A list may be null, as some programs write an empty one.
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

// Health returns nil if the coordinator can do its work.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.do(ctx, get(nil, "health"))
	return err
}

// Heartbeat says how an agent is. Without an id a new agent is made, and the
// request is then not repeated.
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

// CurrentTask returns what an agent is at. An agent without a task is an [Error]
// that is NotFound.
func (c *Client) CurrentTask(ctx context.Context, agent string) (Task, error) {
	return ask[Task](ctx, c, get(nil, "v1", "agents", agent, "current-task"), "task")
}

// Subscribe sets the channels that an agent listens to.
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

// Channel returns the channel of a name.
func (c *Client) Channel(ctx context.Context, name string) (Channel, error) {
	return ask[Channel](ctx, c, get(nil, "v1", "channels", "by-name", name), "channel")
}

// AddChannel makes a channel.
func (c *Client) AddChannel(ctx context.Context, name, description string) (Channel, error) {
	body := map[string]string{"name": name, "description": description}
	return ask[Channel](ctx, c, post(body, false, "v1", "channels"), "channel")
}

// Chains returns all chains.
func (c *Client) Chains(ctx context.Context) ([]Chain, error) {
	return ask[[]Chain](ctx, c, get(nil, "v1", "chains"), "chains")
}

// NewChain is a chain to be made.
type NewChain struct {
	ChannelID   string `json:"channel_id,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// AddChain makes a chain.
func (c *Client) AddChain(ctx context.Context, n NewChain) (Chain, error) {
	return ask[Chain](ctx, c, post(n, false, "v1", "chains"), "chain")
}

// TaskQuery says which tasks are wanted. Its zero value wants all.
type TaskQuery struct {
	ChannelID, ChainID, AgentID string
	Status                      TaskStatus
	Limit                       int
}

// Tasks returns tasks.
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

// Claim takes a task of a channel. If nothing is waiting, the [Error]'s code is
// [NoTasks]. Only with an idempotency key is it repeated.
func (c *Client) Claim(ctx context.Context, q Claim) (Task, error) {
	return ask[Task](ctx, c, post(q, q.IdempotencyKey != "", "v1", "tasks", "claim"), "task")
}

// Complete says that a task is done. Saying it again is no error for its owner,
// so it is repeated if need be.
func (c *Client) Complete(ctx context.Context, r Report) (Task, error) {
	return ask[Task](ctx, c, post(r, true, "v1", "tasks", "complete"), "task")
}

// Fail says that a task came to nothing. Saying it again is no error for its
// owner, so it is repeated if need be.
func (c *Client) Fail(ctx context.Context, r Report) (Task, error) {
	return ask[Task](ctx, c, post(r, true, "v1", "tasks", "fail"), "task")
}

// AddInput gives the agent of a task something to type. Only with an idempotency
// key is it repeated.
func (c *Client) AddInput(ctx context.Context, n NewInput) (Input, error) {
	return ask[Input](ctx, c, post(n, n.IdempotencyKey != "", "v1", "tasks", "inputs"), "input")
}

// ClaimInput takes the next input of a task. If there is none, the [Error]'s code
// is [NoInputs]. It is never repeated: an input is given out once.
func (c *Client) ClaimInput(ctx context.Context, task, agent string) (Input, error) {
	body := map[string]string{"task_id": task, "agent_id": agent}
	return ask[Input](ctx, c, post(body, false, "v1", "tasks", "inputs", "claim"), "input")
}

// Events returns the latest events, the newest first, as many as the coordinator thinks right if the
// limit is 0.
func (c *Client) Events(ctx context.Context, limit int) ([]Event, error) {
	query := set(url.Values{}, "limit", number(limit))
	return ask[[]Event](ctx, c, get(query, "v1", "events"), "events")
}

// AddEvent tells an event. One that was told before under the same idempotency
// key is deduped, and the event returned may then be empty.
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

// Dashboard returns everything at a glance.
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

// number is a limit as a query has it; 0 is none.
func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// set adds those of the pairs that have a value.
func set(v url.Values, pairs ...string) url.Values {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}
