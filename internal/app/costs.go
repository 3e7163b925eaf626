package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
)

// Costs returns a function that looks up the cost of an attempt in this project's
// ledger. It knows attempts that gaffer ran and whose agents reported a cost. If there
// is no database it knows none; it does not create one.
func Costs(ctx context.Context, opts Options) (func(bead string, attempt int) (usd float64, known bool), error) {
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
	spent, err := a.spent(ctx)
	if closed := a.Close(); err == nil {
		err = closed
	}
	return func(bead string, attempt int) (float64, bool) {
		micro, known := spent[attemptName(bead, attempt)]
		return float64(micro) / 1e6, known
	}, err
}

// spent returns the costs of this project's attempts, in millionths of a US dollar.
func (a *App) spent(ctx context.Context) (map[string]int64, error) {
	spent := map[string]int64{}
	err := a.store.Read(ctx, func(r store.Reader) error {
		runs, err := a.runs(r, true)
		if err != nil {
			return err
		}
		for _, run := range runs {
			if run.Spent.MicroUSD == 0 {
				continue
			}
			tasks, err := r.Tasks(run.ID)
			if err != nil {
				return err
			}
			for _, t := range tasks {
				if err := spentOn(r, t, spent); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return spent, err
}

func spentOn(r store.Reader, t store.Task, spent map[string]int64) error {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return err
	}
	bead, earlier := recorder.Bead(t, spec)
	attempts, err := r.Attempts(t.TaskKey)
	for _, a := range attempts {
		if a.Spent.MicroUSD > 0 {
			spent[attemptName(bead, earlier+a.Number)] = a.Spent.MicroUSD
		}
	}
	return err
}
