package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
)

// fleet is gaffer's engine on a SQLite or PostgreSQL store.
type fleet struct {
	store    store.Store
	engine   *engine.Engine
	keys     bool // give each request an idempotency key
	apart    bool // claim and finish a task in two separate requests
	parallel int  // maximum number of running tasks per plan; 0 means no limit
	ids      atomic.Int64
}

func openSQLite(ctx context.Context, p *databases, _ int) (queue, error) {
	folder, err := p.folder()
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, filepath.Join(folder, "gaffer.db"))
	if err != nil {
		return nil, err
	}
	return p.fleet(s), nil
}

func openPostgres(ctx context.Context, p *databases, _ int) (queue, error) {
	address, err := p.database(ctx)
	if err != nil {
		return nil, err
	}
	s, err := postgres.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	return p.fleet(s), nil
}

func (p *databases) fleet(s store.Store) *fleet {
	f := &fleet{store: s, keys: p.gaffer.keys, apart: p.gaffer.apart, parallel: p.gaffer.parallel}
	f.engine = engine.New(s, engine.Options{Now: time.Now, NewID: f.newID, Rand: rand.Float64, Who: "bench"})
	return f
}

// newID returns a new id. Later ids sort after earlier ones.
func (f *fleet) newID() string {
	return fmt.Sprintf("%012x-%08x", time.Now().UnixMilli(), f.ids.Add(1))
}

// key returns an idempotency key, or "" if requests should have none.
func (f *fleet) key() string {
	if !f.keys {
		return ""
	}
	return f.newID()
}

func (f *fleet) Submit(ctx context.Context, n int) error {
	p := plan.Plan{Name: "bench", Parallel: f.parallel, Tasks: make([]plan.Task, n)}
	for i := range p.Tasks {
		id := fmt.Sprintf("%06d", i)
		p.Tasks[i] = plan.Task{ID: id, Name: "task " + id, Prompt: prompt}
	}
	_, err := f.engine.Submit(ctx, engine.Submission{Plan: p, Key: f.key()})
	return err
}

// Drain claims and finishes tasks as gaffer's workers do: one request finishes a task and claims
// the next one. If f.apart is true, Drain sends separate requests to finish and to claim.
func (f *fleet) Drain(ctx context.Context, clients int, each time.Duration) (result, error) {
	if !f.apart {
		return repeatEach(ctx, clients, each, f.worker)
	}
	return repeat(ctx, clients, each, func(ctx context.Context) error {
		a, err := f.claim(ctx)
		if err != nil {
			return err
		}
		return f.finish(ctx, a)
	})
}

func (f *fleet) worker() func(context.Context) error {
	var held *engine.Assignment
	return func(ctx context.Context) error {
		if held == nil {
			first, err := f.claim(ctx)
			if err != nil {
				return err
			}
			held = &first
		}
		_, next, err := f.engine.FinishAndClaim(ctx, f.end(*held), engine.Claim{Worker: "bench", Key: f.key()})
		held = next
		return err
	}
}

func (f *fleet) claim(ctx context.Context) (engine.Assignment, error) {
	a, err := f.engine.Claim(ctx, engine.Claim{Worker: "bench", Key: f.key()})
	if errors.Is(err, engine.ErrNothing) {
		err = errEmpty
	}
	return a, err
}

func (f *fleet) finish(ctx context.Context, a engine.Assignment) error {
	_, err := f.engine.Finish(ctx, f.end(a))
	return err
}

func (f *fleet) end(a engine.Assignment) engine.Finish {
	return engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Key: f.key()}
}

func (f *fleet) Close() error { return f.store.Close() }
