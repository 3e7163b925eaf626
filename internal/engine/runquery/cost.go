package runquery

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// Cost returns what the attempts that the query q selects have cost. It leaves out attempts of runs
// for which the function Options.Hide returns true, and attempts that use no model and have cost
// nothing.
func (l *Querier) Cost(ctx context.Context, q fleet.CostQuery) (fleet.CostReport, error) {
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	c := costCount{query: q, rows: map[string]*costSum{}, days: map[string]*costSum{}, hours: map[string]*costSum{}}
	var runs []store.Run
	if err := l.store.Read(ctx, func(r store.Reader) (err error) {
		runs, err = l.Latest(r, q.Project, true, math.MaxInt)
		return err
	}); err != nil {
		return fleet.CostReport{}, err
	}
	for _, run := range runs {
		if !run.Ended.IsZero() && run.Ended.Before(q.Since) || !q.Until.IsZero() && !run.Created.Before(q.Until) {
			continue // all attempts of the run are outside of the time span
		}
		attempts, err := l.attemptCosts(ctx, run)
		if err != nil {
			return fleet.CostReport{}, err
		}
		c.addRun(run, attempts)
	}
	report := c.report()
	if l.opts.Limits == nil {
		return report, nil
	}
	now := time.Now()
	if l.opts.Now != nil {
		now = l.opts.Now()
	}
	err := l.store.Read(ctx, func(r store.Reader) (err error) {
		report.Limits, err = engine.CostLimits(r, l.opts.Limits(), now, time.Local)
		return err
	})
	return report, err
}

// costCount adds up the costs of the attempts in a cost report.
type costCount struct {
	query fleet.CostQuery
	total costSum
	// rows contains one sum for each row of the report. The key is what the report is grouped by,
	// for example the name of an agent. days contains one sum for each day; a key is, for example,
	// 2026-11-18.
	rows, days map[string]*costSum
	hours      map[string]*costSum // one sum for each hour; a key is, for example, 2026-11-18T09
	budgets    []fleet.RunBudget
}

// costSum is the total cost of several attempts. Money is in micro-dollars, so that sums are exact.
type costSum struct {
	row   fleet.CostRow
	spent store.Amount
	last  time.Time // start of the latest attempt
}

// addRun adds the attempts of a run that started within the time span of the query. If the run has
// a budget, addRun also adds this budget to the report, provided that the run is running or one of
// its attempts started within the time span.
func (c *costCount) addRun(run store.Run, attempts []attemptCost) {
	included := false
	var spent store.Amount // cost of all attempts of the run, including those outside of the time span
	for _, a := range attempts {
		spent = spent.Add(a.spent)
		if !a.started.Before(c.query.Since) && (c.query.Until.IsZero() || a.started.Before(c.query.Until)) {
			included = true
			c.add(run, a)
		}
	}
	if run.Budget != (store.Amount{}) && (included || run.Status == store.Running) {
		c.budgets = append(c.budgets, fleet.RunBudget{
			Run: run.ID, Name: run.Name, Project: run.Project, Status: fleet.Status(run.Status), Spent: costOf(spent), Budget: costOf(run.Budget),
		})
	}
}

func (c *costCount) add(run store.Run, a attemptCost) {
	started := a.started.In(c.query.Zone)
	day := started.Format(time.DateOnly)
	key := map[fleet.CostGrouping]string{
		fleet.CostByAgent: a.agent, fleet.CostByModel: a.model, fleet.CostByAccount: a.account, fleet.CostByProject: run.Project, fleet.CostByRun: run.ID,
	}[c.query.By]
	if c.query.By == fleet.CostByDay {
		key = day
	}
	group := groupOf(c.rows, key)
	if c.query.By == fleet.CostByRun {
		group.row.Name, group.row.Project, group.row.Status = run.Name, run.Project, fleet.Status(run.Status)
	}
	for _, s := range []*costSum{&c.total, group, groupOf(c.days, day), groupOf(c.hours, started.Format("2006-01-02T15"))} {
		s.add(a)
	}
}

func groupOf(groups map[string]*costSum, key string) *costSum {
	if groups[key] == nil {
		groups[key] = &costSum{row: fleet.CostRow{Key: key}}
	}
	return groups[key]
}

func (s *costSum) add(a attemptCost) {
	s.row.Attempts++
	if a.running {
		s.row.Running++
	}
	if a.spent.MicroUSD == 0 {
		s.row.Unknown++
	}
	if a.spent.Input+a.spent.Output == 0 {
		s.row.Uncounted++
	}
	s.spent = s.spent.Add(a.spent)
	if a.started.After(s.last) {
		s.last = a.started
	}
}

// result returns the sum as the row of a report. If the cost of every attempt is unknown, row.USD
// is nil.
func (s *costSum) result() fleet.CostRow {
	row := s.row
	row.Tokens, row.Input, row.Output, row.Cached = s.spent.Tokens, s.spent.Input, s.spent.Output, s.spent.Cached
	if row.Unknown < row.Attempts {
		usd := float64(s.spent.MicroUSD) / 1e6
		row.USD = &usd
	}
	return row
}

func (c *costCount) report() fleet.CostReport {
	r := fleet.CostReport{
		By: c.query.By, Zone: c.query.Zone.String(), Since: c.query.Since, Until: c.query.Until, Total: c.total.result(),
		Rows: []fleet.CostRow{}, Days: []fleet.CostRow{}, Budgets: append([]fleet.RunBudget{}, c.budgets...),
	}
	order := func(a, b *costSum) int {
		return cmp.Or(cmp.Compare(b.spent.MicroUSD, a.spent.MicroUSD), cmp.Compare(b.spent.Tokens, a.spent.Tokens), cmp.Compare(a.row.Key, b.row.Key))
	}
	switch c.query.By {
	case fleet.CostByDay:
		order = func(a, b *costSum) int { return cmp.Compare(b.row.Key, a.row.Key) }
	case fleet.CostByRun:
		order = func(a, b *costSum) int { return cmp.Or(b.last.Compare(a.last), cmp.Compare(a.row.Key, b.row.Key)) }
	}
	for _, s := range slices.SortedFunc(maps.Values(c.rows), order) {
		r.Rows = append(r.Rows, s.result())
	}
	r.Days = append(r.Days, inOrder(c.days)...)
	if len(r.Days) == 1 {
		r.Hours = inOrder(c.hours)
	}
	slices.SortStableFunc(r.Budgets, func(a, b fleet.RunBudget) int {
		return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(b.Run, a.Run))
	})
	return r
}

// inOrder returns the rows of groups, sorted by key.
func inOrder(groups map[string]*costSum) (rows []fleet.CostRow) {
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		rows = append(rows, groups[key].result())
	}
	return rows
}
