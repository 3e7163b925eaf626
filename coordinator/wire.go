// Package coordinator defines the HTTP protocol between workers, users and a coordinator:
// its messages as Go types, and a client.
package coordinator

import (
	"encoding/json"
	"time"

	"gaffer/fleet"
)

// Agent is a worker; the protocol calls it an agent. The coordinator computes WorkerStatus for each
// answer. ClaudeStatus is the last value that the worker reported.
type Agent struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Status        string          `json:"status"` // the same value as ClaudeStatus, for old clients
	ClaudeStatus  string          `json:"claude_status"`
	ClaudeSince   time.Time       `json:"claude_status_at,omitzero"` // when ClaudeStatus was last reported, even if it was unchanged
	CurrentTaskID string          `json:"current_task_id"`
	LastSeen      time.Time       `json:"last_seen"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	Subscriptions []string        `json:"subscriptions,omitempty"`
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at"`
	WorkerStatus  WorkerStatus    `json:"worker_status"`
	Gone          bool            `json:"gone,omitempty"` // the agent has ended, so lists do not contain it any more

	// Now is what the agent does. The stream has no update when only Now changes. To get its latest
	// value, request the agent again.
	Now fleet.AgentActivity `json:"now,omitzero"`
}

// WorkerStatus says whether a worker sent a heartbeat recently.
type WorkerStatus string

// The statuses of a worker. OfflineAfter is how long a worker counts as online after a heartbeat.
// BeatEvery is the interval between heartbeats.
const (
	Online  WorkerStatus = "online"
	Offline WorkerStatus = "offline"

	OfflineAfter = 30 * time.Second
	BeatEvery    = 15 * time.Second
)

// The values of ClaudeStatus.
const (
	Idle    = "idle"
	Running = "running"
	Waiting = "waiting"
)

// Heartbeat is an agent's report about itself. If the id is empty, the coordinator creates a new
// agent. Name, ClaudeStatus and Meta keep their previous values if they are empty. An old client
// sends Status instead of ClaudeStatus.
type Heartbeat struct {
	AgentID       string          `json:"agent_id"`
	Name          string          `json:"name,omitempty"`
	ClaudeStatus  string          `json:"claude_status,omitempty"`
	Status        string          `json:"status,omitempty"`
	CurrentTaskID string          `json:"current_task_id,omitempty"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	Gone          bool            `json:"gone,omitempty"` // the agent has ended, so lists should not contain it any more

	Now fleet.AgentActivity `json:"now,omitzero"` // what the agent does; replaces the previous value even if it is empty
}

// Channel is a named queue of tasks.
type Channel struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	CreatedAt   time.Time `json:"created_at"`
}

// Chain is a sequence of tasks that run one after the other. Its status follows from its tasks.
type Chain struct {
	ID           string     `json:"id"`
	ChannelID    string     `json:"channel_id,omitempty"`
	Name         string     `json:"name"`
	Description  string     `json:"description"`
	Status       TaskStatus `json:"status,omitempty"`
	OwnerAgentID string     `json:"owner_agent_id,omitempty"` // id of the only agent that may claim the chain's tasks; empty for any
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at,omitzero"` // when the name, the description or the owner was last changed
}

// ChainChange is a change of a chain. Fields that are empty stay unchanged.
type ChainChange struct {
	Name        string     `json:"name,omitempty"`
	Description string     `json:"description,omitempty"`
	Status      TaskStatus `json:"status,omitempty"` // must be valid but is not stored: the status follows from the tasks
}

// Task is one piece of work.
type Task struct {
	ID              string     `json:"id"`
	ChainID         string     `json:"chain_id,omitempty"`
	Sequence        int        `json:"sequence,omitempty"`
	ChannelID       string     `json:"channel_id"`
	Title           string     `json:"title"`
	Description     string     `json:"description"`
	Type            string     `json:"type,omitempty"`
	Status          TaskStatus `json:"status"`
	Priority        int        `json:"priority"`
	AssignedAgentID string     `json:"assigned_agent_id,omitempty"`
	ExecutionMode   string     `json:"execution_mode,omitempty"`
	SessionToken    string     `json:"agent_session_request_token,omitempty"` // only in a SessionRequest: the agent sends an event with this token when the session has started
	CreatedAt       time.Time  `json:"created_at"`
	ClaimedAt       *time.Time `json:"claimed_at,omitempty"`
	DoneAt          *time.Time `json:"done_at,omitempty"`
	UpdatedAt       time.Time  `json:"updated_at"`
}

// TaskStatus is the state of a task or of a chain.
type TaskStatus string

// The statuses of a task or of a chain. A cancelled task is Failed.
const (
	Queued     TaskStatus = "queued"
	InProgress TaskStatus = "in_progress"
	Done       TaskStatus = "done"
	Failed     TaskStatus = "failed"
)

