// Package server is the HTTP server of a coordinator. It checks the token and the content of each
// request, limits what clients may send, and passes the request to a service, which does the work.
// It sends the service's answer as JSON. It also has an event stream, which tells clients about
// changes in the store.
package server

import (
	"context"
	"net/http"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

// Protocol implements the requests of the coordinator protocol. An error that it returns may have
// methods that decide the HTTP response. The methods NotFound, Conflict, Invalid, Denied, Busy and
// Damaged return a bool and decide the status. The method Code returns the protocol's error code.
type Protocol interface {
	Heartbeat(ctx context.Context, by credential.Identity, h coordinator.Heartbeat) (coordinator.Agent, error)
	Agents(ctx context.Context) ([]coordinator.Agent, error)
	Agent(ctx context.Context, id string) (coordinator.Agent, error)
	CurrentTask(ctx context.Context, agent string) (coordinator.Task, error)
	Subscribe(ctx context.Context, by credential.Identity, agent string, channels []string) (coordinator.Agent, error)

	Channels(ctx context.Context) ([]coordinator.Channel, error)
	Channel(ctx context.Context, name string) (coordinator.Channel, error)
	// AddChannel adds a channel, which is a named queue of tasks. If a channel with this name
	// exists, AddChannel returns that channel.
	AddChannel(ctx context.Context, by credential.Identity, c coordinator.Channel) (made coordinator.Channel, err error)
	Chains(ctx context.Context) ([]coordinator.Chain, error)
	AddChain(ctx context.Context, by credential.Identity, c coordinator.Chain) (coordinator.Chain, error)
	Chain(ctx context.Context, id string) (coordinator.Chain, error)
	ChangeChain(ctx context.Context, by credential.Identity, id string, c coordinator.ChainChange) (coordinator.Chain, error)
	DropChain(ctx context.Context, by credential.Identity, id string) error
	// AssignChain assigns a chain, which is a sequence of tasks, to an agent. Only this agent may
	// then claim the chain's tasks.
	AssignChain(ctx context.Context, by credential.Identity, id, agent string) (coordinator.Chain, error)
	// DetachChain ends the assignment of a chain to the given agent. All agents may then claim the
	// chain's tasks. Tasks of the chain that the agent has in progress are queued again.
	DetachChain(ctx context.Context, by credential.Identity, id, agent string) error

	Tasks(ctx context.Context, f TaskFilter) ([]coordinator.Task, error)
	Task(ctx context.Context, id string) (coordinator.Task, error)
	AddTask(ctx context.Context, by credential.Identity, t coordinator.NewTask) (coordinator.Task, error)
	Claim(ctx context.Context, by credential.Identity, c coordinator.Claim) (coordinator.Task, error)
	Complete(ctx context.Context, by credential.Identity, r coordinator.Report) (coordinator.Task, error)
	Fail(ctx context.Context, by credential.Identity, r coordinator.Report) (coordinator.Task, error)

	Assign(ctx context.Context, by credential.Identity, a coordinator.Assignment) (coordinator.Task, error)
	SetStatus(ctx context.Context, by credential.Identity, task string, to coordinator.TaskStatus) (coordinator.Task, error)
	RequestSession(ctx context.Context, by credential.Identity, n coordinator.NewSession) (coordinator.Task, error)
	Notifications(ctx context.Context) ([]coordinator.Notification, error)
	Dismiss(ctx context.Context, by credential.Identity, agent, kind string) error

	AddInput(ctx context.Context, by credential.Identity, i coordinator.NewInput) (coordinator.Input, error)
	ClaimInput(ctx context.Context, by credential.Identity, task, agent string) (coordinator.Input, error)

	Events(ctx context.Context, limit int) ([]coordinator.Event, error)
	AddEvent(ctx context.Context, by credential.Identity, e coordinator.NewEvent) (made coordinator.Event, deduped bool, err error)
	Dashboard(ctx context.Context) (coordinator.Dashboard, error)
	// Metrics returns the metrics about agents, tasks and runs.
	Metrics(ctx context.Context) (ServiceMetrics, error)

	// Updates returns the messages of the event stream about the changes in the store whose
	// sequence number is above cursor. It reads at most limit changes. last is the sequence number
	// of the last change that was read, even if there is no message about this change.
	Updates(ctx context.Context, cursor int64, limit int) (list []Update, last int64, err error)
	// Last returns the sequence number of the latest change in the store.
	Last(ctx context.Context) (int64, error)
	// Wait waits until the store has a change whose sequence number is above cursor. It returns an
	// error if ctx ends before that.
	Wait(ctx context.Context, cursor int64) error
	// Ready returns nil if the database answers.
	Ready(ctx context.Context) error
}

// TaskFilter selects tasks. An empty field does not restrict the selection. Limit is the maximum
// number of tasks; 0 lets the service choose it.
type TaskFilter struct {
	Channel, Chain, Agent string
	Status                coordinator.TaskStatus
	Limit                 int
}

// Update is the message of the event stream about one change in the store.
type Update struct {
	Seq     int64  // sequence number of the change in the store
	Run     string // id of the run that the change is about; empty if it is about no run
	Project string
	coordinator.Update
}

// Bodies of requests and answers. Most are objects with one member that is named after the type of
// its value, such as {"agent": …}.
type (
	oneAgent struct {
		Agent coordinator.Agent `json:"agent"`
	}
	allAgents struct {
		Agents []coordinator.Agent `json:"agents"`
	}
	oneChannel struct {
		Channel coordinator.Channel `json:"channel"`
	}
	allChannels struct {
		Channels []coordinator.Channel `json:"channels"`
	}
	oneChain struct {
		Chain coordinator.Chain `json:"chain"`
	}
	allChains struct {
		Chains []coordinator.Chain `json:"chains"`
	}
	oneTask struct {
		Task coordinator.Task `json:"task"`
	}
	allTasks struct {
		Tasks []coordinator.Task `json:"tasks"`
	}
	oneInput struct {
		Input coordinator.Input `json:"input"`
	}
	allEvents struct {
		Events []coordinator.Event `json:"events"`
	}
	toldEvent struct {
		Event   *coordinator.Event `json:"event,omitempty"`
		Deduped bool               `json:"deduped,omitempty"`
	}
	subscription struct {
		Subscriptions []string `json:"subscriptions"`
	}
	allNotifications struct {
		Notifications []coordinator.Notification `json:"notifications"`
	}
	dismissing struct {
		AgentID string `json:"agent_id"`
		Type    string `json:"type"`
	}
	statusChange struct {
		Status coordinator.TaskStatus `json:"status"`
	}
	agentName struct {
		AgentID string `json:"agent_id"`
	}
	inputClaim struct {
		TaskID  string `json:"task_id"`
		AgentID string `json:"agent_id"`
	}
)

// protocolHandlers answers the requests of the coordinator protocol, which is published: programs
// other than gaffer use it, too.
type protocolHandlers struct{ service Protocol }

func (h *protocolHandlers) routes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: post, path: "/v1/agents/heartbeat", access: work, limited: true, about: "heartbeat of an agent, with its status", takes: coordinator.Heartbeat{}, gives: oneAgent{}, status: found, do: h.heartbeat},
		{method: get, path: "/v1/agents", access: look, about: "all agents", gives: allAgents{}, status: found, do: h.agents},
		{method: get, path: "/v1/agents/{id}", access: look, about: "one agent", gives: oneAgent{}, status: found, moreStatuses: []int{missing}, do: h.agent},
		{method: get, path: "/v1/agents/{id}/current-task", access: look, about: "the current task of an agent", gives: oneTask{}, status: found, moreStatuses: []int{missing}, do: h.currentTask},
		{method: http.MethodPatch, path: "/v1/agents/{id}/channels", access: work, about: "set the channels whose tasks an agent takes", takes: subscription{}, gives: oneAgent{}, status: found, moreStatuses: []int{missing}, do: h.subscribe},

		{method: get, path: "/v1/channels", access: look, about: "all channels", gives: allChannels{}, status: found, do: h.channels},
		{method: post, path: "/v1/channels", access: operate, about: "add a channel, or return the one of that name", takes: coordinator.Channel{}, gives: oneChannel{}, status: made, do: h.addChannel},
		{method: get, path: "/v1/channels/by-name/{name}", access: look, about: "one channel", gives: oneChannel{}, status: found, moreStatuses: []int{missing}, do: h.channel},
		{method: get, path: "/v1/chains", access: look, about: "all chains", query: []string{"channel_id"}, gives: allChains{}, status: found, do: h.chains},
		{method: post, path: "/v1/chains", access: operate, about: "add a chain", takes: coordinator.Chain{}, gives: oneChain{}, status: made, moreStatuses: []int{missing, conflict}, do: h.addChain},

		{method: get, path: "/v1/chains/{id}", access: look, about: "one chain", gives: oneChain{}, status: found, moreStatuses: []int{missing}, do: h.chain},
		{method: http.MethodPut, path: "/v1/chains/{id}", access: operate, about: "change the name or the description of a chain", takes: coordinator.ChainChange{}, gives: oneChain{}, status: found, moreStatuses: []int{missing}, do: h.changeChain},
		{method: http.MethodDelete, path: "/v1/chains/{id}", access: operate, about: "delete a chain; its queued tasks are cancelled", status: http.StatusNoContent, moreStatuses: []int{missing, conflict}, do: h.dropChain},
		{method: post, path: "/v1/chains/{id}/assign-agent", access: operate, about: "let only one agent claim the tasks of a chain", takes: agentName{}, gives: oneChain{}, status: found, moreStatuses: []int{missing}, do: h.assignChain},
		{method: post, path: "/v1/chains/{id}/detach", access: operate, about: "let any agent claim the tasks of a chain; the agent's own tasks of the chain are queued again", takes: agentName{}, gives: done{}, status: found, moreStatuses: []int{missing, conflict}, do: h.detachChain},

		{method: get, path: "/v1/tasks", access: look, about: "tasks", query: []string{"channel_id", "chain_id", "agent_id", "status", "limit"}, gives: allTasks{}, status: found, do: h.tasks},
		{method: get, path: "/v1/tasks/{id}", access: look, about: "one task", gives: oneTask{}, status: found, moreStatuses: []int{missing}, do: h.task},
		{method: post, path: "/v1/tasks", access: operate, about: "add a task", takes: coordinator.NewTask{}, gives: oneTask{}, status: made, moreStatuses: []int{missing, conflict}, do: h.addTask},
		{method: post, path: "/v1/tasks/claim", access: work, about: "claim a task; no_tasks if there is none", takes: coordinator.Claim{}, gives: oneTask{}, status: found, moreStatuses: []int{missing, conflict}, do: h.claim},
		{method: post, path: "/v1/tasks/assign", access: work, about: "give one queued task to an agent", takes: coordinator.Assignment{}, gives: oneTask{}, status: found, moreStatuses: []int{missing, conflict}, do: h.assign},
		{method: post, path: "/v1/tasks/{id}/status", access: operate, about: "queue a task in progress again, or end it instead of its agent", takes: statusChange{}, gives: oneTask{}, status: found, moreStatuses: []int{missing, conflict}, do: h.setStatus},
		{method: post, path: "/v1/agents/request-session", access: operate, about: "queue a task that asks an agent of a channel to start a session", takes: coordinator.NewSession{}, gives: oneTask{}, status: made, moreStatuses: []int{missing}, do: h.requestSession},
		{method: post, path: "/v1/tasks/complete", access: work, about: "report that a task is done", takes: coordinator.Report{}, gives: oneTask{}, status: found, moreStatuses: []int{missing, conflict}, do: h.complete},
		{method: post, path: "/v1/tasks/fail", access: work, about: "report that a task has failed", takes: coordinator.Report{}, gives: oneTask{}, status: found, moreStatuses: []int{missing, conflict}, do: h.fail},
		{method: post, path: "/v1/tasks/inputs", access: operate, about: "send text to the agent of a task", takes: coordinator.NewInput{}, gives: oneInput{}, status: made, moreStatuses: []int{missing, conflict}, do: h.addInput},
		{method: post, path: "/v1/tasks/inputs/claim", access: work, about: "claim the next input; no_inputs if there is none", takes: inputClaim{}, gives: oneInput{}, status: found, moreStatuses: []int{missing, conflict}, do: h.claimInput},

		{method: get, path: "/v1/events", access: look, about: "the latest events", query: []string{"limit"}, gives: allEvents{}, status: found, do: h.events},
		{method: post, path: "/v1/events", access: work, about: "add an event; 200 and deduped if it was added before", takes: coordinator.NewEvent{}, gives: toldEvent{}, status: made, moreStatuses: []int{found, missing}, do: h.addEvent},
		{method: get, path: "/v1/notifications", access: look, about: "agents that wait for the user", gives: allNotifications{}, status: found, do: h.notifications},
		{method: post, path: "/v1/notifications/dismiss", access: operate, about: "dismiss a notification", takes: dismissing{}, gives: done{}, status: found, do: h.dismiss},
		{method: get, path: "/v1/dashboard", access: look, about: "all agents, tasks and latest events", gives: coordinator.Dashboard{}, status: found, do: h.dashboard},
	}
}
