package postgres

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel returns the name of the PostgreSQL NOTIFY channel. Each commit that adds events sends a
// notification on this channel, with the sequence number of the last event.
func (s *Store) channel() string { return s.schema + ".event" }

// listener receives the notifications that commits send, so that readers that wait for new events
// soon see the events of other processes. Notifications can get lost, so waiting readers also poll
// the database.
type listener struct {
	config   *pgx.ConnConfig
	channel  string
	onCommit func(lastSeq int64)
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

func listen(config *pgx.ConnConfig, channel string, heard func(int64)) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &listener{config: config, channel: channel, onCommit: heard, cancel: cancel}
	l.done.Go(func() { l.run(ctx) })
	return l
}

// run receives notifications until ctx ends. When the connection breaks, run waits and connects
// again. The wait is one second at first and doubles each time, up to a minute. If a connection has
// lasted longer than a minute, the wait after it is one second again.
func (l *listener) run(ctx context.Context) {
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, time.Minute) {
		began := time.Now()
		l.listen(ctx)
		if time.Since(began) > time.Minute {
			pause = time.Second
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// listen opens a connection and receives notifications until the connection breaks. It also returns
// if the connection cannot be opened.
func (l *listener) listen(ctx context.Context) {
	conn, err := pgx.ConnectConfig(ctx, l.config.Copy())
	if err != nil {
		return
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{l.channel}.Sanitize()); err != nil {
		return
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if last, err := strconv.ParseInt(n.Payload, 10, 64); err == nil {
			l.onCommit(last)
		}
	}
}

func (l *listener) stop() {
	l.cancel()
	l.done.Wait()
}