// SessionRequest is the type of a task that asks an agent without a session to start one.
// SessionStarted is the type of the event by which the agent reports that its session has started.
const (
	SessionRequest = "request_claude_session"
	SessionStarted = "agent.automation.session_request.completed"
)

// NewSession asks an agent of a channel to start a session. Either the id or the name of the
// channel is set.
type NewSession struct {
	ChannelID   string `json:"channel_id,omitempty"`
	ChannelName string `json:"channel_name,omitempty"`
}

// Assignment is a request to give a certain task to a certain agent.
type Assignment struct {
	TaskID         string `json:"task_id"`
	AgentID        string `json:"agent_id"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Notification tells the user that an agent needs attention.
type Notification struct {
	Key       string    `json:"key"` // id of the agent and type of the notification, joined
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name"`
	Type      string    `json:"type"`
	Channel   string    `json:"channel"` // the first of the agent's subscriptions; empty if it has none
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"created_at"`
}

// SetupWaiting is the type of the notification about an agent that waits for a session. Such an
// agent reports the same word as the member "state" of its meta.
const SetupWaiting = "setup_waiting"

// NewTask describes a task to queue. If it has a ChainID but no Sequence, the task is appended to
// the chain. ChannelID may be empty if the chain has a channel.
type NewTask struct {
	ChannelID     string `json:"channel_id"`
	ChainID       string `json:"chain_id,omitempty"`
	Sequence      int    `json:"sequence,omitempty"`
	Title         string `json:"title"`
	Description   string `json:"description,omitempty"`
	Type          string `json:"type,omitempty"`
	Priority      int    `json:"priority,omitempty"`
	ExecutionMode string `json:"execution_mode,omitempty"`
}

// Claim requests a task of a channel. Either Channel, which is a name, or ChannelID is set.
type Claim struct {
	AgentID        string `json:"agent_id"`
	Channel        string `json:"channel,omitempty"`
	ChannelID      string `json:"channel_id,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Report says which agent has ended which task, and why. [TaskClient.Complete] and [TaskClient.Fail]
// say how it has ended.
type Report struct {
	TaskID  string `json:"task_id"`
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason,omitempty"`
}

// Input is text or keys that a user sends to the agent of a task.
type Input struct {
	ID        string     `json:"id"`
	TaskID    string     `json:"task_id"`
	AgentID   string     `json:"agent_id"`
	Kind      string     `json:"kind"` // text or keys
	Text      string     `json:"text"`
	SendEnter bool       `json:"send_enter"`
	CreatedAt time.Time  `json:"created_at"`
	ClaimedAt *time.Time `json:"claimed_at,omitempty"`
}

// NewInput describes an input to queue for the agent of a task. If Kind is empty, it is text.
type NewInput struct {
	TaskID         string `json:"task_id"`
	AgentID        string `json:"agent_id,omitempty"`
	Kind           string `json:"kind,omitempty"`
	Text           string `json:"text"`
	SendEnter      bool   `json:"send_enter,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Event is a message that an agent publishes, such as a question ([TaskPrompt]).
type Event struct {
	ID        string          `json:"id"`
	AgentID   string          `json:"agent_id,omitempty"`
	TaskID    string          `json:"task_id,omitempty"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
}

// TaskPrompt is the type of an event by which an agent asks the user a question.
const TaskPrompt = "task.prompt"

// NewEvent describes an event to publish.
type NewEvent struct {
	AgentID        string          `json:"agent_id,omitempty"`
	TaskID         string          `json:"task_id,omitempty"`
	Type           string          `json:"type"`
	Payload        json.RawMessage `json:"payload,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
}

// Dashboard is a snapshot of the agents, channels, chains, tasks and events. It may leave out some of
// the tasks and events; see [Client.Dashboard].
type Dashboard struct {
	Agents   []Agent   `json:"agents"`
	Channels []Channel `json:"channels"`
	Chains   []Chain   `json:"chains"`
	Tasks    []Task    `json:"tasks"`
	Events   []Event   `json:"events"`
}

// Update is a message of the stream about one object that has changed.
type Update struct {
	Type   string          `json:"type"` // kind of the object: agents, tasks, channels, inputs, events; in gaffer also runs, attempts, questions, reviews, messages, lanes
	Time   time.Time       `json:"time"`
	Change json.RawMessage `json:"change,omitempty"` // the changed object, as it was after the change
}

// Problem is the error in the answer to a refused request.
type Problem struct {
	Code    string `json:"code"` // such as no_tasks
	Message string `json:"message"`
	Offset  int64  `json:"offset,omitempty"` // for an error about a log: the offset in the log to continue from
}
