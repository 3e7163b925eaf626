// Package postgres is the store in a PostgreSQL database, for several machines. Its
// tables are in a separate schema: the one in the URL's search_path, or else "gaffer".
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memo"
	"gaffer/internal/engine/store/record"
)

// Store is a store in a PostgreSQL database.
type Store struct {
	config *pgx.ConnConfig
	schema string
	name   string // for error messages

	writer store.Writer
	bell   store.Bell
	plans  memo.Plans
	reads  *pgxpool.Pool
	ears   *listener
	herald announcer
	clock  *clock

	open  chan struct{} // semaphore: held by the open session
	slots chan struct{} // semaphore: held by sessions that are open or sent and not yet answered
	doubt atomic.Bool   // a commit has failed, so the cache may be wrong
	// Guarded by open:
	line    line
	known   known
	record  record.Writer
	message []byte // reusable buffer for the next message
	closed  bool
}

var _ store.Store = (*Store)(nil)

const (
	// pollEvery is how often waiting readers poll, in case a notification is lost.
	pollEvery = time.Second
	// patience is how long a session waits for the one before it.
	patience = 30 * time.Second
	// maxPause is how long a session may be idle before the server ends it, so that a
	// stopped or crashed process does not block all others.
	maxPause = 15 * time.Second
	// slots is the maximum number of sessions in progress. While the server works on
	// one, the next is prepared.
	slots = 2
	// maxStatement is the maximum duration of one exchange with the server.
	maxStatement = 2 * time.Minute
)

// Open connects to the database at a URL and migrates its schema to the current
// version.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err // it does not contain the password
	}
	s := &Store{open: make(chan struct{}, 1), slots: make(chan struct{}, slots), config: configure(config.ConnConfig)}
	s.line.store = s
	if s.schema = s.config.RuntimeParams["search_path"]; strings.Contains(s.schema, ",") {
		return nil, fmt.Errorf("search_path %s: name one schema, in which gaffer's tables are", s.schema)
	}
	s.name = fmt.Sprintf("%s at %s", s.config.Database, s.config.Host)
	s.writer.Open, s.writer.Committed, s.writer.AtOnce = s.begin, s.bell.Ring, slots
	s.herald.say = s.announce
	if err := s.prepareDatabase(ctx); err != nil {
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
	s.ears = listen(s.config, s.channel(), s.bell.Ring)
	return s, nil
}

// configure sets the defaults of all connections.
func configure(c *pgx.ConnConfig) *pgx.ConnConfig {
	defaults := map[string]string{
		"search_path":                         "gaffer",
		"application_name":                    "gaffer",
		"lock_timeout":                        fmt.Sprint(patience.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(maxPause.Milliseconds()),
		// Every query has an index. A plan that was made while a table was small or not
		// yet analysed must not scan the whole table later.
		"enable_seqscan":    "off",
		"enable_bitmapscan": "off",
		"plan_cache_mode":   "force_generic_plan",
		"jit":               "off",
	}
	for name, value := range defaults {
		if _, set := c.RuntimeParams[name]; !set {
			c.RuntimeParams[name] = value
		}
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = patience
	}
	return c
}

// Write implements [store.Store].
func (s *Store) Write(ctx context.Context, need store.Need, change func(tx *store.Tx) error) error {
	return s.writer.Write(ctx, need, change)
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, look func(r store.Reader) error) error {
	tx, err := s.beginRead(ctx)
	if err != nil {
		return s.fail(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	return look(s.newReader(ctx, tx))
}

// beginRead begins a transaction. It skips idle connections that have broken since
// their last use; no query was sent on them yet.
func (s *Store) beginRead(ctx context.Context) (pgx.Tx, error) {
	for idle := s.reads.Stat().TotalConns(); ; idle-- {
		tx, err := s.reads.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		said := (*pgconn.PgError)(nil)
		if err == nil || idle <= 0 || ctx.Err() != nil || errors.As(err, &said) {
			return tx, err
		}
	}
}

// Wait implements [store.Store].
func (s *Store) Wait(ctx context.Context, after int64) error {
	return s.bell.Wait(ctx, after, pollEvery, func(ctx context.Context) (last int64, err error) {
		return s.newReader(ctx, s.reads).LastSeq()
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
	if s.ears != nil {
		s.ears.stop()
	}
	s.line.land()
	if s.clock != nil {
		s.clock.stop()
	}
	if s.reads != nil {
		s.herald.stop()
		s.reads.Close()
	}
	return s.line.hangUp()
}
