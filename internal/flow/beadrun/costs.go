package beadrun

import (
	"context"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
)

// Costs returns a function that looks up the cost of an attempt in the project's ledger. The cost
// is known if gaffer ran the attempt and its agent reported a cost.
func (b *Beads) Costs(ctx context.Context) (func(bead string, attempt int) (usd float64, known bool), error) {
	spent := map[string]int64{} // cost in millionths of a US dollar, by attempt
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
