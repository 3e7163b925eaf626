package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"gaffer/internal/engine/store"
)

// flight is a session that was sent. Several flights may be in progress on one
// connection: the server executes them one after the other and answers in that order.
type flight struct {
	session *session
	conn    *pgconn.PgConn
	before  *flight // the previous flight, whose answer comes first; nil once it has arrived
	land    func() error
	landed  atomic.Bool
}

// send sends a session including its commit, and returns a function that waits for the
// answer. A session without an open transaction begins one with its first statement. It
// is committed at the end of the message, unless one of its statements fails.
func (l *line) send(s *session, w *write) (answer func() error) {
	w.sync()
	if s.locked {
		w.statement(commit) // the server rolls back instead if a statement failed
		w.run()
		w.sync()
	}
	f := &flight{session: s, conn: l.conn.PgConn(), before: l.last}
	sent := w.message.err
	if sent == nil {
		sent = f.write(w.b)
	}
	if cap(w.b) <= maxRoom {
		l.store.message = w.b
	}
	f.land = sync.OnceValue(func() error { return f.wait(sent) })
	l.last = f
	return f.land
}

// maxRoom is the maximum size of the message buffer that is kept for reuse.
const maxRoom = 1 << 20

func (f *flight) write(message []byte) error {
	conn := f.conn.Conn()
	if err := conn.SetWriteDeadline(time.Now().Add(maxStatement)); err != nil {
		return err
	}
	_, err := conn.Write(message)
	return errors.Join(err, conn.SetWriteDeadline(time.Time{}))
}

// wait reads the answer, after that of the previous flight.
func (f *flight) wait(sent error) error {
	defer f.session.end()
	if f.before != nil {
		_ = f.before.land() // its sender gets the error
		f.before = nil
	}
	err := sent
	if err == nil {
		err = f.read()
	}
	f.landed.Store(true)
	if err == nil {
		return nil
	}
	f.session.store.doubt.Store(true)
	err = f.session.store.answer(err)
	var unknown *store.CommitError
	if errors.As(err, &unknown) {
		_ = f.conn.Conn().Close() // the next user opens a new connection
	}
	return err
}

// read reads the answers to all statements.
func (f *flight) read() error {
	conn := f.conn.Conn()
	if err := conn.SetReadDeadline(time.Now().Add(maxStatement)); err != nil {
		return err
	}
	_, err := f.part()
	if f.session.locked {
		tag, last := f.part()
		if err == nil && last == nil && tag != "COMMIT" {
			last = fmt.Errorf("the server answered %s", tag)
		}
		err = errors.Join(err, last)
	}
	return errors.Join(err, conn.SetReadDeadline(time.Time{}))
}

// part reads messages until the server is ready for the next query.
func (f *flight) part() (tag string, refused error) {
	for {
		message, err := f.conn.ReceiveMessage(context.Background())
		if err != nil {
			return tag, err
		}
		switch m := message.(type) {
		case *pgproto3.CommandComplete:
			tag = string(m.CommandTag)
		case *pgproto3.ErrorResponse:
			refused = pgconn.ErrorResponseToPgError(m)
		case *pgproto3.ReadyForQuery:
			return tag, refused
		}
	}
}

// divisionByZero is the error code by which a stale session fails; see moveHead.
const divisionByZero = "22012"

// answer converts the error of a commit. It distinguishes errors that mean that nothing
// was committed from those where only the answer may be lost, which become a
// [*store.CommitError].
func (s *Store) answer(err error) error {
	var refused *pgconn.PgError
	switch {
	case !errors.As(err, &refused) || refused.SeverityUnlocalized != "ERROR":
		return &store.CommitError{Err: s.fail(err)}
	case refused.Code == divisionByZero:
		return store.ErrStale
	}
	return s.fail(err)
}
