package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"gaffer/bench/delay"
	"gaffer/internal/engine/store/postgres/pgtest"
)

// databases creates an empty database for each measurement.
type databases struct {
	dir    string
	server *pgtest.Server // nil if no contender needs PostgreSQL
	url    string         // URL of server, or of the delay proxy in front of it
	made   int            // number of databases created so far on server
	gaffer struct {
		keys     bool // give each request an idempotency key
		apart    bool // claim and finish a task in two separate requests
		parallel int  // maximum number of running tasks per plan; 0 means no limit
	}
}

// folder creates an empty folder for a database and returns its path.
func (p *databases) folder() (string, error) { return os.MkdirTemp(p.dir, "db-") }

// postgres starts the PostgreSQL server, with a proxy in front of it if latency is above 0. The
// server ends with this process, even if the process is killed.
func (p *databases) postgres(ctx context.Context, latency time.Duration) (err error) {
	if p.server, err = pgtest.Start(); err != nil {
		return err
	}
	p.url = p.server.URL
	if latency > 0 {
		p.url, err = delay.Start(ctx, p.server.URL, latency)
	}
	return err
}

func (p *databases) stop() error {
	if p.server == nil {
		return nil
	}
	return p.server.Stop()
}

// database creates an empty database on the server and returns its URL. It first drops earlier
// databases to which nothing is connected, because PostgreSQL might vacuum them during the next
// measurement.
func (p *databases) database(ctx context.Context) (string, error) {
	address, err := url.Parse(p.url)
	if err != nil {
		return "", err
	}
	c, err := pgx.Connect(ctx, p.server.URL)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(ctx) }()
	if err := dropIdle(ctx, c); err != nil {
		return "", err
	}
	p.made++
	name := fmt.Sprintf("bench%d", p.made)
	if _, err := c.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	address.Path = "/" + name
	return address.String(), nil
}

func dropIdle(ctx context.Context, c *pgx.Conn) error {
	rows, err := c.Query(ctx, `SELECT datname FROM pg_database d WHERE datname LIKE 'bench%'
		AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid AND backend_type = 'client backend')`)
	if err != nil {
		return err
	}
	idle, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range idle {
		_, dropped := c.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		err = errors.Join(err, dropped)
	}
	return err
}

// pool creates an empty database and returns a connection pool for it. The pool has one connection
// for each client, and up to four more for background work of the measured program.
func (p *databases) pool(ctx context.Context, clients int) (*pgxpool.Pool, error) {
	address, err := p.database(ctx)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(clients + 4)
	config.MinConns = int32(clients)
	config.MaxConnIdleTime = time.Hour
	return pgxpool.NewWithConfig(ctx, config)
}
