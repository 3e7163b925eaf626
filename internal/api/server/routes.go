package server

import (
	"net/http"
	"slices"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

// access says which clients may use a route.
type access string

// The kinds of access.
const (
	open    access = "open"    // everyone
	look    access = "look"    // everyone with a token
	work    access = "work"    // workers, operators, admins
	operate access = "operate" // operators, admins
	manage  access = "manage"  // admins
)

// permits reports whether a role is sufficient.
func (a access) permits(r credential.Role) bool {
	switch r {
	case credential.Admin:
		return true
	case credential.Operator:
		return a != manage
	case credential.Worker:
		return a == open || a == look || a == work
	case credential.Viewer:
		return a == open || a == look
	}
	return false
}

// route is one endpoint. The table of routes is registered with the mux, and the OpenAPI
// document is generated from it.
type route struct {
	method, path string
	access       access
	about        string
	query        []string // the names of the query parameters
	takes        any      // an example of the body; nil for none
	gives        any      // an example of the answer; nil if it is not JSON
	status       int      // of the answer
	others       []int    // further statuses that have a meaning for this route
	anyHost      bool     // skip the check of the host name
	limited      bool     // also for tokens with limits, which may only do their own work
	do           func(*call) error
	label        string // its name, set when it is registered
}

// Bodies of requests and answers. Most have one member, named after its contents.
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
	oneToken struct {
		Token tokenShown `json:"token"`
	}
	allTokens struct {
		Tokens []tokenShown `json:"tokens"`
	}
	toldEvent struct {
		Event   *coordinator.Event `json:"event,omitempty"`
		Deduped bool               `json:"deduped,omitempty"`
	}
	failure struct {
		Error coordinator.Problem `json:"error"`
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

func routes() []route {
	return slices.Concat(viewerRoutes(), protocolRoutes(), runRoutes(), workRoutes())
}

func protocolRoutes() []route {
	const found, made, missing, conflict = http.StatusOK, http.StatusCreated, http.StatusNotFound, http.StatusConflict
	get, post := http.MethodGet, http.MethodPost
	return []route{
		{method: get, path: "/{$}", access: open, about: "the dashboard's page, which holds no data", status: found, do: (*call).page},
		{method: get, path: "/assets/{path...}", access: open, about: "what the dashboard's page loads", status: found, others: []int{missing}, do: (*call).page},
		{method: get, path: "/health", access: open, anyHost: true, about: "whether the database answers; for load balancers, under any host", gives: health{}, status: found, others: []int{http.StatusServiceUnavailable}, do: (*call).health},
		{method: get, path: "/metrics", access: look, about: "figures for Prometheus", status: found, do: (*call).scrape},
		{method: get, path: "/openapi.json", access: open, about: "this document", gives: map[string]any{}, status: found, do: (*call).document},
		{method: get, path: "/login", access: open, about: "trade a one-time code for a cookie", query: []string{"code", "to"}, status: http.StatusSeeOther, do: (*call).login},
		{method: post, path: "/v1/login", access: look, about: "make a one-time link to log a browser in with", gives: loginLink{}, status: made, do: (*call).link},
		{method: post, path: "/v1/logout", access: look, about: "end the session of a browser", gives: loggedOut{}, status: found, do: (*call).logout},
		{method: get, path: "/v1/self", access: look, limited: true, about: "which program answers, and who asks", gives: oneSelf{}, status: found, do: (*call).self},

		{method: post, path: "/v1/agents/heartbeat", access: work, limited: true, about: "say that an agent lives and what it does", takes: coordinator.Heartbeat{}, gives: oneAgent{}, status: found, do: (*call).heartbeat},
		{method: get, path: "/v1/agents", access: look, about: "all agents", gives: allAgents{}, status: found, do: (*call).agents},
		{method: get, path: "/v1/agents/{id}", access: look, about: "one agent", gives: oneAgent{}, status: found, others: []int{missing}, do: (*call).agent},
		{method: get, path: "/v1/agents/{id}/current-task", access: look, about: "the task that an agent has", gives: oneTask{}, status: found, others: []int{missing}, do: (*call).currentTask},
		{method: http.MethodPatch, path: "/v1/agents/{id}/channels", access: work, about: "which channels an agent takes tasks of", takes: subscription{}, gives: oneAgent{}, status: found, others: []int{missing}, do: (*call).subscribe},

		{method: get, path: "/v1/channels", access: look, about: "all channels", gives: allChannels{}, status: found, do: (*call).channels},
		{method: post, path: "/v1/channels", access: operate, about: "add a channel, or return the one of that name", takes: coordinator.Channel{}, gives: oneChannel{}, status: made, do: (*call).addChannel},
		{method: get, path: "/v1/channels/by-name/{name}", access: look, about: "one channel", gives: oneChannel{}, status: found, others: []int{missing}, do: (*call).channel},
		{method: get, path: "/v1/chains", access: look, about: "all chains", query: []string{"channel_id"}, gives: allChains{}, status: found, do: (*call).chains},
		{method: post, path: "/v1/chains", access: operate, about: "add a chain", takes: coordinator.Chain{}, gives: oneChain{}, status: made, others: []int{missing, conflict}, do: (*call).addChain},

		{method: get, path: "/v1/chains/{id}", access: look, about: "one chain", gives: oneChain{}, status: found, others: []int{missing}, do: (*call).chain},
		{method: http.MethodPut, path: "/v1/chains/{id}", access: operate, about: "change the name or the description of a chain", takes: coordinator.ChainChange{}, gives: oneChain{}, status: found, others: []int{missing}, do: (*call).changeChain},
		{method: http.MethodDelete, path: "/v1/chains/{id}", access: operate, about: "delete a chain; what waits in it is cancelled", status: http.StatusNoContent, others: []int{missing, conflict}, do: (*call).dropChain},
		{method: post, path: "/v1/chains/{id}/assign-agent", access: operate, about: "let only one agent claim the tasks of a chain", takes: agentName{}, gives: oneChain{}, status: found, others: []int{missing}, do: (*call).assignChain},
		{method: post, path: "/v1/chains/{id}/detach", access: operate, about: "let any agent claim the tasks of a chain; what the agent has of it is queued again", takes: agentName{}, gives: done{}, status: found, others: []int{missing, conflict}, do: (*call).detachChain},

		{method: get, path: "/v1/tasks", access: look, about: "tasks", query: []string{"channel_id", "chain_id", "agent_id", "status", "limit"}, gives: allTasks{}, status: found, do: (*call).tasks},
		{method: get, path: "/v1/tasks/{id}", access: look, about: "one task", gives: oneTask{}, status: found, others: []int{missing}, do: (*call).task},
		{method: post, path: "/v1/tasks", access: operate, about: "add a task", takes: coordinator.NewTask{}, gives: oneTask{}, status: made, others: []int{missing, conflict}, do: (*call).addTask},
		{method: post, path: "/v1/tasks/claim", access: work, about: "take a task; no_tasks if there is none", takes: coordinator.Claim{}, gives: oneTask{}, status: found, others: []int{missing, conflict}, do: (*call).claim},
		{method: post, path: "/v1/tasks/assign", access: work, about: "give one queued task to an agent", takes: coordinator.Assignment{}, gives: oneTask{}, status: found, others: []int{missing, conflict}, do: (*call).assign},
		{method: post, path: "/v1/tasks/{id}/status", access: operate, about: "queue a task in progress again, or end it in the place of its agent", takes: statusChange{}, gives: oneTask{}, status: found, others: []int{missing, conflict}, do: (*call).setStatus},
		{method: post, path: "/v1/agents/request-session", access: operate, about: "queue a task that asks an agent of a channel to start a session", takes: coordinator.NewSession{}, gives: oneTask{}, status: made, others: []int{missing}, do: (*call).requestSession},
		{method: post, path: "/v1/tasks/complete", access: work, about: "say that a task is done", takes: coordinator.Report{}, gives: oneTask{}, status: found, others: []int{missing, conflict}, do: (*call).complete},
		{method: post, path: "/v1/tasks/fail", access: work, about: "say that a task has failed", takes: coordinator.Report{}, gives: oneTask{}, status: found, others: []int{missing, conflict}, do: (*call).fail},
		{method: post, path: "/v1/tasks/inputs", access: operate, about: "type something for the agent of a task", takes: coordinator.NewInput{}, gives: oneInput{}, status: made, others: []int{missing, conflict}, do: (*call).addInput},
		{method: post, path: "/v1/tasks/inputs/claim", access: work, about: "take the next input; no_inputs if there is none", takes: inputClaim{}, gives: oneInput{}, status: found, others: []int{missing, conflict}, do: (*call).claimInput},

		{method: get, path: "/v1/events", access: look, about: "the latest events", query: []string{"limit"}, gives: allEvents{}, status: found, do: (*call).events},
		{method: post, path: "/v1/events", access: work, about: "tell something; 200 and deduped if it was told before", takes: coordinator.NewEvent{}, gives: toldEvent{}, status: made, others: []int{found, missing}, do: (*call).addEvent},
		{method: get, path: "/v1/notifications", access: look, about: "agents that wait for a person", gives: allNotifications{}, status: found, do: (*call).notifications},
		{method: post, path: "/v1/notifications/dismiss", access: operate, about: "do not show a notification any more", takes: dismissing{}, gives: done{}, status: found, do: (*call).dismiss},
		{method: get, path: "/v1/dashboard", access: look, about: "everything at a glance", gives: coordinator.Dashboard{}, status: found, do: (*call).dashboard},
		{method: get, path: "/v1/stream", access: look, about: "changes as server-sent events, replayed from Last-Event-ID", query: []string{"project", "run", "last_event_id", "seen"}, status: found, do: (*call).stream},

		{method: get, path: "/v1/tokens", access: manage, about: "all tokens, without what is secret", gives: allTokens{}, status: found, do: (*call).listTokens},
		{method: post, path: "/v1/tokens", access: manage, about: "make a token, which is told once", takes: newToken{}, gives: oneToken{}, status: made, do: (*call).addToken},
		{method: http.MethodDelete, path: "/v1/tokens/{id}", access: manage, about: "revoke a token", gives: oneToken{}, status: found, others: []int{missing, conflict}, do: (*call).revokeToken},
	}
}
