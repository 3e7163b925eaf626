package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"gaffer/internal/engine/store"
)

// schemas contains the migrations: schema/N.sql migrates the schema from version N-1 to version N.
// A migration must not be changed after it was released.
//
//go:embed schema/*.sql
var schemas embed.FS

// applicationID is written into the header of the file to mark it as a database of gaffer. The
// value is "gaff" in ASCII.
const applicationID = 0x67616666

// prepareFile turns on the write-ahead log and migrates the schema to the version of this program.
// Several processes may call it at the same time.
func (s *Store) prepareFile(ctx context.Context) error {
	steps, err := readMigrations(schemas)
	if err != nil {
		return err
	}
	turn, err := s.queue.wait(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = turn.Unlock() }()
	if err := s.checkFileUnchanged(); err != nil {
		return err
	}
	version, err := s.write.version()
	if err != nil {
		return err
	}
	if version > len(steps) {
		return &store.NewerError{Database: s.path, Found: version, Known: len(steps)}
	}
	var mode string
	if err := s.write.get("PRAGMA journal_mode = wal", []any{&mode}); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("database %s: its file system has no write-ahead log (%s): use a local one", s.path, mode)
	}
	return s.write.migrate(version, steps)
}

func readMigrations(from fs.FS) ([]string, error) {
	var steps []string
	for {
		text, err := fs.ReadFile(from, fmt.Sprintf("schema/%d.sql", len(steps)+1))
		if errors.Is(err, fs.ErrNotExist) {
			return steps, nil
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, string(text))
	}
}

var errForeign = errors.New("it belongs to another program")

// version returns the version of the schema in the file, or 0 if the file is empty. It returns a
// [*DamagedError] if the file belongs to another program.
func (c *conn) version() (int, error) {
	var version, id, tables int
	err := errors.Join(
		c.get("PRAGMA user_version", []any{&version}),
		c.get("PRAGMA application_id", []any{&id}),
		c.get("SELECT count(*) FROM sqlite_schema", []any{&tables}),
	)
	if err == nil && id != applicationID && (id != 0 || version != 0 || tables != 0) {
		err = &DamagedError{c.path, errForeign}
	}
	return version, err
}

// migrate runs the migrations from the given version to the last one in steps, in one transaction.
func (c *conn) migrate(version int, steps []string) error {
	if version == len(steps) {
		return nil
	}
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for i, step := range steps[version:] {
		if _, err := c.ExecContext(context.Background(), step); err != nil {
			return errors.Join(fmt.Errorf("schema version %d: %w", version+i+1, withPath(c.path, err)), c.exec("ROLLBACK"))
		}
	}
	return errors.Join(
		c.exec(fmt.Sprintf("PRAGMA application_id = %d", applicationID)),
		c.exec(fmt.Sprintf("PRAGMA user_version = %d", len(steps))),
		c.exec("COMMIT"),
	)
}
