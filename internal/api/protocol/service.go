// Package protocol implements the requests of the coordinator's protocol. The requests are about
// agents, channels, chains, tasks, inputs and events. A channel is a named queue of tasks. A chain
// is a sequence of tasks that run one after the other. The package uses the engine, which gives
// tasks to workers, and the engine's store.
//
// The protocol's objects are stored as follows. An agent is a worker of the engine. Each channel
// and each chain has an item, which is a row of the store for any JSON data, and a run of its own.
// The run stays open when its tasks have ended. The tasks of a channel or chain are the tasks of
// its run. The protocol's id of a task is the run's id and the task's id, joined by a dot.
//
// Each request makes its changes in one transaction. The service keeps no state except metrics and
// a cache of task specifications, so several services can share one store.
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

// Service implements [server.Protocol]. It is safe for concurrent use. Each embedded type answers
// the requests about one subject.
type Service struct {
	*agentService
	*channelService
	*taskService
	*eventService
	*changeFeed
	db *database
}

var _ server.Protocol = (*Service)(nil)

// New returns a service. s must be the store of the engine e. The function now should be the
// engine's clock. The service uses it, for example, to decide which agents are online.
func New(s store.Store, e *engine.Engine, now func() time.Time) *Service {
	db := &database{store: s, engine: e}
	return &Service{
		agentService: &agentService{db: db, now: now}, channelService: &channelService{db: db},
		taskService:  &taskService{db: db, random: rand.Reader},
		eventService: &eventService{db: db}, changeFeed: &changeFeed{db: db, now: now},
		db: db,
	}
}

// Tokens returns the storage of access tokens in the service's store.
func (d *Service) Tokens() credential.Storage { return tokens{d.db} }

// database runs the transactions of all embedded types of a service.
type database struct {
	store  store.Store
	engine *engine.Engine
	writes server.Histogram // durations of write transactions
}

// do runs the function do in one write transaction on behalf of a client, and measures the
// transaction's duration. The function may be called more than once.
func (d *database) do(ctx context.Context, by credential.Identity, do func(s *engine.Tx) error) error {
	began := time.Now() // use the real clock to measure the duration
	err := d.engine.Do(ctx, cmp.Or(by.Name, by.ID), do)
	d.writes.Add(time.Since(began))
	return err
}

// The kinds of idempotency records. Such a record stores the answer to a request, so that a
// repeated request gets the same answer. Existing databases contain these names, so they must keep
// the outdated word "desk".
const (
	onceClaim = "desk-claim"
	onceEvent = "desk-event"
	onceInput = "desk-input"
)

// rows reads single rows of the store. A [store.Reader] and a write transaction, [engine.Tx],
// implement it.
type rows interface {
	Worker(id string) (store.Worker, error)
	Task(key store.TaskKey) (store.Task, error)
	Attempt(id string) (store.Attempt, error)
	Item(key store.ItemKey) (store.Item, error)
}
