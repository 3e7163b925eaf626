package coordinator

import (
	"context"
	"net/url"
)

// TaskClient queues, claims and ends tasks.
type TaskClient struct{ conn *connection }

// TaskQuery selects tasks. Its zero value selects all tasks. A gaffer server then returns at most
// 10,000 tasks.
type TaskQuery struct {
	ChannelID, ChainID, AgentID string
	Status                      TaskStatus
	Limit                       int
}

// List returns the tasks that match a query.
func (c *TaskClient) List(ctx context.Context, q TaskQuery) ([]Task, error) {
	query := addNonEmpty(url.Values{}, "channel_id", q.ChannelID, "chain_id", q.ChainID, "agent_id", q.AgentID,
		"status", string(q.Status), "limit", limitText(q.Limit))
	return ask[[]Task](ctx, c.conn, get(query, "v1", "tasks"), "tasks")
}

// Get returns one task.
func (c *TaskClient) Get(ctx context.Context, id string) (Task, error) {
	return ask[Task](ctx, c.conn, get(nil, "v1", "tasks", id), "task")
}

// Add queues a task.
func (c *TaskClient) Add(ctx context.Context, t NewTask) (Task, error) {
	return ask[Task](ctx, c.conn, post(t, false, "v1", "tasks"), "task")
}

// Claim claims a task of a channel, which is a named queue of tasks. If no task can start now,
// Claim returns an error that wraps an [*Error] with the code [NoTasks]. The request is retried
// only if it has an idempotency key.
func (c *TaskClient) Claim(ctx context.Context, q Claim) (Task, error) {
	return ask[Task](ctx, c.conn, post(q, q.IdempotencyKey != "", "v1", "tasks", "claim"), "task")
}

// Complete reports that a task is done. The request can be retried safely, because the coordinator
// accepts the same report twice.
func (c *TaskClient) Complete(ctx context.Context, r Report) (Task, error) {
	return ask[Task](ctx, c.conn, post(r, true, "v1", "tasks", "complete"), "task")
}

// Fail reports that a task failed. The request can be retried safely, because the coordinator
// accepts the same report twice.
func (c *TaskClient) Fail(ctx context.Context, r Report) (Task, error) {
	return ask[Task](ctx, c.conn, post(r, true, "v1", "tasks", "fail"), "task")
}

// AddInput queues text or keys for the agent of a task. The request is retried only if it has an
// idempotency key.
func (c *TaskClient) AddInput(ctx context.Context, n NewInput) (Input, error) {
	return ask[Input](ctx, c.conn, post(n, n.IdempotencyKey != "", "v1", "tasks", "inputs"), "input")
}

// ClaimInput claims the next input (text or keystrokes) that a user has sent to the agent of a
// task. If there is none, ClaimInput returns an error that wraps an [*Error] with the code
// [NoInputs]. The request is never retried: the coordinator delivers each input only once, so a
// retry after a lost answer would return the input that follows the lost one.
func (c *TaskClient) ClaimInput(ctx context.Context, task, agent string) (Input, error) {
	body := map[string]string{"task_id": task, "agent_id": agent}
	return ask[Input](ctx, c.conn, post(body, false, "v1", "tasks", "inputs", "claim"), "input")
}

// Assign assigns a queued task to an agent and sets the task to in progress. It changes nothing if
// the agent already has the task, so a retry of the request is safe.
func (c *TaskClient) Assign(ctx context.Context, a Assignment) (Task, error) {
	return ask[Task](ctx, c.conn, post(a, true, "v1", "tasks", "assign"), "task")
}

// SetStatus takes a task in progress away from its agent, and sets the task's status to queued,
// done or failed.
func (c *TaskClient) SetStatus(ctx context.Context, task string, to TaskStatus) (Task, error) {
	return ask[Task](ctx, c.conn, post(map[string]TaskStatus{"status": to}, false, "v1", "tasks", task, "status"), "task")
}
