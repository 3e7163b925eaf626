// Package protocol implements the requests of the coordinator's protocol: agents,
// channels, chains, tasks, inputs and events, on an engine and its store.
//
// An agent is a worker of the store. A channel or a chain is an item with a run of the
// engine that never ends. A task of the protocol is a task of that run: its id consists
// of the ids of the run and the task, joined by a dot. Each request makes its changes in
// one transaction. The service keeps no state except metrics and a cache of task specs,
// so several services can share one store.
package protocol

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Service answers requests. It is safe for concurrent use.
type Service struct {
	store  store.Store
	engine *engine.Engine
	now    func() time.Time
	random io.Reader        // for the secrets of session requests
	writes server.Histogram // durations of write transactions
	specs  specs
}

var _ server.Protocol = (*Service)(nil)

// New returns a service on a store and an engine on the same store. now decides which
// agents are online, and should be the engine's clock.
func New(s store.Store, e *engine.Engine, now func() time.Time) *Service {
	return &Service{store: s, engine: e, now: now, random: rand.Reader}
}

// Ready implements [server.Protocol].
func (d *Service) Ready(ctx context.Context) error {
	_, err := d.Last(ctx)
	return err
}

// Last implements [server.Protocol].
func (d *Service) Last(ctx context.Context) (last int64, err error) {
	err = d.store.Read(ctx, func(r store.Reader) (err error) {
		last, err = r.LastSeq()
		return err
	})
	return last, err
}

// Wait implements [server.Protocol].
func (d *Service) Wait(ctx context.Context, after int64) error { return d.store.Wait(ctx, after) }

// do runs one transaction on behalf of a client.
func (d *Service) do(ctx context.Context, by credential.Identity, need store.Need, do func(s *engine.Step) error) error {
	began := time.Now() // the real clock: this only measures a duration
	err := d.engine.Do(ctx, cmp.Or(by.Name, by.ID), need, do)
	d.writes.Add(time.Since(began))
	return err
}

// rows reads single rows, inside a transaction or a read.
type rows interface {
	Worker(id string) (store.Worker, error)
	Task(key store.TaskKey) (store.Task, error)
	Attempt(id string) (store.Attempt, error)
	Item(key store.ItemKey) (store.Item, error)
}
