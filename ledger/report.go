package ledger

import (
	"context"
	"slices"
	"strings"
	"time"

	"gaffer/statefile/timestamp"
)

// Report is what the records of a ledger say together.
type Report struct {
	GeneratedAt     string     `json:"generated_at"`
	Filter          Filter     `json:"filter"`
	Statistics      Statistics `json:"statistics"`
	Recommendations []string   `json:"recommendations"`
	LeftOut         []LeftOut  `json:"left_out"`
}

// Filter says which attempts a report counts.
type Filter struct {
	Since *string `json:"since"` // a date or a time; null for all
}

// LeftOut is why some files are not counted.
type LeftOut struct {
	Reason string   `json:"reason"` // the name of the finding
	Count  int      `json:"count"`
	Files  []string `json:"files"` // the first few
}

// maxNamed bounds how many files a report names for each reason.
const maxNamed = 10

const noStart = "no-start-time"

// Report reads every record and counts. Each attempt is handed to each, in the
// order of tasks, and then forgotten, so that memory does not grow with the
// ledger. A file that cannot be read is left out and named. since, if not zero,
// leaves out what had ended before it.
func (s *Store) Report(ctx context.Context, since Since, each func(Attempt) error) (Report, error) {
	t := newTally()
	work := func(t task) merged { return mergeTask(s.host, t) }
	err := inOrder(ctx, tasks(s.folders()...), work, func(m merged) error {
		kept := since.apply(&m)
		t.add(kept, m.left)
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
	stats := t.statistics()
	return Report{
		GeneratedAt:     timestamp.Format(s.opts.Now()),
		Filter:          since.filter(),
		Statistics:      stats,
		Recommendations: recommend(stats),
		LeftOut:         t.leftOut,
	}, nil
}

// Since is the moment from which a report counts. The zero value is always.
type Since struct {
	text string
	at   time.Time
}

// ParseSince reads a date, whose day begins in UTC as the records' times do, or
// a time.
func ParseSince(text string) (Since, error) {
	if text == "" {
		return Since{}, nil
	}
	at, err := timestamp.Parse(strings.TrimSpace(text), time.UTC)
	return Since{text, at}, err
}

func (s Since) filter() Filter {
	if s.text == "" {
		return Filter{}
	}
	return Filter{Since: &s.text}
}

// apply returns the attempts that count: those that started or ended at or after
// the moment. One whose times cannot be read is left out by name.
func (s Since) apply(m *merged) []Attempt {
	if s.text == "" {
		return m.attempts
	}
	return slices.DeleteFunc(m.attempts, func(a Attempt) bool {
		if a.started.IsZero() && a.finished.IsZero() {
			m.left = append(m.left, leftOut{noStart, a.Bead})
			return true
		}
		return a.started.Before(s.at) && a.finished.Before(s.at)
	})
}
