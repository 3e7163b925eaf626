package ledger

import "context"

// Report summarizes the run and result records of a ledger.
type Report struct {
	GeneratedAt     string           `json:"generated_at"`
	Filter          Filter           `json:"filter"`
	Statistics      Statistics       `json:"statistics"`
	Recommendations []string         `json:"recommendations"`
	Details         []Recommendation `json:"recommendation_details"`
	LeftOut         []LeftOut        `json:"left_out"`
	Unmatched       []Unmatched      `json:"unmatched"`
}

// LeftOut lists files that a report does not count, all for the same reason. If the reason is
// "no-start-time", it lists attempts instead of files, and Files contains the ids of their tasks.
type LeftOut struct {
	Reason string   `json:"reason"` // "no-start-time", or the name of a problem of the files, such as "not-json"
	Count  int      `json:"count"`
	Files  []string `json:"files"` // at most maxNamed paths or task ids
}

// maxNamed is the maximum number of files or attempts that a report names for each reason.
const maxNamed = 10

// Report reads every record and counts the attempts that match q. A run record and a result record
// belong to the same attempt if they contain the same task id and attempt number, even if their
// file names differ. Report calls the function visit for every attempt that matches, ordered by
// task, and stops at the first error of visit. It does not keep the attempts, so it needs little
// memory even for a large ledger. The returned report's field LeftOut lists files that could not be
// counted, for example because they are unreadable.
func (s *Store) Report(ctx context.Context, q Query, visit func(Attempt) error) (Report, error) {
	c := NewCount(q, s.opts.Now())
	work := func(t task) merged { return mergeTask(s.host, t) }
	all, err := s.tasksByBead(ctx)
	if err != nil {
		return Report{}, err
	}
	err = inOrder(ctx, all, work, func(m merged) error {
		kept := c.add(m)
		for _, a := range kept {
			if err := visit(a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Report{}, err
	}
	return c.Report(), nil
}
