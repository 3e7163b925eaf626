package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"gaffer/internal/store"
	"gaffer/internal/store/memo"
)

// session is a transaction that writes. There is one at a time, over all
// processes: each holds the row of last_event.
type session struct {
	memo.Reader
	stored *reader
	store  *Store
	conn   *pgx.Conn
	head   head
	ctx    context.Context // not that of a request: others are in the session too
	cancel context.CancelFunc
}

// begin waits until no other session is open.
func (s *Store) begin(ctx context.Context) (store.Session, error) {
	select {
	case s.open <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	head, err := s.lock()
	if err != nil {
		<-s.open
		return nil, err
	}
	if s.seen == nil || head.writes != s.writes {
		s.seen, s.writes = memo.NewSeen(), head.writes
	}
	session := &session{store: s, conn: s.write, head: head}
	session.ctx, session.cancel = context.WithTimeout(context.Background(), maxStatement)
	session.stored = s.newReader(session.ctx, s.write)
	session.Reader = memo.Reader{Reader: session.stored, Seen: s.seen}
	return session, nil
}

// head is the row that all sessions wait for.
type head struct {
	seq    int64 // of the last event
	writes int64 // how many sessions have written
}

// lock begins a transaction and takes the row that all wait for. A connection
// that has broken since it was last used is made again.
func (s *Store) lock() (head, error) {
	if s.closed {
		return head{}, errClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxStatement)
	defer cancel()
	if s.write != nil {
		locked, err := s.lockOn(ctx, s.write)
		if err == nil {
			return locked, nil
		}
		broken := s.write.IsClosed()
		if _ = s.hangUp(); !broken {
			return head{}, err
		}
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return head{}, err
	}
	s.write = conn
	locked, err := s.lockOn(ctx, conn)
	if err != nil {
		_ = s.hangUp()
	}
	return locked, err
}

func (s *Store) lockOn(ctx context.Context, conn *pgx.Conn) (locked head, err error) {
	var batch pgx.Batch
	batch.Queue("BEGIN")
	batch.Queue("SELECT seq, writes FROM last_event FOR UPDATE").QueryRow(func(row pgx.Row) error {
		return row.Scan(&locked.seq, &locked.writes)
	})
	err = conn.SendBatch(ctx, &batch).Close()
	return locked, s.fail(err)
}

// connect makes a connection on which what is committed is durable, whatever
// the server's default is.
func (s *Store) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return nil, s.fail(err)
	}
	_, err = conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	if err != nil {
		return nil, errors.Join(s.fail(err), conn.Close(ctx))
	}
	return conn, nil
}

// LastSeq implements [store.Reader].
func (s *session) LastSeq() (int64, error) { return s.head.seq, nil }

// Commit implements [store.Session]. All statements and the commit are one
// exchange with the server. Each statement's error comes before the commit is
// tried; an error of another kind may have lost only the answer.
func (s *session) Commit(c store.Changes) error {
	w := &write{session: s}
	w.all(c)
	if w.err != nil {
		return errors.Join(w.err, s.Rollback())
	}
	answer := ""
	w.batch.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		answer = tag.String()
		return nil
	})
	err := s.conn.SendBatch(s.ctx, &w.batch).Close()
	var refused *pgconn.PgError
	switch {
	case answer == "" && errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR":
		return errors.Join(s.store.fail(err), s.Rollback())
	case err == nil && answer != "COMMIT":
		err = fmt.Errorf("the server answered %s", answer)
	}
	if err != nil {
		return &store.CommitError{Err: s.end(err)}
	}
	s.Seen.Applied(c)
	s.store.writes++
	return s.end(nil)
}

// Rollback implements [store.Session].
func (s *session) Rollback() error {
	_, err := s.conn.Exec(s.ctx, "ROLLBACK")
	return s.end(err)
}

// end makes room for the next session. After an error that one gets another
// connection, and remembers nothing: closing this one ends its transaction.
func (s *session) end(err error) error {
	defer func() { <-s.store.open }()
	s.cancel()
	if err != nil {
		s.store.seen = nil
		_ = s.store.hangUp()
		return s.store.fail(err)
	}
	s.store.seen.EndSession()
	return nil
}
