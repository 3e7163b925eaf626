// Package sqlite implements a store in a SQLite file. It is the default store. Several processes
// may use the same file at once. The file must not be on a network file system.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gaffer/internal/engine/store"
)

// Store is a store in a SQLite file.
type Store struct {
	path   string
	writer store.Writer
	signal store.EventSignal
	plans  store.PlanCache
	queue  queueHandle
	// file describes the file that was at path when the database was opened. If another file is at
	// path now, the database was replaced.
	file os.FileInfo

	open   chan struct{} // semaphore of size 1, held by the open write transaction of this process
	db     *sql.DB
	write  *conn // connection for write transactions; guarded by open
	closed bool  // guarded by open

	reads *pool
}

var _ store.Store = (*Store)(nil)

// pollEvery is how often a waiting reader looks for events of other processes.
const pollEvery = 250 * time.Millisecond

// Open opens the database in the file at path and migrates its schema to the version of this
// program. It creates the file and its folder if they do not exist.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	s := &Store{path: path, open: make(chan struct{}, 1), queue: queueHandle{writerQueue: queueOf(path)}}
	s.writer.Open, s.writer.Committed = s.begin, s.signal.Announce
	err = s.connect(ctx)
	// Open the database again if another process has replaced its file by a backup in the meantime.
	for try := 1; isGone(err) && try < maxTries; try++ {
		if err = s.disconnect(); err == nil {
			err = s.connect(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// maxTries is how many times, at most, Open tries to open the database. Open tries again if another
// process has replaced the file in the meantime.
const maxTries = 10

func (s *Store) connect(ctx context.Context) (err error) {
	if err := makeFile(s.path); err != nil {
		return fmt.Errorf("open database %s: %w", s.path, err)
	}
	if s.file, err = os.Stat(s.path); err != nil {
		return err
	}
	s.db, err = sql.Open("sqlite", dsn(s.path))
	if err != nil {
		return err
	}
	s.db.SetMaxOpenConns(1)
	if s.write, err = connect(ctx, s.db, s.path); err != nil {
		return err
	}
	if err := s.prepareFile(ctx); err != nil {
		return err
	}
	s.reads, err = newPool(s.path)
	return err
}

// checkFileUnchanged returns a [*GoneError] if the file at s.path is not the file that the store
// has opened.
func (s *Store) checkFileUnchanged() error {
	switch now, err := os.Stat(s.path); {
	case err == nil && os.SameFile(now, s.file):
		return nil
	case err == nil || errors.Is(err, fs.ErrNotExist):
		return &GoneError{s.path}
	default:
		return err
	}
}

func isGone(err error) bool {
	_, gone := errors.AsType[*GoneError](err)
	return gone
}

// disconnect closes the connection for write transactions.
func (s *Store) disconnect() error {
	var errs []error
	if s.write != nil {
		errs = append(errs, s.write.close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	s.write, s.db = nil, nil
	return errors.Join(errs...)
}

// smallestFile is the size of the smallest possible database: one page of SQLite's
// smallest page size.
const smallestFile = 512

var errTooSmall = errors.New("it is too small")

// makeFile creates an empty file that only its owner may read, if there is no file at path. It
// returns a [*DamagedError] if the existing file is too small for a database. It does not open an
// existing file, because it would then have to close the file, and this would release the locks
// that other connections of this process hold on the file.
func makeFile(path string) error {
	info, err := os.Stat(path)
	if err == nil && info.Size() > 0 && info.Size() < smallestFile {
		return &DamagedError{path, errTooSmall} // SQLite would treat the file as empty and overwrite it
	}
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	empty, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(empty.Name()) }()
	if err := empty.Close(); err != nil {
		return err
	}
	if err := os.Link(empty.Name(), path); !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// Write implements [store.Store].
func (s *Store) Write(ctx context.Context, change func(tx *store.Tx) error) error {
	return s.writer.Write(ctx, change)
}

// Read implements [store.Store].
func (s *Store) Read(ctx context.Context, look func(r store.Reader) error) error {
	c, err := s.reads.take(ctx)
	if err != nil {
		return err
	}
	err = c.exec("BEGIN")
	if err == nil {
		err = errors.Join(look(s.newReader(c)), c.exec("ROLLBACK"))
	}
	s.reads.giveBack(c)
	return err
}

// TuneForServer changes settings of the connection for write transactions, for a server with many
// clients. It sets a larger page cache. It also makes commits copy the write-ahead log into the
// file more often, so that each copy takes less time.
func (s *Store) TuneForServer() {
	s.open <- struct{}{}
	defer func() { <-s.open }()
	if s.write != nil {
		_, _ = s.write.ExecContext(context.Background(), "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 1000") // if this fails, the store is only slower
	}
}

func (s *Store) newReader(c *conn) *reader { return &reader{c: c, plans: &s.plans} }

// Wait implements [store.Store].
func (s *Store) Wait(ctx context.Context, after int64) error {
	return s.signal.Wait(ctx, after, pollEvery, s.lastSeq)
}

// lastSeq returns the sequence number of the last event. If the database file was replaced, it
// returns a [*GoneError], so that waiting readers notice this.
func (s *Store) lastSeq(ctx context.Context) (int64, error) {
	if err := s.checkFileUnchanged(); err != nil {
		return 0, err
	}
	c, err := s.reads.take(ctx)
	if err != nil {
		return 0, err
	}
	defer s.reads.giveBack(c)
	return s.newReader(c).LastSeq()
}

var errClosed = errors.New("the store is closed")

// Close implements [store.Store].
func (s *Store) Close() error {
	s.open <- struct{}{}
	defer func() { <-s.open }()
	if s.closed {
		return nil
	}
	s.closed = true
	s.queue.close()
	var err error
	if s.reads != nil {
		err = s.reads.close()
	}
	return errors.Join(err, s.disconnect())
}
