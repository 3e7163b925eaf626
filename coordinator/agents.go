package coordinator

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"
)

// AgentClient reports and reads the state of agents.
type AgentClient struct{ conn *connection }

// Heartbeat reports the state of an agent and returns the agent. If h.AgentID is empty, the
// coordinator creates a new agent. In this case, the request is not retried after an error, because
// a retry could create a second agent.
func (c *AgentClient) Heartbeat(ctx context.Context, h Heartbeat) (Agent, error) {
	return ask[Agent](ctx, c.conn, post(h, h.AgentID != "", "v1", "agents", "heartbeat"), "agent")
}

// List returns all agents except those that have ended.
func (c *AgentClient) List(ctx context.Context) ([]Agent, error) {
	return ask[[]Agent](ctx, c.conn, get(nil, "v1", "agents"), "agents")
}

// Get returns one agent.
func (c *AgentClient) Get(ctx context.Context, id string) (Agent, error) {
	return ask[Agent](ctx, c.conn, get(nil, "v1", "agents", id), "agent")
}

// CurrentTask returns the task that an agent works on. If the agent has none or does not exist,
// CurrentTask returns an error that wraps an [*Error] for which [Error.NotFound] is true.
func (c *AgentClient) CurrentTask(ctx context.Context, agent string) (Task, error) {
	return ask[Task](ctx, c.conn, get(nil, "v1", "agents", agent, "current-task"), "task")
}

// Subscribe sets the channels from which an agent takes tasks. They replace its previous channels.
func (c *AgentClient) Subscribe(ctx context.Context, agent string, channels []string) (Agent, error) {
	if channels == nil {
		channels = []string{}
	}
	body := map[string]any{"subscriptions": channels}
	q := call{method: http.MethodPatch, route: []string{"v1", "agents", agent, "channels"}, body: body, safe: true}
	return ask[Agent](ctx, c.conn, q, "agent")
}

// RequestSession queues a task in a channel. The task asks an agent of the channel to start a
// Claude session.
func (c *AgentClient) RequestSession(ctx context.Context, n NewSession) (Task, error) {
	return ask[Task](ctx, c.conn, post(n, false, "v1", "agents", "request-session"), "task")
}

// SendHeartbeats sends heartbeats of an agent until the context ends or the coordinator refuses
// them. It sends the first heartbeat at once, then one per interval and one for every value on the
// channel wake. It uses a separate connection, so that other requests do not delay heartbeats. For
// each heartbeat, it calls the function state and sends what that returns. After each heartbeat, it
// calls the function report with the result; report may be nil. A failed heartbeat is retried after
// at most one interval.
//
// If the heartbeat that the function state returns has no agent id, the coordinator creates a new
// agent, and SendHeartbeats uses its id from the first answer. If that answer is lost, the next
// heartbeat creates a second agent, and the first one is never used. So it is better if the
// function state always returns an id.
func (c *AgentClient) SendHeartbeats(ctx context.Context, interval time.Duration, state func() Heartbeat, wake <-chan struct{}, report func(Agent, error)) error {
	if interval <= 0 {
		interval = BeatEvery
	}
	conn, end := c.conn.separate()
	defer end()
	// Give up a slow heartbeat before the next one is due. With the default interval of 15 seconds,
	// it is then retried before the agent counts as offline, which happens 30 seconds after the
	// agent's last heartbeat.
	conn.opt.Timeout = min(conn.opt.Timeout, interval*2/3)
	id := "" // id of the agent that the coordinator has created
	for failures := 0; ; {
		h := state()
		h.AgentID = cmp.Or(h.AgentID, id)
		agent, err := ask[Agent](ctx, conn, post(h, false, "v1", "agents", "heartbeat"), "agent")
		if err == nil {
			id = cmp.Or(id, agent.ID)
		}
		if report != nil && ctx.Err() == nil {
			report(agent, err)
		}
		next := interval
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isPermanent(err):
			return err
		case err != nil:
			failures++
			next = min(interval, conn.pause(failures, err))
		default:
			failures = 0
		}
		if wake = waitForNext(ctx, next, wake); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// isPermanent reports whether the error of a heartbeat means that the coordinator would refuse
// every later heartbeat, too.
func isPermanent(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Denied() || e.Invalid())
}

// waitForNext waits until the duration d has passed, a value arrives on the channel wake, or ctx
// ends. It returns the channel that the caller must pass to the next call. This is nil if wake is
// closed, because a closed channel would end every wait at once; otherwise it is wake.
func waitForNext(ctx context.Context, d time.Duration, wake <-chan struct{}) <-chan struct{} {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
		case <-timer.C:
		case _, ok := <-wake:
			if !ok {
				wake = nil
				continue
			}
		}
		return wake
	}
}
