package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"

	"gaffer/internal/engine/store"
)

// schemas contains the migrations: schema/N.sql migrates the schema from version N-1 to version N.
// A migration must not be changed after it was released.
//
//go:embed schema/*.sql
var schemas embed.FS

// migrationLock is the key of the advisory lock that a process holds while it migrates the schema.
// It is also the first part of the two-part key of another lock (see [Store.queueKey]). The value
// is "gaff" in ASCII.
const migrationLock = 0x67616666

// migrate migrates the schema to the version of this program. Several processes may call it at the
// same time.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := readMigrations(schemas)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return s.fail(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := conn.SendBatch(ctx, s.settings.begin("BEGIN")).Close(); err != nil {
		return s.fail(err)
	}
	version, err := s.version(ctx, conn)
	if err != nil {
		return s.fail(err)
	}
	if version > len(steps) {
		return &store.NewerError{Database: s.name, Found: version, Known: len(steps)}
	}
	for i, step := range steps[version:] {
		if _, err := conn.PgConn().Exec(ctx, step).ReadAll(); err != nil {
			return s.fail(fmt.Errorf("schema version %d: %w", version+i+1, err))
		}
	}
	if version < len(steps) {
		if _, err := conn.Exec(ctx, "UPDATE schema_version SET version = $1", len(steps)); err != nil {
			return s.fail(err)
		}
	}
	_, err = conn.Exec(ctx, "COMMIT")
	return s.fail(err)
}

// version returns the version of the schema in the database. If the table schema_version does not
// exist, version creates the schema with this table and returns 0. First it takes the advisory lock
// migrationLock, which conn's transaction holds until it ends.
func (s *Store) version(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
		return 0, err
	}
	var there bool
	err = conn.QueryRow(ctx, "SELECT to_regclass('schema_version') IS NOT NULL").Scan(&there)
	if err == nil && !there {
		err = s.createSchema(ctx, conn)
	}
	if err != nil {
		return 0, err
	}
	err = conn.QueryRow(ctx, "SELECT version FROM schema_version").Scan(&version)
	return version, err
}

// createSchema creates the table schema_version, and the schema if it does not exist. It does not
// run CREATE SCHEMA IF NOT EXISTS, because this fails if the database role may not create schemas,
// even if the schema exists.
func (s *Store) createSchema(ctx context.Context, conn *pgx.Conn) error {
	var there bool
	err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", s.schema).Scan(&there)
	if err == nil && !there {
		_, err = conn.Exec(ctx, "CREATE SCHEMA "+pgx.Identifier{s.schema}.Sanitize())
	}
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "CREATE TABLE schema_version (version INTEGER NOT NULL)")
	if err == nil {
		_, err = conn.Exec(ctx, "INSERT INTO schema_version VALUES (0)")
	}
	return err
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
