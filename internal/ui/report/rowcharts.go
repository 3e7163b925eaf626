package report

import (
	"cmp"
	"fmt"
	"slices"

	"gaffer/ledger"
)

// rowsChart is a chart with one horizontal bar per row.
type rowsChart struct {
	ID, Title, Note string
	Legend          []key
	Rows            []chartRow
	Table           table
}

// key is an entry of a legend: the CSS class of a colour, and what the colour means.
type key struct{ Class, Text string }

// chartRow is a row of a chart. Parts holds the parts of its bar, from left to right.
type chartRow struct {
	Name, Value, Tip string
	Parts            []part
}

// part is a piece of a bar. Its position and width are percentages of the chart's width.
type part struct {
	Class, Tip   string
	Start, Width string
}

// The maximum number of rows in a chart, and in the table with the numbers of the chart.
const (
	maxRows      = 12
	maxTableRows = 200
)

// stack returns the parts of a bar, from left to right. values holds the number of runs or tasks
// with each outcome. The bar fills the whole width of the chart if the values add up to total.
func stack(values [len(outcomes)]int, total int) []part {
	var parts []part
	at := 0
	for i, n := range values {
		if n > 0 {
			parts = append(parts, part{
				Class: outcomes[i].name, Tip: number(n) + " " + outcomes[i].name,
				Start: share(at, total), Width: share(n, total),
			})
		}
		at += n
	}
	return parts
}

func share(n, whole int) string { return fmt.Sprintf("%.3f", 100*float64(n)/float64(max(whole, 1))) }

// legend returns a legend entry for each outcome whose value is above zero.
func legend(values [len(outcomes)]int) []key {
	var keys []key
	for i, o := range outcomes {
		if values[i] > 0 {
			keys = append(keys, key{o.name, o.name})
		}
	}
	return keys
}

func outcomeChart(s ledger.Statistics) rowsChart {
	parts := partsOf(s)
	c := rowsChart{ID: "outcome", Title: "Outcomes", Rows: []chartRow{{Name: "all runs", Tip: "Outcomes of all runs", Parts: stack(parts, s.TotalRuns)}}}
	c.Table.Head = []string{"Outcome", "Runs", "Share"}
	for i, o := range outcomes {
		if parts[i] > 0 {
			c.Legend = append(c.Legend, key{o.name, number(parts[i]) + " " + o.name})
			c.Table.Rows = append(c.Table.Rows, []string{o.name, number(parts[i]), percentOf(parts[i], s.TotalRuns)})
		}
	}
	return c
}

func percentOf(n, whole int) string { return percentage(100 * float64(n) / float64(max(whole, 1))) }

// rowCharts returns the charts with horizontal bars. It leaves out charts without rows.
func rowCharts(s ledger.Statistics) []rowsChart {
	all := []rowsChart{
		groupChart("agents", "By agent", "Agent", largest(s.ByAgent, ofAgent), s),
		groupChart("models", "By model", "Model", largest(s.ByModel, ofModel), s),
		groupChart("templates", "By template", "Template", largest(s.ByTemplate, ofTemplate), s),
		groupChart("types", "By sort of task", "Task type", largest(s.TaskTypes, ofTaskType), s),
		durationChart(s.Durations),
		reasonChart(s),
		retryChart(s),
		costChart("costs-agents", "Cost by agent", "Agent", largest(s.ByAgent, ofAgent)),
		costChart("costs-templates", "Cost by template", "Template", largest(s.ByTemplate, ofTemplate)),
	}
	var list []rowsChart
	for _, c := range all {
		if len(c.Rows) > 0 {
			list = append(list, c)
		}
	}
	return list
}

func groupChart(id, title, head string, list []group, s ledger.Statistics) rowsChart {
	c := rowsChart{ID: id, Title: title, Legend: legend(partsOf(s)), Note: "length shows runs, colour their outcome"}
	c.Table = groupTable(head, list, s.Cost.USD != nil)
	for i, g := range list {
		if i == maxRows {
			c.Note = fmt.Sprintf("the %d with the most runs of %s", maxRows, number(len(list)))
			break
		}
		c.Rows = append(c.Rows, chartRow{
			Name: g.name, Value: rate(g), Tip: g.name + ": " + runs(g.Count),
			Parts: stack(partsOfGroup(g.Group), list[0].Count),
		})
	}
	return c
}

// rate returns the success rate of a group of runs and the number of its runs that have ended, such
// as "85.0% of 20".
func rate(g group) string {
	if g.Ended() == 0 {
		return "none ended"
	}
	return success(g) + " of " + number(g.Ended())
}

