package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/record"
)

// QuickRead reads an existing database as fast as possible, for a shell prompt. It changes nothing
// and does not wait for other processes. It fails if SQLite must recover the database first, or if
// the schema does not have the version of this program. The function read gets a [QuickReader].
func QuickRead(ctx context.Context, path string, read func(r store.Reader) error) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() < smallestFile:
		return &DamagedError{path, errTooSmall}
	}
	db, err := sql.Open("sqlite", quickReadDSN(path))
	if err != nil {
		return err
	}
	c, err := connect(ctx, db, path)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(readSnapshot(c, read), c.close(), db.Close())
}

// quickReadDSN returns the data source name for reading the database at path without waiting for
// locks.
func quickReadDSN(path string) string {
	query := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(0)", "query_only(1)"}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String()
}

func readSnapshot(c *conn, look func(r store.Reader) error) error {
	steps, err := readMigrations(schemas)
	if err != nil {
		return err
	}
	version, err := c.version()
	if err != nil {
		return err
	}
	if version != len(steps) {
		return fmt.Errorf("database %s has schema version %d, want %d", c.path, version, len(steps))
	}
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	return errors.Join(look(QuickReader{&reader{c: c, plans: new(store.PlanCache)}}), c.exec("ROLLBACK"))
}

// QuickReader is a [store.Reader] with two more queries, which return only the latest runs or
// attempts.
type QuickReader struct{ *reader }

// RunsSince returns the running runs, and the runs that were created at the time start or later, in
// no particular order. Their plans are left out.
func (g QuickReader) RunsSince(start time.Time) ([]store.Run, error) {
	return listRows[store.Run](g.c, `SELECT data FROM run WHERE created >= ?
		UNION ALL SELECT data FROM run WHERE status = 'running' AND created < ?`, record.Nanos(start), record.Nanos(start))
}

// AttemptsSince returns those attempts of a run that started at the time start or later.
func (g QuickReader) AttemptsSince(run string, start time.Time) ([]store.Attempt, error) {
	return listRows[store.Attempt](g.c, "SELECT data FROM attempt WHERE run = ? AND started >= ?", run, record.Nanos(start))
}
