// Package postgres implements a store in a PostgreSQL database, which gaffer servers on several
// machines can share. The tables are in the schema that search_path in the URL names, or in the
// schema "gaffer" if the URL names none.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"gaffer/internal/engine/store"
)

// Store is a store in a PostgreSQL database.
type Store struct {
	config   *pgx.ConnConfig
	settings settings
	schema   string
	name     string // name of the database, for error messages

	writer   store.Writer
	signal   store.EventSignal
	plans    store.PlanCache
	reads    *pgxpool.Pool
	listener *listener
	clock    *clock

	open   chan struct{} // semaphore of size 1, held by the open write transaction of this process
	conn   *pgx.Conn     // connection for write transactions; nil if none is open; guarded by open
	closed bool          // guarded by open
	// lastClaim is the query with which the last write transaction looked for tasks that a worker
	// may claim. It is nil if that transaction did not look for any. It is guarded by open.
	lastClaim *store.ClaimQuery
}

var _ store.Store = (*Store)(nil)

const (
	// pollEvery is how often a reader that waits for new events polls the database, in case a
	// notification was lost.
	pollEvery = time.Second
	// lockTimeout is how long a write transaction waits for the write transaction of another
	// process to end.
	lockTimeout = 30 * time.Second
	// maxIdle is how long a transaction may be idle until the server ends it. Without this limit, a
	// suspended process with an open write transaction would block all other writers.
	maxIdle = 15 * time.Second
	// maxTransaction is how long a write transaction may take, including the wait for write
	// transactions of other processes.
	maxTransaction = 2 * time.Minute
)

// Open connects to the database with the given URL, and migrates the schema to the version of this
// program.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err // pgx masks the password in this error
	}
	s := &Store{open: make(chan struct{}, 1), config: config.ConnConfig, schema: "gaffer"}
	if path, set := s.config.RuntimeParams["search_path"]; set {
		s.schema = path
	}
	if strings.Contains(s.schema, ",") {
		return nil, fmt.Errorf("search_path %s: name one schema, in which gaffer's tables are", s.schema)
	}
	s.settings = configure(s.config, s.schema)
	if s.config.ConnectTimeout == 0 {
		s.config.ConnectTimeout = lockTimeout
	}
	s.name = fmt.Sprintf("%s at %s", s.config.Database, s.config.Host)
	s.writer.Open, s.writer.Committed = s.begin, s.signal.Announce
	if err := s.migrate(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	config.ConnConfig = s.config.Copy()
	if s.reads, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, errors.Join(s.fail(err), s.Close())
	}
	s.clock = clockOf(s.reads)
	if err := s.clock.start(ctx); err != nil {
		return nil, errors.Join(s.fail(err), s.Close())
	}
	// If s.settings.query is empty, gaffer connects to the server directly and not through a
	// connection pooler. Listen for notifications only then, because a pooler would not forward
	// them.
	if s.settings.query == "" {
		s.listener = listen(s.config, s.channel(), s.signal.Announce)
	}
	return s, nil
}

// Write implements [store.Store].
func (s *Store) Write(ctx context.Context, change func(tx *store.Tx) error) error {
	return s.writer.Write(ctx, change)
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, look func(r store.Reader) error) error {
	conn, err := s.beginRead(ctx)
	if err != nil {
		return s.fail(err)
	}
	// If the rollback below has failed, Release closes the connection and does not put it back into
	// the pool.
	defer conn.Release()
	rows := func(query string, args ...any) ([]textRow, error) {
		found, err := conn.Query(ctx, query, args...)
		if err != nil {
			return nil, s.fail(err)
		}
		list, err := textRows(found)
		return list, s.fail(err)
	}
	byKey := func(query string, key ...string) ([]textRow, error) {
		list, err := rows(query, column(key, func(part *string) any { return []string{*part} })...)
		for i := range list {
			list[i] = list[i][1:]
		}
		return list, err
	}
	err = look(&reader{store: s, rows: rows, rowsNow: rows, rowsByKey: byKey})
	_, _ = conn.Exec(context.WithoutCancel(ctx), "ROLLBACK") // ignore errors: a read-only transaction has no changes
	return err
}

// beginRead begins a transaction in which all queries see the same snapshot, and returns its
// connection, which the caller must release. It skips pooled connections that have broken since
// their last use.
func (s *Store) beginRead(ctx context.Context) (*pgxpool.Conn, error) {
	for idle := s.reads.Stat().TotalConns(); ; idle-- {
		conn, err := s.reads.Acquire(ctx)
		if err == nil {
			begin := s.settings.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
			if err = conn.SendBatch(ctx, begin).Close(); err == nil {
				return conn, nil
			}
			conn.Release()
		}
		var refused *pgconn.PgError
		if idle <= 0 || ctx.Err() != nil || errors.As(err, &refused) {
			return nil, err
		}
	}
}

// Wait implements [store.Store].
func (s *Store) Wait(ctx context.Context, after int64) error {
	query := "SELECT seq FROM " + pgx.Identifier{s.schema, "last_event"}.Sanitize()
	return s.signal.Wait(ctx, after, pollEvery, func(ctx context.Context) (last int64, err error) {
		err = s.reads.QueryRow(ctx, query).Scan(&last)
		return last, s.fail(err)
	})
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.open <- struct{}{}
	defer func() { <-s.open }()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.listener != nil {
		s.listener.stop()
	}
	if s.clock != nil {
		s.clock.stop()
	}
	if s.reads != nil {
		s.reads.Close()
	}
	s.disconnect()
	return nil
}
