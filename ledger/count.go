package ledger

import (
	"slices"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Count computes a report about attempts from records in memory, instead of files. It must not be
// used by several goroutines at the same time.
type Count struct {
	query Query
	now   time.Time
	tally *tally
	pick  *selection
}

// NewCount returns a Count without attempts. It will count the attempts that match q.
func NewCount(q Query, now time.Time) *Count {
	return &Count{query: q, now: now, tally: newTally(now), pick: newSelection(q)}
}

// AttemptRecords holds the records of an attempt: its run record and, if it has ended, its result
// record.
type AttemptRecords struct {
	Run    Run
	Result *Result
}

// Add counts the attempts of one task, as [Store.Report] does for files. It returns the attempts
// that match the query of the Count. The caller must pass all attempts of the task in one call.
func (c *Count) Add(attempts []AttemptRecords) ([]Attempt, error) {
	var m merged
	for _, p := range attempts {
		if p.Result != nil {
			if err := m.addRecord(ResultKind, p.Run.Bead, p.Run.Attempt, *p.Result); err != nil {
				return nil, err
			}
		}
		if err := m.addRecord(RunKind, p.Run.Bead, p.Run.Attempt, p.Run); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(m.attempts, func(a, b Attempt) int { return a.Attempt - b.Attempt })
	for i := range m.attempts {
		m.attempts[i].derive()
	}
	return c.add(m), nil
}

// add counts the attempts of one task and returns the attempts that match the query of the Count.
func (c *Count) add(m merged) []Attempt {
	kept := c.pick.from(&m)
	c.query.price(kept)
	c.tally.add(kept, m.left)
	return kept
}

// addRecord adds a record of the task to m, as if it had been read from a file.
func (m *merged) addRecord(kind Kind, bead string, attempt int, record any) error {
	text, err := encode(record)
	if err != nil {
		return err
	}
	doc, err := jsontree.Parse(text)
	if err != nil {
		return err
	}
	rec := fields{kind: kind}
	rec.collect(doc.Value())
	m.attempt(bead, attempt).addRecord(rec)
	return nil
}

// Report returns the report of the counted attempts. It must be called only once, after the last
// Add, because it empties the counts by week.
func (c *Count) Report() Report {
	stats := c.tally.statistics()
	details := c.tally.recommend(stats)
	return Report{
		GeneratedAt: timestamp.Format(c.now), Filter: c.query.filter(), Statistics: stats,
		Recommendations: sentences(details, stats), Details: details,
		LeftOut: c.tally.leftOut, Unmatched: c.pick.unmatched(),
	}
}

// Completed returns the records of an attempt as [Store.Begin] and, if p has a result,
// [Store.Finish] would write them. It reads and writes no file.
func (s *Store) Completed(p AttemptRecords) AttemptRecords {
	if p.Run.ResultFile == "" {
		p.Run.ResultFile = s.resultFile(p.Run.Bead)
	}
	if p.Result == nil {
		return p
	}
	r := fillResult(*p.Result, p.Run, nil, s.opts.Now())
	return AttemptRecords{Run: completed(p.Run, r), Result: &r}
}
