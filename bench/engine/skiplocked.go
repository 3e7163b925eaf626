package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// skipLocked is a task queue in a plain PostgreSQL table, as many programs use it. Each claim is
// one transaction with FOR UPDATE SKIP LOCKED, and each finish is another. The pool has at least
// one connection for each client.
type skipLocked struct{ pool *pgxpool.Pool }

const skipSchema = `
CREATE TABLE job (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, state text NOT NULL, prompt text NOT NULL);
CREATE INDEX job_queued ON job (id) WHERE state = 'queued'`

const (
	skipInsert = `INSERT INTO job (state, prompt) SELECT 'queued', $1 FROM generate_series(1, $2::int)`
	skipClaim  = `UPDATE job SET state = 'running' WHERE id =
		(SELECT id FROM job WHERE state = 'queued' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, prompt`
	skipFinish = `UPDATE job SET state = 'done' WHERE id = $1 AND state = 'running'`
)

func openSkipLocked(ctx context.Context, p *databases, clients int) (queue, error) {
	pool, err := p.pool(ctx, clients)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, skipSchema); err != nil {
		pool.Close()
		return nil, err
	}
	return &skipLocked{pool}, nil
}

func (s *skipLocked) Submit(ctx context.Context, n int) error {
	_, err := s.pool.Exec(ctx, skipInsert, prompt, n)
	return err
}

func (s *skipLocked) Drain(ctx context.Context, clients int, each time.Duration) (result, error) {
	return repeat(ctx, clients, each, func(ctx context.Context) error {
		var id int64
		var text string
		err := s.pool.QueryRow(ctx, skipClaim).Scan(&id, &text)
		if errors.Is(err, pgx.ErrNoRows) {
			return errEmpty
		}
		if err != nil {
			return err
		}
		_, err = s.pool.Exec(ctx, skipFinish, id)
		return err
	})
}

func (s *skipLocked) Close() error {
	s.pool.Close()
	return nil
}
