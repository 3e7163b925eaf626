package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"hash/fnv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// line is the connection that all sessions use.
type line struct {
	store *Store
	conn  *pgx.Conn // nil if it must be opened
	last  *flight   // the last session that was sent, or nil
}

// land waits until all sent sessions are answered.
func (l *line) land() {
	if l.last != nil {
		_ = l.last.land() // its sender gets the error
		l.last = nil
	}
}

// turn returns the key of the advisory lock for which sessions queue. They take it
// before the row of last_event, because row locks are not fair: a waiting session could
// be overtaken again and again.
func (s *Store) turn() (class, turn int32) {
	h := fnv.New32()
	_, _ = h.Write([]byte(s.schema))
	return migrationLock, int32(h.Sum32())
}

// lock begins a transaction and locks the row of last_event. If the connection has
// broken since its last use, lock opens a new one.
func (l *line) lock(ctx context.Context) (head, error) {
	if l.conn != nil {
		locked, err := l.lockOnce(ctx)
		if err == nil {
			return locked, nil
		}
		broken := l.conn.IsClosed()
		if _ = l.hangUp(); !broken {
			return head{}, err
		}
	}
	if err := l.connect(ctx); err != nil {
		return head{}, err
	}
	locked, err := l.lockOnce(ctx)
	if err != nil {
		_ = l.hangUp()
	}
	return locked, err
}

func (l *line) lockOnce(ctx context.Context) (locked head, err error) {
	var batch pgx.Batch
	class, turn := l.store.turn()
	batch.Queue("BEGIN")
	batch.Queue("SELECT pg_advisory_xact_lock($1::int, $2::int)", class, turn)
	batch.Queue("SELECT seq, writes FROM last_event FOR UPDATE").QueryRow(func(row pgx.Row) error {
		return row.Scan(&locked.seq, &locked.stamp)
	})
	err = l.conn.SendBatch(ctx, &batch).Close()
	return locked, l.store.fail(err)
}

// connect opens a connection. It makes sure that commits are durable, even if the
// server's default is different.
func (l *line) connect(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.store.config.Copy())
	if err != nil {
		return l.store.fail(err)
	}
	_, err = conn.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
	if err != nil {
		return errors.Join(l.store.fail(err), conn.Close(ctx))
	}
	for _, s := range statements() {
		if _, err := conn.Prepare(ctx, s.name, s.query); err != nil {
			return errors.Join(l.store.fail(err), conn.Close(ctx))
		}
	}
	l.conn = conn
	return nil
}

// quiet reports whether the server has sent nothing unexpected, such as a notice that
// it closes the connection. If it has, a message that is sent now might be lost, with
// no way to find out whether it was.
func (l *line) quiet() bool {
	if l.last != nil && !l.last.landed.Load() {
		return true
	}
	if l.conn == nil || l.conn.IsClosed() {
		return false
	}
	conn := l.conn.PgConn().Conn()
	if secret, ok := conn.(*tls.Conn); ok {
		conn = secret.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		var b [1]byte
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		quiet = errors.Is(err, syscall.EAGAIN)
	})
	return quiet && err == nil
}

// hangUp closes the connection, which also ends its transaction.
func (l *line) hangUp() error {
	if l.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := l.conn.Close(ctx)
	l.conn = nil
	return err
}
