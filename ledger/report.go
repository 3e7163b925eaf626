package ledger

import "context"

// Report summarizes the records of a ledger.
type Report struct {
	GeneratedAt     string           `json:"generated_at"`
	Filter          Filter           `json:"filter"`
	Statistics      Statistics       `json:"statistics"`
	Recommendations []string         `json:"recommendations"`
	Details         []Recommendation `json:"recommendation_details"`
	LeftOut         []LeftOut        `json:"left_out"`
	Unmatched       []Unmatched      `json:"unmatched"`
}

// LeftOut is a reason why files were not counted, and lists these files.
type LeftOut struct {
	Reason string   `json:"reason"` // name of the finding
	Count  int      `json:"count"`
	Files  []string `json:"files"` // paths of the first files, at most maxNamed
}

// maxNamed is the maximum number of files that a report names for each reason.
const maxNamed = 10

// Report reads every record and counts those that match q. It combines runs and results by the bead
// that the records name, and ignores the file names. It calls visit for every attempt that matches,
// ordered by task. It does not keep the attempts, so it needs little memory even for a large
// ledger. Files that cannot be read are listed in LeftOut.
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
