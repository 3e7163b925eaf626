// Package server serves a coordinator over HTTP: routes, tokens, limits and the stream.
// It contains no rules of its own: services implement the requests.
package server

import (
	"context"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
)

// Protocol implements the requests of the protocol. Errors are classified by their
// methods: NotFound, Conflict, Invalid, Denied, and Code for the protocol's error code.
type Protocol interface {
	Heartbeat(ctx context.Context, by credential.Identity, h coordinator.Heartbeat) (coordinator.Agent, error)
	Agents(ctx context.Context) ([]coordinator.Agent, error)
	Agent(ctx context.Context, id string) (coordinator.Agent, error)
	CurrentTask(ctx context.Context, agent string) (coordinator.Task, error)
	Subscribe(ctx context.Context, by credential.Identity, agent string, channels []string) (coordinator.Agent, error)

	Channels(ctx context.Context) ([]coordinator.Channel, error)
	Channel(ctx context.Context, name string) (coordinator.Channel, error)
	// AddChannel returns the existing channel if the name is taken.
	AddChannel(ctx context.Context, by credential.Identity, c coordinator.Channel) (made coordinator.Channel, err error)
	Chains(ctx context.Context) ([]coordinator.Chain, error)
	AddChain(ctx context.Context, by credential.Identity, c coordinator.Chain) (coordinator.Chain, error)
	Chain(ctx context.Context, id string) (coordinator.Chain, error)
	ChangeChain(ctx context.Context, by credential.Identity, id string, c coordinator.ChainChange) (coordinator.Chain, error)
	DropChain(ctx context.Context, by credential.Identity, id string) error
	// AssignChain lets only one agent claim tasks of a chain. DetachChain lets any agent.
	AssignChain(ctx context.Context, by credential.Identity, id, agent string) (coordinator.Chain, error)
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

	// Updates returns the stream's updates about the changes after a number, and the
	// number of the last change that was read.
	Updates(ctx context.Context, after int64, limit int) (list []Update, last int64, err error)
	// Last returns the number of the last change.
	Last(ctx context.Context) (int64, error)
	// Wait returns when there are changes after a number, or when ctx ends.
	Wait(ctx context.Context, after int64) error
	// Ready returns nil if the database answers.
	Ready(ctx context.Context) error
}

// TaskFilter selects tasks. Its zero value selects all.
type TaskFilter struct {
	Channel, Chain, Agent string
	Status                coordinator.TaskStatus
	Limit                 int
}

// Update is a change with its number.
type Update struct {
	Seq     int64
	Run     string // the engine's run that it is about, or empty
	Project string
	coordinator.Update
}
