package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverQueue is the job queue River. One River client in this process fetches jobs for all workers
// at once, and completes jobs in batches in the background.
type riverQueue struct {
	pool   *pgxpool.Pool
	insert *river.Client[pgx.Tx]
}

func openRiver(ctx context.Context, p *databases, clients int) (queue, error) {
	pool, err := p.pool(ctx, clients)
	if err != nil {
		return nil, err
	}
	q := &riverQueue{pool: pool}
	if err := q.prepare(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return q, nil
}

func (q *riverQueue) prepare(ctx context.Context) error {
	migrator, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Logger: silent()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	q.insert, err = river.NewClient(riverpgxv5.New(q.pool), &river.Config{Logger: silent()})
	return err
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

type job struct {
	Prompt string `json:"prompt"`
}

func (job) Kind() string { return "bench" }

// noopWorker runs River jobs that do nothing.
type noopWorker struct {
	river.WorkerDefaults[job]
	left atomic.Int64  // number of jobs that have not run yet
	done chan struct{} // closed after the last job has run
}

func (w *noopWorker) Work(context.Context, *river.Job[job]) error {
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
	return nil
}

func (q *riverQueue) Submit(ctx context.Context, n int) error {
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i].Args = job{prompt}
	}
	_, err := q.insert.InsertManyFast(ctx, jobs)
	return err
}

// Drain runs jobs until none is left or the time is up, and counts those that are completed in the
// database. The measured time includes the time that River needs to write the last completions.
func (q *riverQueue) Drain(ctx context.Context, clients int, each time.Duration) (r result, err error) {
	queued, err := q.count(ctx, "available")
	if err != nil {
		return r, err
	}
	work := &noopWorker{done: make(chan struct{})}
	work.left.Store(int64(queued))
	client, err := q.worker(work, clients)
	if err != nil {
		return r, err
	}
	began := time.Now()
	if err := client.Start(ctx); err != nil {
		return r, err
	}
	select {
	case <-work.done:
	case <-time.After(each):
	case <-ctx.Done():
	}
	if err := client.Stop(context.WithoutCancel(ctx)); err != nil {
		return r, err
	}
	r.took = time.Since(began)
	r.count, err = q.count(ctx, "completed")
	return r, err
}

// worker returns a River client that fetches jobs as often as River allows. With River's default,
// the client would fetch at most ten times per second.
func (q *riverQueue) worker(work *noopWorker, clients int) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, work)
	return river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		Logger: silent(), Workers: workers,
		Queues:        map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: clients}},
		FetchCooldown: river.FetchCooldownMin, FetchPollInterval: 20 * time.Millisecond,
	})
}

func (q *riverQueue) count(ctx context.Context, state string) (n int, err error) {
	err = q.pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state = $1::text::river_job_state", state).Scan(&n)
	return n, err
}

func (q *riverQueue) Close() error {
	q.pool.Close()
	return nil
}
