package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/lookout"
	"gaffer/internal/store"
	"gaffer/internal/store/sqlite"
)

// Glance says in a few numbers what runs in this project, or in all. A database
// in a file is only looked at: none is made, nothing in it is changed, and no
// other process is waited for.
func Glance(ctx context.Context, opts Options, everywhere bool) (g fleet.Glance, err error) {
	database, _, err := databaseOf(opts)
	if err != nil {
		return g, err
	}
	project := opts.Project.Root
	if everywhere {
		project = ""
	}
	look := func(r store.Reader) error {
		g, err = lookout.Glance(r, project, opts.Now())
		return err
	}
	if !strings.Contains(database, "://") {
		if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
			return g, nil
		}
		return g, sqlite.Look(ctx, database, look)
	}
	a, err := Open(ctx, opts)
	if err != nil {
		return g, err
	}
	return g, errors.Join(a.store.Read(ctx, look), a.Close())
}
