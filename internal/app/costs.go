package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// AttemptCosts returns a function that looks up the cost of an attempt at a bead, which is a work
// item of the ledger protocol. The cost is known only if gaffer ran the attempt and its agent
// reported a cost. If there is no database, no cost is known.
func AttemptCosts(ctx context.Context, opts Options) (func(bead string, attempt int) (usd float64, known bool), error) {
	unknown := func(string, int) (float64, bool) { return 0, false }
	database, _, err := databaseOf(opts)
	if err != nil {
		return unknown, err
	}
	if _, err := os.Stat(database); !strings.Contains(database, "://") && errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	a, err := Open(ctx, opts)
	if err != nil {
		return unknown, err
	}
	costs, err := a.Beads.Costs(ctx)
	if closed := a.Close(); err == nil {
		err = closed
	}
	return costs, err
}
