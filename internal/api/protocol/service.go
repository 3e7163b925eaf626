// Package protocol is what the requests of the coordinator's protocol mean: agents,
// channels, chains, tasks, inputs and events, on an engine and its store.
//
// An agent is a worker of the store. A channel and a chain are items, each with a
// run of the engine that is never concluded, and a task of the protocol is a task
// of that run: its id is that of the run and that of the task, with a dot between.
// Whatever a request changes is changed in one transaction. Nothing but figures and
// what was read of specs is kept here, so that any number of services can be on one
// store.
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
	writes server.Histogram // how long changes took
	specs  specs
}

var _ server.Protocol = (*Service)(nil)

// New returns a service on a store and an engine on the same store. now is the clock
// by which it is told who is online, and should be the engine's.
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

// do makes one transaction for somebody.
func (d *Service) do(ctx context.Context, by credential.Identity, need store.Need, do func(s *engine.Step) error) error {
	began := time.Now() // a duration, which is nothing to pretend
	err := d.engine.Do(ctx, cmp.Or(by.Name, by.ID), need, do)
	d.writes.Add(time.Since(began))
	return err
}

// rows is where rows are looked up: in a transaction, or while reading.
type rows interface {
	Worker(id string) (store.Worker, error)
	Task(key store.TaskKey) (store.Task, error)
	Attempt(id string) (store.Attempt, error)
	Item(key store.ItemKey) (store.Item, error)
}
