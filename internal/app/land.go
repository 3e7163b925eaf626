package app

import (
	"context"
	"fmt"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
)

// landRun merges the changes of a run whose plan says so, and reports what became of
// each.
func (a *App) landRun(ctx context.Context, run store.Run) error {
	results, err := a.Landing.WithProgress(a.opts.Notice).Auto(ctx, run.ID)
	for _, m := range results {
		switch m.State {
		case fleet.MergeDone:
			a.opts.Notice(fmt.Sprintf("%s: merged into %s as %.9s", m.Task, m.Into, m.Landing.After))
		case fleet.MergeSent:
			a.opts.Notice(fmt.Sprintf("%s: not merged into %s yet: %s; its agent works on it", m.Task, m.Into, m.Why))
		case fleet.MergeConflict, fleet.MergeFailed, fleet.MergeBlocked, fleet.MergeSkipped:
			a.opts.Notice(fmt.Sprintf("%s: not merged into %s: %s; 'gaffer merge %s/%s' says what to do", m.Task, m.Into, m.Why, m.Run, m.Task))
		}
	}
	return err
}
