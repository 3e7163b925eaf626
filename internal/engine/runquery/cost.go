package runquery

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// Cost returns what attempts have cost. It leaves out attempts of hidden runs.
func (l *Querier) Cost(ctx context.Context, q fleet.CostQuery) (fleet.CostReport, error) {
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	c := costCount{query: q, rows: map[string]*costSum{}, days: map[string]*costSum{}}
	var runs []store.Run
	if err := l.store.Read(ctx, func(r store.Reader) (err error) {
		runs, err = l.Latest(r, q.Project, true, math.MaxInt)
		return err
	}); err != nil {
		return fleet.CostReport{}, err
	}
	for _, run := range runs {
		if !run.Ended.IsZero() && run.Ended.Before(q.Since) || !q.Until.IsZero() && !run.Created.Before(q.Until) {
			continue // all its attempts are outside of the time span
		}
		var attempts []store.Attempt
		var tasks []store.Task
		if err := l.store.Read(ctx, func(r store.Reader) (err error) {
			if attempts, err = r.AttemptsOf(run.ID); err != nil || len(attempts) == 0 {
				return err
			}
			tasks, err = r.Tasks(run.ID)
			return err
		}); err != nil {
			return fleet.CostReport{}, err
		}
		if err := c.addRun(run, tasks, attempts); err != nil {
			return fleet.CostReport{}, err
		}
	}
	return c.report(), nil
}

// costCount counts the attempts of a cost report.
type costCount struct {
	query      fleet.CostQuery
	total      costSum
	rows, days map[string]*costSum
	budgets    []fleet.RunBudget
}

// costSum is the cost of a group of attempts. Money is in micro-dollars, so that sums are exact.
type costSum struct {
	row   fleet.CostRow
	spent store.Amount
	last  time.Time // start of the last attempt
}

// addRun adds the attempts of a run.
func (c *costCount) addRun(run store.Run, tasks []store.Task, attempts []store.Attempt) (err error) {
	specs := map[string]plan.Task{}
	for _, t := range tasks {
		if t.Tries == 0 {
			continue // the task has no attempt
		}
		if specs[t.Task], err = plan.DecodeTask(t.Spec); err != nil {
			return err
		}
	}
	counted, spent := false, run.Spent
	for _, a := range attempts {
		if a.Status == store.Running {
			spent = spent.Add(a.Spent)
		}
		if a.Started.Before(c.query.Since) || !c.query.Until.IsZero() && !a.Started.Before(c.query.Until) {
			continue
		}
		agent := engine.AgentOf(specs[a.Task])
		if a.Spent == (store.Amount{}) && usesNoModel(agent) {
			continue
		}
		counted = true
		c.add(run, a, agent, specs[a.Task].Model)
	}
	if run.Budget != (store.Amount{}) && (counted || run.Status == store.Running) {
		c.budgets = append(c.budgets, fleet.RunBudget{
			Run: run.ID, Name: run.Name, Project: run.Project, Status: fleet.Status(run.Status), Spent: costOf(spent), Budget: costOf(run.Budget),
		})
	}
	return nil
}

// usesNoModel reports whether the agent of a task is a command, or gaffer itself, which merges
// branches and picks candidates.
func usesNoModel(agent string) bool {
	return agent == plan.CommandAgent || strings.HasPrefix(agent, "gaffer-")
}

func (c *costCount) add(run store.Run, a store.Attempt, agent, model string) {
	day := a.Started.In(c.query.Zone).Format(time.DateOnly)
	key := map[fleet.CostGrouping]string{
		fleet.CostByAgent: agent, fleet.CostByModel: model, fleet.CostByProject: run.Project, fleet.CostByRun: run.ID,
	}[c.query.By]
	if c.query.By == fleet.CostByDay {
		key = day
	}
	group := groupOf(c.rows, key)
	if c.query.By == fleet.CostByRun {
		group.row.Name, group.row.Project, group.row.Status = run.Name, run.Project, fleet.Status(run.Status)
	}
	for _, s := range []*costSum{&c.total, group, groupOf(c.days, day)} {
		s.add(a)
	}
}

func groupOf(groups map[string]*costSum, key string) *costSum {
	if groups[key] == nil {
		groups[key] = &costSum{row: fleet.CostRow{Key: key}}
	}
	return groups[key]
}

func (s *costSum) add(a store.Attempt) {
	s.row.Attempts++
	if a.Status == store.Running {
		s.row.Running++
	}
	if a.Spent.MicroUSD == 0 {
		s.row.Unknown++
	}
	if a.Spent.Input+a.Spent.Output == 0 {
		s.row.Uncounted++
	}
	s.spent = s.spent.Add(a.Spent)
	if a.Started.After(s.last) {
		s.last = a.Started
	}
}

// result returns the sum as the row of a report.
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
	for _, day := range slices.Sorted(maps.Keys(c.days)) {
		r.Days = append(r.Days, c.days[day].result())
	}
	slices.SortStableFunc(r.Budgets, func(a, b fleet.RunBudget) int {
		return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(b.Run, a.Run))
	})
	return r
}
