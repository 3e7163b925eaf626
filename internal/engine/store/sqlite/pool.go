package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// pool holds the read-only connections. A transaction on one of them sees the database as it was at
// the transaction's first query. It neither waits for a writer nor makes a writer wait.
type pool struct {
	path string
	db   *sql.DB
	used chan struct{} // semaphore with one entry for each connection in use

	mu     sync.Mutex
	free   []*conn
	closed bool
}

const maxReaders = 8

func newPool(path string) (*pool, error) {
	db, err := sql.Open("sqlite", dsn(path, "query_only(1)"))
	if err != nil {
		return nil, err
	}
	return &pool{path: path, db: db, used: make(chan struct{}, maxReaders)}, nil
}

// take returns the free connection that was used last, because its cache is warm. If no connection
// is free, it returns a new one. While maxReaders connections are in use, take waits. The caller
// must return the connection with giveBack.
func (p *pool) take(ctx context.Context) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case p.used <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, err := p.last()
	if c == nil && err == nil {
		c, err = connect(ctx, p.db, p.path)
	}
	if err != nil {
		<-p.used
	}
	return c, err
}

func (p *pool) last() (*conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if len(p.free) == 0 {
		return nil, nil
	}
	c := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return c, nil
}

func (p *pool) giveBack(c *conn) {
	p.mu.Lock()
	p.free = append(p.free, c)
	p.mu.Unlock()
	<-p.used
}

// close waits until all connections were returned to the pool, and then closes them.
func (p *pool) close() error {
	for range maxReaders {
		p.used <- struct{}{}
	}
	p.mu.Lock()
	p.closed = true
	free := p.free
	p.mu.Unlock()
	for range maxReaders {
		<-p.used
	}
	var errs []error
	for _, c := range free {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}
