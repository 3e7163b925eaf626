package main

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver that gaffer's SQLite store uses, too
)

// sqliteTable is a task queue in a plain SQLite table. Each claim is one transaction, and each
// finish is another. The transactions are as durable as gaffer's, so the queue shows how fast
// claims are without gaffer.
type sqliteTable struct {
	mu            sync.Mutex // SQLite allows one writer at a time
	db            *sql.DB
	conn          *sql.Conn
	claim, finish *sql.Stmt
}

const bareSchema = `
CREATE TABLE job (id INTEGER PRIMARY KEY, state TEXT NOT NULL, prompt TEXT NOT NULL);
CREATE INDEX job_queued ON job (id) WHERE state = 'queued'`

const (
	bareInsert = `INSERT INTO job (state, prompt) VALUES ('queued', ?)`
	bareClaim  = `UPDATE job SET state = 'running'
		WHERE id = (SELECT id FROM job WHERE state = 'queued' ORDER BY id LIMIT 1) RETURNING id, prompt`
	bareFinish = `UPDATE job SET state = 'done' WHERE id = ? AND state = 'running'`
)

func openBare(ctx context.Context, p *databases, _ int) (queue, error) {
	folder, err := p.folder()
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: filepath.Join(folder, "bare.db"), RawQuery: url.Values{
		"_pragma": {"journal_mode(wal)", "synchronous(full)"},
	}.Encode()}
	b := &sqliteTable{}
	if b.db, err = sql.Open("sqlite", name.String()); err != nil {
		return nil, err
	}
	b.db.SetMaxOpenConns(1)
	if err := b.prepare(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *sqliteTable) prepare(ctx context.Context) (err error) {
	if b.conn, err = b.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := b.conn.ExecContext(ctx, bareSchema); err != nil {
		return err
	}
	if b.claim, err = b.conn.PrepareContext(ctx, bareClaim); err != nil {
		return err
	}
	b.finish, err = b.conn.PrepareContext(ctx, bareFinish)
	return err
}

func (b *sqliteTable) Submit(ctx context.Context, n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	tx, err := b.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	insert, err := tx.PrepareContext(ctx, bareInsert)
	if err != nil {
		return err
	}
	for range n {
		if _, err := insert.ExecContext(ctx, prompt); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Drain claims and finishes tasks. It gives the statements a context that cannot be cancelled,
// because the driver starts a goroutine for each statement whose context can be cancelled. gaffer
// avoids that cost too.
func (b *sqliteTable) Drain(ctx context.Context, clients int, each time.Duration) (result, error) {
	return repeat(ctx, clients, each, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, err := b.claimOne()
		if err != nil {
			return err
		}
		return b.finishOne(id)
	})
}

func (b *sqliteTable) claimOne() (id int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text string
	err = b.claim.QueryRowContext(context.Background()).Scan(&id, &text)
	if errors.Is(err, sql.ErrNoRows) {
		err = errEmpty
	}
	return id, err
}

func (b *sqliteTable) finishOne(id int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.finish.ExecContext(context.Background(), id)
	return err
}

func (b *sqliteTable) Close() error {
	if b.conn == nil {
		return b.db.Close()
	}
	return errors.Join(b.conn.Close(), b.db.Close())
}
