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

// Copy says what is in a copy of the database.
type Copy struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Version int    `json:"schema_version"`
	Last    int64  `json:"last_event"`
	Before  string `json:"before,omitempty"` // the database that was replaced, by its new name
}

// ServerError is a database that is not a file, for which its own programs are
// there.
type ServerError struct {
	Doing string   // what was asked for
	Argv  []string // the program that does it, without a password
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("the database is PostgreSQL's, which has a program of its own to %s it", e.Doing)
}

// Usage marks the error as one about what was asked for.
func (e *ServerError) Usage() bool { return true }

// Backup writes a copy of the database to a file while everything goes on. A file
// that is there is replaced only with force. tell is told now and then how many
// bytes are written of how many.
func Backup(ctx context.Context, opts Options, file string, force bool, tell func(done, total int64)) (Copy, error) {
	database, err := databaseFile(opts, "back up", func(url, schema string) []string {
		return []string{"pg_dump", "--format=custom", "--schema=" + schema, "--file=" + file, url}
	})
	if err != nil {
		return Copy{}, err
	}
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return Copy{}, &runquery.NotFoundError{What: "database", Name: database}
	}
	c, err := sqlite.Backup(ctx, database, file, force, tell)
	return Copy{File: c.Path, Bytes: c.Bytes, Version: c.Version, Last: c.Last}, err
}

// Restore puts a backup in the place of the database, which must not be in use
// and is kept beside it.
func Restore(ctx context.Context, opts Options, file string, tell func(done, total int64)) (Copy, error) {
	database, err := databaseFile(opts, "restore", func(url, _ string) []string {
		return []string{"pg_restore", "--clean", "--if-exists", "--single-transaction", "--dbname=" + url, file}
	})
	if err != nil {
		return Copy{}, err
	}
	if n := len(supervisor.Living()); n > 0 {
		opts.Notice(fmt.Sprintf("processes of agents that run: %d; the backup does not know those that began after it, so end them first if they are this database's", n))
	}
	r, err := sqlite.Restore(ctx, file, database, opts.Now(), tell)
	return Copy{File: r.Path, Bytes: r.Bytes, Version: r.Version, Last: r.Last, Before: r.Before}, err
}

// databaseFile returns the file of the database, or says what else to do.
func databaseFile(opts Options, doing string, instead func(url, schema string) []string) (string, error) {
	database, _, err := databaseOf(opts)
	if err != nil {
		return "", err
	}
	if strings.Contains(database, "://") {
		return "", &ServerError{doing, instead(plainURL(database))}
	}
	return database, nil
}

// plainURL is the address of a server without a password, and the schema that
// gaffer's tables are in.
func plainURL(address string) (plain, schema string) {
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://…", defaultSchema // what cannot be read may hold a password anywhere
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	schema = cmp.Or(query.Get("search_path"), defaultSchema)
	for name := range query {
		if !slices.Contains([]string{"host", "port", "user", "dbname", "sslmode", "sslrootcert", "sslcert", "sslkey"}, name) {
			query.Del(name) // ours, or secret
		}
	}
	u.RawQuery = query.Encode()
	return u.String(), schema
}

// defaultSchema is where gaffer's tables are.
const defaultSchema = "gaffer"
