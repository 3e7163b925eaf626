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

// LeftOut is a reason for not counting files, with the files.
type LeftOut struct {
	Reason string   `json:"reason"` // name of the finding
	Count  int      `json:"count"`
	Files  []string `json:"files"` // the first few
}

// maxNamed limits the files that a report names per reason.
const maxNamed = 10

// Report reads every record and counts those that match q. It combines runs and results
// by the bead named in the record, whatever the file names are. It calls each for every
// attempt that matches, ordered by task. It does not keep the attempts, so its memory
// use is independent of the size of the ledger. Files that cannot be read are listed in
// LeftOut.
func (s *Store) Report(ctx context.Context, q Query, each func(Attempt) error) (Report, error) {
	c := NewCount(q, s.opts.Now())
	work := func(t task) merged { return mergeTask(s.host, t) }
	all, err := s.tasksByBead(ctx)
	if err != nil {
		return Report{}, err
	}
	err = inOrder(ctx, all, work, func(m merged) error {
		kept := c.add(m)
		for _, a := range kept {
			if err := each(a); err != nil {
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
