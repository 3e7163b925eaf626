package landing

import (
	"context"
	"errors"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/merge"
	"gaffer/internal/engine/store"
)

// overviewTime is the time limit for predicting the merges of a run's changes. Changes whose merge
// was not predicted by then are counted as unknown.
var overviewTime = 10 * time.Second

// Overview counts the changes of a run by what the user can do next. It changes no file and no
// branch. After overviewTime it predicts no more merges, so that a call for a run with many tasks
// does not take long.
func (l *Lander) Overview(ctx context.Context, run string) (fleet.Changes, error) {
	sum := fleet.Changes{Run: run}
	list, err := l.changes(ctx, run)
	if none := (*NoChangeError)(nil); errors.As(err, &none) {
		return sum, nil
	}
	if far := (*ElsewhereError)(nil); errors.As(err, &far) {
		sum.Elsewhere = true
		return sum, nil
	}
	if err != nil {
		return sum, err
	}
	limited, stop := context.WithTimeout(ctx, overviewTime)
	defer stop()
	first := func(c *change) {
		if sum.First == "" {
			sum.First = c.task.Task
		}
	}
	for i, c := range list {
		if i == 0 {
			sum.Into = c.into
		} else if sum.Into != c.into {
			sum.Into = ""
		}
	}
	for _, c := range list {
		tip, err := c.repo.Tip(ctx, c.tree.Branch)
		if err != nil {
			return sum, err
		}
		// unchanged means that the branch does not exist, or that neither the agent nor gaffer has
		// added a commit to it.
		unchanged := tip == "" || tip == c.tree.Base.Commit
		switch {
		case c.review.State == fleet.ReviewMerged:
			sum.Merged++
		case c.review.State == fleet.ReviewDiscarded:
			sum.Discarded++
		case unchanged:
			continue
		case c.review.State == fleet.ReviewSentBack: // the agent works on it
			sum.SentBack++
		case c.task.Status != store.Complete && !c.task.Status.Final():
			continue
		case c.review.State == fleet.ReviewCommented:
			sum.Commented++
			first(c)
		case c.task.Status != store.Complete:
			continue
		case limited.Err() != nil || c.into == "":
			sum.Unknown++
		default:
			found, err := merge.Preview(limited, c.repo, run, c.into, []string{c.tree.Branch})
			switch {
			case limited.Err() != nil && ctx.Err() == nil:
				sum.Unknown++
			case err != nil:
				return sum, err
			case found[0].Merged: // for example, the user has merged the branch with git
				sum.Merged++
			case len(found[0].Conflicts) > 0:
				sum.Conflicts++
				first(c)
			default:
				sum.Ready++
				if c.lands {
					sum.Unlanded++
				}
				if c.review.State == fleet.ReviewApproved {
					sum.Approved++
				}
				first(c)
			}
		}
		sum.Total++
	}
	return sum, nil
}