func groupTable(head string, list []group, priced bool) table {
	t := table{Head: []string{head, "Runs", "Done", "Failed", "Timeout", "Running", "Success", "Average"}}
	if priced {
		t.Head = append(t.Head, "Cost")
	}
	for i, g := range list {
		if i == maxTableRows {
			t.More = fmt.Sprintf("and %s more", number(len(list)-i))
			break
		}
		t.Rows = append(t.Rows, groupRow(g, priced))
	}
	return t
}

func groupRow(g group, priced bool) []string {
	row := []string{
		g.name, number(g.Count), number(g.Success), number(g.Failed), number(g.Timeout), number(g.Running), success(g), formatSeconds(g.AvgDuration),
	}
	if priced {
		row = append(row, money(g.CostUSD))
	}
	return row
}

// single returns a chart row with one bar for the value n. The bar fills the whole width of the
// chart if n equals limit.
func single(class, name, value string, n, limit float64) chartRow {
	r := chartRow{Name: name, Value: value, Tip: name + ": " + value}
	if n > 0 {
		r.Parts = []part{{Class: class, Tip: r.Tip, Start: "0", Width: fmt.Sprintf("%.3f", 100*n/limit)}}
	}
	return r
}

func durationChart(d ledger.Durations) rowsChart {
	c := rowsChart{ID: "durations", Title: "Duration", Note: quantiles(d)}
	c.Table.Head = []string{"Took", "Runs", "Share"}
	most := 0
	for _, b := range d.Buckets {
		most = max(most, b.Count)
	}
	for _, b := range withoutEmptyEnds(d.Buckets) {
		c.Rows = append(c.Rows, single("plain", bucket(b, "–"), number(b.Count), float64(b.Count), float64(most)))
		c.Table.Rows = append(c.Table.Rows, []string{bucket(b, "–"), number(b.Count), percentOf(b.Count, d.Runs)})
	}
	return c
}

func reasonChart(s ledger.Statistics) rowsChart {
	failures := s.Failed + s.Timeout
	c := rowsChart{ID: "reasons", Title: "Why runs failed or timed out", Note: "of " + runs(failures)}
	c.Table.Head = []string{"Reason", "Runs", "Share"}
	for i, r := range s.FailureReasons {
		if i < maxRows {
			c.Rows = append(c.Rows, single("failed", plain(r.Reason), number(r.Count), float64(r.Count), float64(s.FailureReasons[0].Count)))
		}
		if i == maxTableRows {
			c.Table.More = fmt.Sprintf("and %s more", number(len(s.FailureReasons)-i))
			break
		}
		c.Table.Rows = append(c.Table.Rows, []string{plain(r.Reason), number(r.Count), percentOf(r.Count, failures)})
	}
	if len(s.FailureReasons) > maxRows {
		c.Note += fmt.Sprintf("; the %d most common of %s", maxRows, number(len(s.FailureReasons)))
	}
	return c
}

func retryChart(s ledger.Statistics) rowsChart {
	c := rowsChart{ID: "retries", Title: "Attempts that tasks took", Legend: []key{{"done", "ended done"}, {"other", "did not"}}}
	c.Table.Head = []string{"Attempts", "Tasks", "Ended done", "Share done"}
	most := 0
	for _, a := range s.Retries.ByAttempts {
		most = max(most, a.Tasks)
	}
	for _, a := range s.Retries.ByAttempts {
		parts := [len(outcomes)]int{0: a.Done, len(outcomes) - 1: a.Tasks - a.Done}
		c.Rows = append(c.Rows, chartRow{
			Name: attempts(a), Value: number(a.Tasks), Tip: attempts(a) + ": " + tasks(a.Tasks) + ", " + number(a.Done) + " done",
			Parts: stack(parts, most),
		})
		c.Table.Rows = append(c.Table.Rows, []string{attempts(a), number(a.Tasks), number(a.Done), percentOf(a.Done, a.Tasks)})
	}
	return c
}

// costChart returns a chart of the cost of each group of runs, such as the runs of one agent. The
// highest cost comes first. costChart sorts the slice list in place. If no cost is known, the chart
// has no rows.
func costChart(id, title, head string, list []group) rowsChart {
	c := rowsChart{ID: id, Title: title}
	c.Table.Head = []string{head, "Cost", "Runs with a known cost"}
	slices.SortStableFunc(list, func(a, b group) int { return cmp.Compare(amount(b.CostUSD), amount(a.CostUSD)) })
	for _, g := range list {
		if g.CostUSD == nil || len(c.Table.Rows) == maxTableRows {
			continue
		}
		if len(c.Rows) < maxRows {
			c.Rows = append(c.Rows, single("money", g.name, money(g.CostUSD), *g.CostUSD, amount(list[0].CostUSD)))
		}
		c.Table.Rows = append(c.Table.Rows, []string{g.name, money(g.CostUSD), number(g.CostRuns)})
	}
	return c
}
