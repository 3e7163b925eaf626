package ledger

import "context"

// Report is what the records of a ledger say together.
type Report struct {
	GeneratedAt     string           `json:"generated_at"`
	Filter          Filter           `json:"filter"`
	Statistics      Statistics       `json:"statistics"`
	Recommendations []string         `json:"recommendations"`
	Details         []Recommendation `json:"recommendation_details"`
	LeftOut         []LeftOut        `json:"left_out"`
	Unmatched       []Unmatched      `json:"unmatched"`
}

// LeftOut is why some files are not counted.
type LeftOut struct {
	Reason string   `json:"reason"` // the name of the finding
	Count  int      `json:"count"`
	Files  []string `json:"files"` // the first few
}

// maxNamed bounds how many files a report names for each reason.
const maxNamed = 10

// Report reads every record and counts those that q asks for. Runs and results
// belong together by the bead that they name, whatever their files are called. Each attempt that
// counts is handed to each, in the order of tasks, and then forgotten, so that
// memory does not grow with the ledger. A file that cannot be read is left out
// and named.
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
