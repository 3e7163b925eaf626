// Package coordinator is the HTTP protocol between workers, people and a
// coordinator: its words as Go types, and a client.
package coordinator

import (
	"encoding/json"
	"time"
)

// Agent is a worker as the protocol calls it. Its worker status is computed when
// it is read; what its claude does is only ever reported.
type Agent struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Status        string          `json:"status"` // what old clients read: the same as ClaudeStatus
	ClaudeStatus  string          `json:"claude_status"`
	ClaudeSince   time.Time       `json:"claude_status_at,omitzero"` // when it was last reported
	CurrentTaskID string          `json:"current_task_id"`
	LastSeen      time.Time       `json:"last_seen"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	Subscriptions []string        `json:"subscriptions,omitempty"`
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at"`
	WorkerStatus  WorkerStatus    `json:"worker_status"`
	Gone          bool            `json:"gone,omitempty"` // the run that it worked for has ended: it is in no list any more
}

// WorkerStatus says whether a worker was heard of lately.
type WorkerStatus string

// The statuses of a worker, and how long one is online after its last heartbeat.
const (
	Online  WorkerStatus = "online"
	Offline WorkerStatus = "offline"

	OfflineAfter = 30 * time.Second
	BeatEvery    = 15 * time.Second
)

// The statuses that an agent reports of its claude.
const (
	Idle    = "idle"
	Running = "running"
	Waiting = "waiting"
)

// Heartbeat is what an agent says of itself. An empty id asks for a new one. An
// old client has Status alone.
type Heartbeat struct {
	AgentID       string          `json:"agent_id"`
	Name          string          `json:"name,omitempty"`
	ClaudeStatus  string          `json:"claude_status,omitempty"`
	Status        string          `json:"status,omitempty"`
	CurrentTaskID string          `json:"current_task_id,omitempty"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	Gone          bool            `json:"gone,omitempty"` // it has ended, and is in no list any more
}

// Channel is a name under which tasks are waiting.
type Channel struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	CreatedAt   time.Time `json:"created_at"`
}

// Chain is a row of tasks that are done one after the other. Its status follows
// from its tasks.
type Chain struct {
	ID           string     `json:"id"`
	ChannelID    string     `json:"channel_id,omitempty"`
	Name         string     `json:"name"`
	Description  string     `json:"description"`
	Status       TaskStatus `json:"status,omitempty"`
	OwnerAgentID string     `json:"owner_agent_id,omitempty"` // the only agent that may claim its tasks; empty for any
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at,omitzero"` // when its name, description or owner was last changed
}

// ChainChange is what a person changes about a chain. What is empty stays.
type ChainChange struct {
	Name        string     `json:"name,omitempty"`
	Description string     `json:"description,omitempty"`
	Status      TaskStatus `json:"status,omitempty"` // is checked and not kept: it follows from the tasks
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
	SessionToken    string     `json:"agent_session_request_token,omitempty"` // of a SessionRequest: an event with it says that the session has started
	CreatedAt       time.Time  `json:"created_at"`
	ClaimedAt       *time.Time `json:"claimed_at,omitempty"`
	DoneAt          *time.Time `json:"done_at,omitempty"`
	UpdatedAt       time.Time  `json:"updated_at"`
}

// TaskStatus is where a task is.
type TaskStatus string

// The statuses of a task.
const (
	Queued     TaskStatus = "queued"
	InProgress TaskStatus = "in_progress"
	Done       TaskStatus = "done"
	Failed     TaskStatus = "failed"
)

// SessionRequest is the type of a task that asks an agent without a session to
// start one, and SessionStarted the type of the event by which it says that it has.
const (
	SessionRequest = "request_claude_session"
	SessionStarted = "agent.automation.session_request.completed"
)

// NewSession asks for an agent of a channel to start a session. The channel is
// given by its id or its name.
type NewSession struct {
	ChannelID   string `json:"channel_id,omitempty"`
	ChannelName string `json:"channel_name,omitempty"`
}

// Assignment gives a task to an agent.
type Assignment struct {
	TaskID         string `json:"task_id"`
	AgentID        string `json:"agent_id"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Notification is something about an agent that a person should act on.
type Notification struct {
	Key       string    `json:"key"` // the agent's id and the type
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name"`
	Type      string    `json:"type"`
	Channel   string    `json:"channel"` // the first one that the agent takes tasks of
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"created_at"`
}

// SetupWaiting is the type of the notification that an agent waits for a session,
// and the state in the agent's meta that says so.
const SetupWaiting = "setup_waiting"

// NewTask is a task that somebody wants done. One of a chain without a sequence
// comes at the end of the chain.
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

// Claim asks for a task of a channel, by its name or its id.
type Claim struct {
	AgentID        string `json:"agent_id"`
	Channel        string `json:"channel,omitempty"`
	ChannelID      string `json:"channel_id,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Report is how a task ended.
type Report struct {
	TaskID  string `json:"task_id"`
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason,omitempty"`
}

// Input is something that a person types for the agent of a task.
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

// NewInput is an input that a person gives.
type NewInput struct {
	TaskID         string `json:"task_id"`
	AgentID        string `json:"agent_id,omitempty"`
	Kind           string `json:"kind,omitempty"`
	Text           string `json:"text"`
	SendEnter      bool   `json:"send_enter,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Event is something that an agent tells, such as a question ([TaskPrompt]).
type Event struct {
	ID        string          `json:"id"`
	AgentID   string          `json:"agent_id,omitempty"`
	TaskID    string          `json:"task_id,omitempty"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
}

// TaskPrompt is the type of an event by which an agent asks a person something.
const TaskPrompt = "task.prompt"

// NewEvent is an event to be told.
type NewEvent struct {
	AgentID        string          `json:"agent_id,omitempty"`
	TaskID         string          `json:"task_id,omitempty"`
	Type           string          `json:"type"`
	Payload        json.RawMessage `json:"payload,omitempty"`
	IdempotencyKey string          `json:"idempotency_key,omitempty"`
}

// Dashboard is everything at a glance.
type Dashboard struct {
	Agents   []Agent   `json:"agents"`
	Channels []Channel `json:"channels"`
	Chains   []Chain   `json:"chains"`
	Tasks    []Task    `json:"tasks"`
	Events   []Event   `json:"events"`
}

// Update is what the stream tells of a change.
type Update struct {
	Type   string          `json:"type"` // agents, tasks, channels, inputs or events; of runs also runs, attempts, questions or lanes
	Time   time.Time       `json:"time"`
	Change json.RawMessage `json:"change,omitempty"` // what it is about, as it was then
}

// Problem is what went wrong with a request.
type Problem struct {
	Code    string `json:"code"` // such as no_tasks
	Message string `json:"message"`
	Offset  int64  `json:"offset,omitempty"` // of a log, where to go on
}
