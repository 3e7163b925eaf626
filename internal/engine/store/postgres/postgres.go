// Package postgres is the store in a PostgreSQL database, for several machines.
// Its tables are in a schema of their own, called gaffer, or as the URL's
// search_path says.
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
	name   string // for messages

	writer store.Writer
	bell   store.Bell
	plans  memo.Plans
	reads  *pgxpool.Pool
	ears   *listener
	herald announcer
	clock  *clock

	open  chan struct{} // held by the session that is open
	slots chan struct{} // held by the sessions that are not yet answered
	doubt atomic.Bool   // a commit has failed: what is known may not be so
	// Under open:
	line    line
	known   known
	record  record.Writer
	message []byte // room for the next one
	closed  bool
}

var _ store.Store = (*Store)(nil)

const (
	// pollEvery is how often those who wait look for themselves, should a
	// notification be lost.
	pollEvery = time.Second
	// patience is how long a session waits for the one before it.
	patience = 30 * time.Second
	// maxPause is how long a session may do nothing before the server ends it,
	// so that a process that is stopped or gone does not keep all others.
	maxPause = 15 * time.Second
	// slots is how many sessions may be on their way at once. While the server
	// works on one, the next is made.
	slots = 2
	// maxStatement is how long one exchange with the server may take.
	maxStatement = 2 * time.Minute
)

// Open connects to the database that a URL names and brings its schema up to
// date.
func Open(ctx context.Context, url string) (*Store, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err // it leaves the password out
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

// configure sets what every connection of ours has.
func configure(c *pgx.ConnConfig) *pgx.ConnConfig {
	defaults := map[string]string{
		"search_path":                         "gaffer",
		"application_name":                    "gaffer",
		"lock_timeout":                        fmt.Sprint(patience.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(maxPause.Milliseconds()),
		// Every query has its index. A plan that was made while a table was
		// small, or before it was analysed, must not read all of it later.
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

// beginRead begins a transaction. A connection that has broken since it was last
// used is passed over: nothing was asked on it yet.
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
