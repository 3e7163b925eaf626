package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store/sqlite"
)

// DatabaseCopy describes a copy of the database.
type DatabaseCopy struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Version int    `json:"schema_version"`
	Last    int64  `json:"last_event"`
	Before  string `json:"before,omitempty"` // the file that the replaced database was renamed to
}

// DatabaseServerError reports that the database is a server and not a file. The database's
// own programs must back it up and restore it.
type DatabaseServerError struct {
	Doing string   // the requested action
	Argv  []string // the command to use instead, without a password
}

func (e *DatabaseServerError) Error() string {
	return fmt.Sprintf("the database is PostgreSQL's, which has a program of its own to %s it", e.Doing)
}

// Usage marks this as a usage error.
func (e *DatabaseServerError) Usage() bool { return true }

// Backup copies the database to a file while runs continue. It replaces an existing
// file only with force. It calls progress regularly with the bytes written and the total.
func Backup(ctx context.Context, opts Options, file string, force bool, progress func(done, total int64)) (DatabaseCopy, error) {
	database, err := databaseFile(opts, "back up", func(url, schema string) []string {
		return []string{"pg_dump", "--format=custom", "--schema=" + schema, "--file=" + file, url}
	})
	if err != nil {
		return DatabaseCopy{}, err
	}
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return DatabaseCopy{}, &runquery.NotFoundError{What: "database", Name: database}
	}
	c, err := sqlite.Backup(ctx, database, file, force, progress)
	return DatabaseCopy{File: c.Path, Bytes: c.Bytes, Version: c.Version, Last: c.Last}, err
}

// Restore replaces the database with a backup. The database must not be in use. Restore
// keeps the old database beside the new one under another name.
func Restore(ctx context.Context, opts Options, file string, progress func(done, total int64)) (DatabaseCopy, error) {
	database, err := databaseFile(opts, "restore", func(url, _ string) []string {
		return []string{"pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname=" + url, file}
	})
	if err != nil {
		return DatabaseCopy{}, err
	}
	if n := len(supervisor.ListMarked()); n > 0 {
		opts.Notice(fmt.Sprintf("processes of agents that run: %d; the backup does not know those that began after it, so end them first if they are this database's", n))
	}
	r, err := sqlite.Restore(ctx, file, database, opts.Now(), progress)
	return DatabaseCopy{File: r.Path, Bytes: r.Bytes, Version: r.Version, Last: r.Last, Before: r.Before}, err
}

// databaseFile returns the database's file. If the database is a server it returns a
// [*DatabaseServerError] with the command to use instead.
func databaseFile(opts Options, doing string, instead func(url, schema string) []string) (string, error) {
	database, _, err := databaseOf(opts)
	if err != nil {
		return "", err
	}
	if strings.Contains(database, "://") {
		return "", &DatabaseServerError{doing, instead(plainURL(database))}
	}
	return database, nil
}

// plainURL returns a database URL without its password, and the schema of gaffer's
// tables.
func plainURL(address string) (plain, schema string) {
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://…", defaultSchema // a URL that does not parse may contain a password anywhere
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	schema = cmp.Or(query.Get("search_path"), defaultSchema)
	for name := range query {
		if !slices.Contains([]string{"host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey"}, name) {
			query.Del(name) // a setting of gaffer, or a secret
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), schema
}

// defaultSchema is the default schema of gaffer's tables.
const defaultSchema = "gaffer"
