// Package protocol implements the requests of the coordinator's protocol: agents,
// channels, chains, tasks, inputs and events, on an engine and its store.
//
// The protocol's objects are stored as follows. An agent is a worker. A channel or a
// chain is an item, together with a run of the engine that never ends. A task of the
// protocol is a task of that run; its id is the run's id and the task's id, joined by a
// dot. Each request makes its changes in one transaction. The service keeps no state
// except metrics and a cache of task specs, so several services can share one store.
package protocol

import (
	"cmp"
	"context"
	"crypto/rand"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Service answers requests. It is safe for concurrent use. Each of its parts answers the
// requests about one subject.
type Service struct {
	*agentService
	*channelService
	*taskService
	*eventService
	*changeFeed
	db *database
}

var _ server.Protocol = (*Service)(nil)

// New returns a service on a store and an engine on the same store. now decides which
// agents are online, and should be the engine's clock.
func New(s store.Store, e *engine.Engine, now func() time.Time) *Service {
	db := &database{store: s, engine: e}
	return &Service{
		agentService: &agentService{db: db, now: now}, channelService: &channelService{db: db},
		taskService:  &taskService{db: db, random: rand.Reader},
		eventService: &eventService{db: db}, changeFeed: &changeFeed{db: db, now: now},
		db: db,
	}
}

// Tokens returns the tokens in the service's store.
func (d *Service) Tokens() credential.Storage { return tokens{d.db} }

// database runs the transactions of all parts of a service.
type database struct {
	store  store.Store
	engine *engine.Engine
	writes server.Histogram // durations of write transactions
}

// do runs one transaction on behalf of a client.
func (d *database) do(ctx context.Context, by credential.Identity, do func(s *engine.Tx) error) error {
	began := time.Now() // the real clock, because this only measures a duration
	err := d.engine.Do(ctx, cmp.Or(by.Name, by.ID), do)
	d.writes.Add(time.Since(began))
	return err
}

// The kinds of idempotency records. Existing stores contain these names, so they cannot
// change.
const (
	onceClaim = "desk-claim"
	onceEvent = "desk-event"
	onceInput = "desk-input"
)

// rows reads single rows, inside a transaction or a read.
type rows interface {
	Worker(id string) (store.Worker, error)
	Task(key store.TaskKey) (store.Task, error)
	Attempt(id string) (store.Attempt, error)
	Item(key store.ItemKey) (store.Item, error)
}
