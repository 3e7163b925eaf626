package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"gaffer/internal/engine/store"
)

// transaction is a write transaction. At most one is open at a time, in all processes together,
// because each locks the only row of the table last_event.
//
// transaction is a [store.Loader]: it collects lookups, and Load sends them all in one round trip.
// It keeps the results until the transaction ends.
type transaction struct {
	*reader
	store    *Store
	ctx      context.Context // context of the whole transaction, which several requests share
	cancel   context.CancelFunc
	last     int64              // sequence number of the last event
	loadEach bool               // set by LoadEach: each lookup is sent immediately
	missed   bool               // a lookup has returned store.ErrNotLoaded since the last call of Missed
	wanted   []*lookup          // lookups that the next round trip sends
	lookups  map[string]*lookup // lookups of this transaction, by query and arguments
	claim    *store.ClaimQuery  // last query for claimable tasks, without its function Skip; nil if there was none
}

// lookup is a query that a request has made, and its result.
type lookup struct {
	query  string
	args   []any
	keys   []string // parts of the key, if reader.rowsByKey has made the query
	loaded bool
	rows   []textRow
}

// begin waits until this process has no other open write transaction, and begins one.
func (s *Store) begin(ctx context.Context) (store.Transaction, error) {
	select {
	case s.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t := &transaction{store: s, lookups: map[string]*lookup{}}
	t.ctx, t.cancel = context.WithTimeout(context.Background(), maxTransaction)
	t.reader = &reader{store: s, rows: t.find, rowsNow: t.findNow, rowsByKey: t.findKey}
	// A request that ends an attempt and claims the next task needs these rows. So add their
	// queries to t.wanted, to send them together with the statement BEGIN. These calls return no
	// rows yet.
	_, _ = t.find(allAccounts)
	_, _ = t.find(openQuestions)
	_, _ = t.find(labelSets)
	// This transaction will probably look for claimable tasks with the same query as the last
	// transaction, so send this query too.
	if s.lastClaim != nil {
		_, _ = t.reader.ClaimableTasks(*s.lastClaim)
	}
	t.missed = false
	if err := t.begin(); err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// begin begins the transaction on the server and sends the lookups in t.wanted. If the connection
// has broken since it was last used, begin opens a new one.
func (t *transaction) begin() (err error) {
	if t.store.closed {
		return errClosed
	}
	for {
		fresh := t.store.conn == nil
		if fresh {
			if t.store.conn, err = pgx.ConnectConfig(t.ctx, t.store.config.Copy()); err != nil {
				t.store.conn = nil
				return t.store.fail(err)
			}
		}
		batch := t.store.settings.begin("BEGIN")
		batch.Queue(durable)
		// Row locks are not fair: other transactions can overtake a waiting one again and again. So
		// each transaction first waits for an advisory lock, which PostgreSQL grants in the order
		// in which transactions ask for it.
		batch.Queue("SELECT pg_advisory_xact_lock($1, $2)", migrationLock, t.store.queueKey())
		batch.Queue("SELECT seq FROM last_event FOR UPDATE").QueryRow(func(row pgx.Row) error { return row.Scan(&t.last) })
		if err = t.send(batch); err == nil {
			return nil
		}
		broken := t.store.conn.IsClosed()
		t.store.disconnect() // the server rolls back the transaction of a closed connection
		if fresh || !broken {
			return err
		}
	}
}

// ClaimableTasks implements [store.Reader]. It remembers the query, so that the next transaction
// can send the same query with its first statement.
func (t *transaction) ClaimableTasks(c store.ClaimQuery) ([]store.Task, error) {
	t.claim = &store.ClaimQuery{Labels: c.Labels, PausedAccounts: c.PausedAccounts, Accounts: c.Accounts, Limit: c.Limit}
	return t.reader.ClaimableTasks(c)
}

// find returns the rows of a query. If the query was not sent yet, find adds it to the lookups that
// Load sends, and returns [store.ErrNotLoaded]. But after a call of LoadEach, find sends the query
// immediately.
func (t *transaction) find(query string, args ...any) ([]textRow, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return t.result(query+string(text), lookup{query: query, args: args})
}

// findKey is like find, for a query that looks up rows by a key (see reader.rowsByKey).
func (t *transaction) findKey(query string, key ...string) ([]textRow, error) {
	return t.result(query+"\x00"+strings.Join(key, "\x00"), lookup{query: query, keys: key}) // this string is unique: stored keys contain no zero bytes
}

func (t *transaction) result(name string, wanted lookup) ([]textRow, error) {
	l := t.lookups[name]
	if l == nil {
		l = &wanted
		t.lookups[name] = l
		t.wanted = append(t.wanted, l)
	}
	if !l.loaded && t.loadEach {
		if err := t.Load(); err != nil {
			return nil, err
		}
	}
	if !l.loaded {
		t.missed = true
		return nil, store.ErrNotLoaded
	}
	return l.rows, nil
}

// findNow sends a query immediately, together with the lookups in t.wanted, and returns its rows.
// It does not keep the rows for other requests.
func (t *transaction) findNow(query string, args ...any) ([]textRow, error) {
	l := &lookup{query: query, args: args}
	t.wanted = append(t.wanted, l)
	err := t.Load()
	return l.rows, err
}

// Missed implements [store.Loader].
func (t *transaction) Missed() bool {
	missed := t.missed
	t.missed = false
	return missed
}

// LoadEach implements [store.Loader].
func (t *transaction) LoadEach() error {
	t.loadEach = true
	return t.Load()
}

// Load implements [store.Loader].
func (t *transaction) Load() error {
	if len(t.wanted) == 0 {
		return nil
	}
	return t.send(&pgx.Batch{})
}

// send sends the statements in batch and the lookups in t.wanted in one round trip, and stores the
// results of the lookups. Lookups with the same query and different keys are sent as one statement.
func (t *transaction) send(batch *pgx.Batch) error {
	byQuery := map[string][]*lookup{}
	for _, l := range t.wanted {
		if l.keys != nil {
			byQuery[l.query] = append(byQuery[l.query], l)
			continue
		}
		batch.Queue(l.query, l.args...).Query(func(rows pgx.Rows) (err error) {
			l.rows, err = textRows(rows)
			return err
		})
	}
	for query, list := range byQuery {
		columns := make([]any, len(list[0].keys))
		for c := range columns {
			columns[c] = column(list, func(l **lookup) string { return (*l).keys[c] })
		}
		batch.Queue(query, columns...).Query(func(found pgx.Rows) error {
			rows, err := textRows(found)
			for _, row := range rows {
				n, err := strconv.Atoi(string(row[0]))
				if err != nil {
					return err
				}
				list[n-1].rows = append(list[n-1].rows, row[1:])
			}
			return err
		})
	}
	if err := t.store.conn.SendBatch(t.ctx, batch).Close(); err != nil {
		return t.store.fail(err)
	}
	for _, l := range t.wanted {
		l.loaded = true
	}
	t.wanted = nil
	return nil
}

// durable is a query that turns synchronous_commit on for the transaction if it is off. With
// synchronous_commit off, a crash of the server could lose the commit.
const durable = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"

// queueKey returns the second part of the key of the advisory lock that write transactions wait
// for. It is a hash of the schema's name, so that stores in other schemas use other locks.
func (s *Store) queueKey() int32 {
	h := fnv.New32()
	_, _ = h.Write([]byte(s.schema))
	return int32(h.Sum32())
}

// LastSeq implements [store.Reader].
func (t *transaction) LastSeq() (int64, error) { return t.last, nil }

// Commit implements [store.Transaction]. It sends all statements, including COMMIT, in one round
// trip. It notifies the listeners of other processes if c contains events.
func (t *transaction) Commit(c store.Changes) error {
	defer t.end()
	last := t.last + int64(len(c.Events))
	var w rowWriter
	w.writeChanges(c, last)
	if w.err != nil {
		return errors.Join(w.err, t.rollback())
	}
	if len(c.Events) > 0 {
		w.batch.Queue("SELECT pg_notify($1, $2)", t.store.channel(), strconv.FormatInt(last, 10))
	}
	tag := ""
	w.batch.Queue("COMMIT").Exec(func(ct pgconn.CommandTag) error {
		tag = ct.String()
		return nil
	})
	err := t.store.conn.SendBatch(t.ctx, &w.batch).Close()
	if err == nil && tag != "COMMIT" {
		err = fmt.Errorf("the server answered %s", tag)
	}
	if err == nil {
		t.store.plans.Forget(c.Deletions.Runs...)
		return nil
	}
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR" {
		return errors.Join(t.store.fail(err), t.rollback())
	}
	t.store.disconnect()
	return &store.CommitError{Err: t.store.fail(err)}
}

// Rollback implements [store.Transaction].
func (t *transaction) Rollback() error {
	defer t.end()
	return t.rollback()
}

func (t *transaction) rollback() error {
	if _, err := t.store.conn.Exec(t.ctx, "ROLLBACK"); err != nil {
		t.store.disconnect() // the server rolls back the transaction of a closed connection
		return t.store.fail(err)
	}
	return nil
}

// end lets the next write transaction of this process begin. It must be called once for every
// transaction.
func (t *transaction) end() {
	t.cancel()
	t.store.lastClaim = t.claim
	<-t.store.open
}

// disconnect closes the connection for write transactions.
func (s *Store) disconnect() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// Ignore errors: the server ends the transaction when it notices that the connection is gone.
	_ = s.conn.Close(ctx)
	s.conn = nil
}
