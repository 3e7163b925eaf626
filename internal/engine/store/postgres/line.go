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

// line is the connection on which sessions are made.
type line struct {
	store *Store
	conn  *pgx.Conn // nil if it is to be made
	last  *flight   // the last session that was sent; nil if none was
}

// land waits until all that was sent is answered.
func (l *line) land() {
	if l.last != nil {
		_ = l.last.land() // told to those who sent it
		l.last = nil
	}
}

// turn names the lock for which sessions wait in line. It is taken before the
// row of last_event: whoever waits for a row alone may be passed by one who comes
// later, again and again.
func (s *Store) turn() (class, turn int32) {
	h := fnv.New32()
	_, _ = h.Write([]byte(s.schema))
	return migrationLock, int32(h.Sum32())
}

// lock begins a transaction and takes the row that all wait for. A connection
// that has broken since it was last used is made again.
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

// connect makes a connection. What is committed on it is durable, whatever the
// server's default is.
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

// quiet reports whether the server has said nothing unasked, such as that it
// closes the connection. What is sent then may be lost on its way, and nobody
// would know whether it was.
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

// hangUp ends the connection, and with it the transaction that it is in.
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
