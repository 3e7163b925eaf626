// Package coordinator defines the HTTP protocol between workers, users and a coordinator:
// its messages as Go types, and a client.
package coordinator

import (
	"encoding/json"
	"time"

	"gaffer/fleet"
)

// Agent is what the protocol calls an agent: a worker that runs tasks, or an agent program that a
// user has started by hand. ClaudeStatus is what the agent last reported about itself. WorkerStatus
// is computed by the coordinator for each answer.
type Agent struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Status        string          `json:"status"` // the same value as ClaudeStatus, for old clients
	ClaudeStatus  string          `json:"claude_status"`
	ClaudeSince   time.Time       `json:"claude_status_at,omitzero"` // when ClaudeStatus was last reported, changed or not
	CurrentTaskID string          `json:"current_task_id"`
	LastSeen      time.Time       `json:"last_seen"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	Subscriptions []string        `json:"subscriptions,omitempty"`
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at"`
	WorkerStatus  WorkerStatus    `json:"worker_status"`
	Gone          bool            `json:"gone,omitempty"` // the agent has ended, so lists do not contain it any more

	// Now is what the agent does at the moment. If only Now changes, the coordinator's stream sends
	// no update of the type "agents". To get the latest value, request the agent again.
	Now fleet.AgentActivity `json:"now,omitzero"`
}

// WorkerStatus says whether a worker sent a heartbeat recently.
type WorkerStatus string

// The values of WorkerStatus, and the durations that they depend on. A worker sends a heartbeat
// every BeatEvery. It counts as offline if it has sent none for OfflineAfter.
const (
	Online  WorkerStatus = "online"
	Offline WorkerStatus = "offline"

	OfflineAfter = 30 * time.Second
	BeatEvery    = 15 * time.Second
)

// The values of Agent.ClaudeStatus, which says what an agent does.
const (
	Idle    = "idle"
	Running = "running"
	Waiting = "waiting"
)

// Heartbeat is an agent's report about itself. If AgentID is empty, the coordinator creates a new
// agent. If Name, ClaudeStatus or Meta is empty, that value of the agent does not change. An old
// client sends Status instead of ClaudeStatus.
type Heartbeat struct {
	AgentID       string          `json:"agent_id"`
	Name          string          `json:"name,omitempty"`
	ClaudeStatus  string          `json:"claude_status,omitempty"`
	Status        string          `json:"status,omitempty"`
	CurrentTaskID string          `json:"current_task_id,omitempty"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	Gone          bool            `json:"gone,omitempty"` // the agent has ended, so lists should not contain it any more

	// Now is what the agent does. It replaces the agent's previous value even if it is empty.
	Now fleet.AgentActivity `json:"now,omitzero"`
}

// Channel is a named queue of tasks.
type Channel struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	CreatedAt   time.Time `json:"created_at"`
}

// Chain is a sequence of tasks that run one after the other. The coordinator computes the chain's
// status from the statuses of its tasks.
type Chain struct {
	ID           string     `json:"id"`
	ChannelID    string     `json:"channel_id,omitempty"`
	Name         string     `json:"name"`
	Description  string     `json:"description"`
	Status       TaskStatus `json:"status,omitempty"`
	OwnerAgentID string     `json:"owner_agent_id,omitempty"` // id of the only agent that may claim the tasks; empty means any
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at,omitzero"` // last change of the name, the description or the owner
}

// ChainChange is a request to change a chain. An empty field leaves that value of the chain
// unchanged.
type ChainChange struct {
	Name        string     `json:"name,omitempty"`
	Description string     `json:"description,omitempty"`
	Status      TaskStatus `json:"status,omitempty"` // must be valid but has no effect, because the status is computed from the tasks
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
	// SessionToken is a secret that is set only if Type is SessionRequest. When the agent has
	// started the requested session, it sends an event of the type SessionStarted with this token.
	SessionToken string     `json:"agent_session_request_token,omitempty"`
	CreatedAt    time.Time  `json:"created_at"`
	ClaimedAt    *time.Time `json:"claimed_at,omitempty"`
	DoneAt       *time.Time `json:"done_at,omitempty"`
	UpdatedAt    time.Time  `json:"updated_at"`
}

// TaskStatus is the state of a task or of a chain.
type TaskStatus string

// The values of TaskStatus. A cancelled task has the status Failed.
const (
	Queued     TaskStatus = "queued"
	InProgress TaskStatus = "in_progress"
	Done       TaskStatus = "done"
	Failed     TaskStatus = "failed"
)

// SessionRequest is the type of a task that asks an agent to start a session of Claude, if it has
// none yet. SessionStarted is the type of the event with which the agent reports that the session
// has started.
const (
	SessionRequest = "request_claude_session"
	SessionStarted = "agent.automation.session_request.completed"
)

// NewSession asks an agent that takes tasks from a channel to start a session of Claude. The caller
// must set ChannelID or ChannelName.
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
	Key       string    `json:"key"` // AgentID and Type, joined by a colon
	AgentID   string    `json:"agent_id"`
	AgentName string    `json:"agent_name"`
	Type      string    `json:"type"`
	Channel   string    `json:"channel"` // the first channel that the agent subscribes to; empty if none
	Message   string    `json:"message"`
	CreatedAt time.Time `json:"created_at"`
}

// SetupWaiting is the type of the notification about an agent that waits until a user requests a
// session of Claude. Such an agent reports this value as the member "state" of Agent.Meta.
const SetupWaiting = "setup_waiting"

// NewTask describes a task to queue. If ChainID is set and Sequence is 0, the task becomes the last
// one of that chain. If the chain has a channel, ChannelID may be empty.
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

// Claim requests a task from a channel. The caller must set Channel, which is the name of the
// channel, or ChannelID.
type Claim struct {
	AgentID        string `json:"agent_id"`
	Channel        string `json:"channel,omitempty"`
	ChannelID      string `json:"channel_id,omitempty"`
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Report reports that an agent has ended a task, and why. The task is done if the report is sent
// with [TaskClient.Complete], and failed if it is sent with [TaskClient.Fail].
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

// NewInput describes an input (text or keystrokes) to queue for the agent of a task. An empty Kind
// means text.
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

// Dashboard is a snapshot of the coordinator's agents, channels, chains, tasks and events. If there
// are very many tasks or events, it leaves some out; see [Client.Dashboard].
type Dashboard struct {
	Agents   []Agent   `json:"agents"`
	Channels []Channel `json:"channels"`
	Chains   []Chain   `json:"chains"`
	Tasks    []Task    `json:"tasks"`
	Events   []Event   `json:"events"`
}

// Update is a message of the coordinator's stream that says what has changed.
type Update struct {
	// Type is the kind of the changed object: agents, tasks, channels (also for a chain), inputs or
	// events. A gaffer server also sends runs, attempts, questions, reviews, messages, lanes
	// (paused agent accounts and reached cost limits) and [Seen].
	Type   string          `json:"type"`
	Time   time.Time       `json:"time"`
	Change json.RawMessage `json:"change,omitempty"` // the changed object; empty if it is a chain
}

// Problem is the error in the coordinator's answer to a refused request.
type Problem struct {
	Code    string `json:"code"` // such as no_tasks
	Message string `json:"message"`
	Offset  int64  `json:"offset,omitempty"` // if Code is LogGap: the log offset from which to continue
}
