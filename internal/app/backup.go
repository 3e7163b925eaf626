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

// DatabaseCopy describes a finished backup or restore of the database.
type DatabaseCopy struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Version int    `json:"schema_version"`
	Last    int64  `json:"last_event"`
	// Before is the path to which a restore has moved the previous database file. It is empty if
	// there was no such file, and after a backup.
	Before string `json:"before,omitempty"`
}

// DatabaseServerError reports that gaffer cannot back up or restore the database, because the
// database is on a PostgreSQL server. The user must use PostgreSQL's own programs instead.
type DatabaseServerError struct {
	Doing string   // what gaffer cannot do, for example "back up"
	Argv  []string // command line that the user can run instead, without a password
}

func (e *DatabaseServerError) Error() string {
	return fmt.Sprintf("the database is PostgreSQL's, which has a program of its own to %s it", e.Doing)
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *DatabaseServerError) Usage() bool { return true }

// Backup copies the database to a file while runs continue. It replaces an existing file only if
// force is true. It calls progress repeatedly with the number of bytes written and the total number
// of bytes.
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

// Restore replaces the database with a backup. It returns an error if a process has the database
// open. It keeps the old database file under another name. If agents are running on this machine,
// Restore prints a notice and continues.
func Restore(ctx context.Context, opts Options, file string, progress func(done, total int64)) (DatabaseCopy, error) {
	database, err := databaseFile(opts, "restore", func(url, _ string) []string {
		return []string{"pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname=" + url, file}
	})
	if err != nil {
		return DatabaseCopy{}, err
	}
	running, err := supervisor.ListMarked()
	if err != nil {
		return DatabaseCopy{}, err
	}
	if n := len(running); n > 0 {
		opts.Notice(fmt.Sprintf("processes of agents that run: %d; the backup does not know those that began after it, so end them first if they are this database's", n))
	}
	r, err := sqlite.Restore(ctx, file, database, opts.Now(), progress)
	return DatabaseCopy{File: r.Path, Bytes: r.Bytes, Version: r.Version, Last: r.Last, Before: r.Before}, err
}

// databaseFile returns the path of the database's file. If the database is on a server, it returns
// a [*DatabaseServerError] instead. This error contains the command line that the function
// alternative returns.
func databaseFile(opts Options, doing string, alternative func(url, schema string) []string) (string, error) {
	database, _, err := databaseOf(opts)
	if err != nil {
		return "", err
	}
	if strings.Contains(database, "://") {
		return "", &DatabaseServerError{doing, alternative(plainURL(database))}
	}
	return database, nil
}

// plainURL returns a database URL without its password, and the name of the schema with gaffer's
// tables.
func plainURL(address string) (plain, schema string) {
	u, err := url.Parse(address)
	if err != nil {
		// Show no part of a URL that cannot be parsed: any part may contain the password.
		return "postgres://…", defaultSchema
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	schema = cmp.Or(query.Get("search_path"), defaultSchema)
	for name := range query {
		if !slices.Contains([]string{"host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey"}, name) {
			query.Del(name) // the parameter may be a setting of gaffer or a secret
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), schema
}

// defaultSchema is the schema of gaffer's tables if the URL does not name one.
const defaultSchema = "gaffer"
