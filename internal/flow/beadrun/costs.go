package beadrun

import (
	"context"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
)

// Costs reads the costs of all attempts of the project from the store. It returns a function that
// looks up the cost of one attempt at a bead. known is false if gaffer did not run that attempt, or
// if the agent reported no cost.
func (b *Beads) Costs(ctx context.Context) (func(bead string, attempt int) (usd float64, known bool), error) {
	spent := map[string]int64{} // cost in millionths of a US dollar, by the attempt's name (attemptName)
	err := b.opts.Store.Read(ctx, func(r store.Reader) error {
		runs, err := b.opts.Runs(r, true)
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
				if err := addCosts(r, t, spent); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return func(bead string, attempt int) (float64, bool) {
		micro, known := spent[attemptName(bead, attempt)]
		return float64(micro) / 1e6, known
	}, err
}

func addCosts(r store.Reader, t store.Task, spent map[string]int64) error {
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return err
	}
	bead, earlier := recorder.BeadName(t, spec)
	attempts, err := r.Attempts(t.TaskKey)
	for _, a := range attempts {
		if a.Spent.MicroUSD > 0 {
			spent[attemptName(bead, earlier+a.Number)] = a.Spent.MicroUSD
		}
	}
	return err
}
