package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

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
	last   int64
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
	last, err := s.lock()
	if err != nil {
		<-s.open
		return nil, err
	}
	session := &session{store: s, conn: s.write, last: last}
	session.ctx, session.cancel = context.WithTimeout(context.Background(), maxStatement)
	session.forget()
	return session, nil
}

// lock begins a transaction and takes the row that all wait for. A connection
// that has broken since it was last used is made again.
func (s *Store) lock() (int64, error) {
	if s.closed {
		return 0, errClosed
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxStatement)
	defer cancel()
	if s.write != nil {
		last, err := s.lockOn(ctx, s.write)
		if err == nil {
			return last, nil
		}
		broken := s.write.IsClosed()
		if _ = s.hangUp(); !broken {
			return 0, err
		}
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return 0, err
	}
	s.write = conn
	last, err := s.lockOn(ctx, conn)
	if err != nil {
		_ = s.hangUp()
	}
	return last, err
}

func (s *Store) lockOn(ctx context.Context, conn *pgx.Conn) (last int64, err error) {
	var batch pgx.Batch
	batch.Queue("BEGIN")
	batch.Queue("SELECT seq FROM last_event FOR UPDATE").QueryRow(func(row pgx.Row) error { return row.Scan(&last) })
	err = conn.SendBatch(ctx, &batch).Close()
	return last, s.fail(err)
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

// forget begins to look again.
func (s *session) forget() {
	s.stored = s.store.newReader(s.ctx, s.conn)
	s.Reader = memo.Reader{Reader: s.stored}
}

// LastSeq implements [store.Reader].
func (s *session) LastSeq() (int64, error) { return s.last, nil }

// Commit implements [store.Session].
func (s *session) Commit() error {
	tag, err := s.conn.Exec(s.ctx, "COMMIT")
	if err == nil && tag.String() != "COMMIT" {
		err = fmt.Errorf("the server answered %s", tag)
	}
	return s.end(err)
}

// Rollback implements [store.Session].
func (s *session) Rollback() error {
	_, err := s.conn.Exec(s.ctx, "ROLLBACK")
	return s.end(err)
}

// end makes room for the next session. After an error that one gets another
// connection: closing this one ends its transaction.
func (s *session) end(err error) error {
	defer func() { <-s.store.open }()
	s.cancel()
	if err != nil {
		_ = s.store.hangUp()
	}
	return s.store.fail(err)
}
