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

// flight is a session that was sent. Several may be under way on one connection:
// the server works on them one after the other and answers in their order.
type flight struct {
	session *session
	conn    *pgconn.PgConn
	before  *flight // answered earlier; nil when it was
	land    func() error
	landed  atomic.Bool
}

// send sends a session up to its commit, and returns how to wait for the answer.
// A session that was not begun begins with its first statement and is committed
// at the end of what is sent, unless one of its statements fails.
func (l *line) send(s *session, w *write) (answer func() error) {
	w.sync()
	if s.locked {
		w.statement(commit) // which is a rollback if a statement failed
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

// maxRoom is how much room for messages is kept.
const maxRoom = 1 << 20

func (f *flight) write(message []byte) error {
	conn := f.conn.Conn()
	if err := conn.SetWriteDeadline(time.Now().Add(maxStatement)); err != nil {
		return err
	}
	_, err := conn.Write(message)
	return errors.Join(err, conn.SetWriteDeadline(time.Time{}))
}

// wait reads the answer, after that to the flight before.
func (f *flight) wait(sent error) error {
	defer f.session.end()
	if f.before != nil {
		_ = f.before.land() // told to those who sent it
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
		_ = f.conn.Conn().Close() // whoever uses it next makes another
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

// part reads up to where the server is ready again.
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

// divisionByZero is the code of the error by which a session fails that was made
// on what is not so any more.
const divisionByZero = "22012"

// answer tells errors that say that nothing was committed from those that may
// have lost only the answer.
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
