package report

import (
	"fmt"
	"math"
	"strings"

	"gaffer/ledger"
)

// columnsChart is a chart with one column per week.
type columnsChart struct {
	ID, Title, Note string
	Legend          []key
	Columns         []column
	// Line holds the pieces of the line that connects the values of the weeks, each as SVG
	// coordinates. The line is interrupted at weeks without a value.
	Line        []string
	Threshold   string   // distance of the dashed threshold line from the top; empty means no line
	Ticks       []string // labels below the columns, most of them empty
	Top, Middle string   // labels at the full and at half the height of the chart
}

// column is the column of a chart for one week, or for a gap of weeks without runs. Its positions
// and sizes are percentages of the chart's size.
type column struct {
	Slot, SlotWidth string // left edge and width of the column, including the space beside the bar
	Start, Width    string // left edge and width of the bar
	Middle          string
	Parts           []columnPart
	Dot             string // distance of the point, which marks the week's value, from the top of the chart; empty means no point
	Tip             string
}

type columnPart struct{ Class, Top, Height string }

// weekCharts returns small charts by week: of the number of runs, the success rate and, if known,
// the duration and the cost. If there are fewer than two weeks, it returns no charts.
func weekCharts(s ledger.Statistics) []columnsChart {
	if len(s.ByWeek) < 2 {
		return nil
	}
	most, _, longest, dearest := extremes(s.ByWeek)
	charts := []columnsChart{countChart(s, most.Count), rateChart(s)}
	if longest.AvgDuration > 0 {
		charts = append(charts, valueChart(s, "weeks-duration", "Average duration", "plain", roundUpSeconds(longest.AvgDuration), formatBound,
			func(w ledger.Week) float64 { return w.AvgDuration }))
	}
	if dearest.CostUSD != nil {
		charts = append(charts, valueChart(s, "weeks-cost", "Cost", "money", roundUp(amount(dearest.CostUSD)),
			func(usd float64) string { return money(&usd) }, func(w ledger.Week) float64 { return amount(w.CostUSD) }))
	}
	return charts
}

// frame returns a chart with an empty column for each week and for each gap of weeks without runs.
// It also returns these weeks and gaps.
func frame(s ledger.Statistics, id, title string) (columnsChart, []weekOrGap) {
	weeks := withGaps(s.ByWeek)
	c := columnsChart{ID: id, Title: title, Columns: make([]column, len(weeks)), Ticks: make([]string, len(weeks))}
	slot := 100 / float64(len(weeks))
	every := (len(weeks) + 5) / 6
	for i, w := range weeks {
		left := float64(i) * slot
		c.Columns[i] = column{
			Slot: places(left), SlotWidth: places(slot), Start: places(left + slot*0.14), Width: places(slot * 0.72), Middle: places(left + slot/2),
		}
		if w == nil {
			c.Columns[i].Tip = "no runs"
			continue
		}
		c.Columns[i].Tip = fmt.Sprintf("%s (from %s): %s, success %s, average %s", w.Week, w.Start, runs(w.Count), success(group{"", w.Group}), formatSeconds(w.AvgDuration))
		if w.CostUSD != nil {
			c.Columns[i].Tip += ", cost " + money(w.CostUSD)
		}
		if i%every == every/2 {
			c.Ticks[i] = w.Start[5:]
		}
	}
	return c, weeks
}

func places(f float64) string { return fmt.Sprintf("%.3f", f) }

func countChart(s ledger.Statistics, most int) columnsChart {
	c, weeks := frame(s, "weeks-runs", "Runs")
	c.Legend = legend(partsOf(s))
	top := roundUp(float64(most))
	c.Top, c.Middle = number(int(top)), label(top/2)
	for i, w := range weeks {
		if w == nil {
			continue
		}
		base := 100.0
		for at, n := range partsOfGroup(w.Group) {
			if high := 100 * float64(n) / top; n > 0 {
				base -= high
				c.Columns[i].Parts = append(c.Columns[i].Parts, columnPart{outcomes[at].name, places(base), places(high)})
			}
		}
	}
	return c
}

// label formats half, the number of runs at half of the chart's height. It returns "" if half is
// not a whole number.
func label(half float64) string {
	if half != math.Trunc(half) {
		return ""
	}
	return number(int(half))
}

// lowRate is the success rate, in percent, below which the report recommends action.
const lowRate = 70

func rateChart(s ledger.Statistics) columnsChart {
	c, weeks := frame(s, "weeks-success", "Success rate")
	c.Note = fmt.Sprintf("dashed at %d%%, below which it is too low", lowRate)
	c.Top, c.Middle, c.Threshold = "100%", "50%", places(100-lowRate)
	var line []string
	flush := func() {
		if len(line) > 1 {
			c.Line = append(c.Line, strings.Join(line, " "))
		}
		line = nil
	}
	for i, w := range weeks {
		if w == nil || w.Ended() == 0 {
			flush()
			continue
		}
		c.Columns[i].Dot = places(100 - w.SuccessRate)
		line = append(line, c.Columns[i].Middle+","+c.Columns[i].Dot)
	}
	flush()
	return c
}

func valueChart(s ledger.Statistics, id, title, class string, top float64, show func(float64) string, of func(ledger.Week) float64) columnsChart {
	c, weeks := frame(s, id, title)
	c.Top, c.Middle = show(top), show(top/2)
	for i, w := range weeks {
		if w == nil || of(*w) <= 0 {
			continue
		}
		high := 100 * of(*w) / top
		c.Columns[i].Parts = []columnPart{{class, places(100 - high), places(high)}}
	}
	return c
}

// roundUp returns the smallest round number that is at least n: 1, 2, 4, 5, 6 or 8 times a power of
// ten. It returns 1 if n is not positive.
func roundUp(n float64) float64 {
	if n <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(n)))
	for _, m := range []float64{1, 2, 4, 5, 6, 8} {
		if m*unit >= n {
			return m * unit
		}
	}
	return 10 * unit
}

// roundUpSeconds is like [roundUp], but rounds more than an hour up to a round number of hours, and
// more than a minute up to a round number of minutes.
func roundUpSeconds(n float64) float64 {
	for _, unit := range []float64{3600, 60} {
		if n > unit {
			return roundUp(n/unit) * unit
		}
	}
	return roundUp(n)
}

func weekNotes(s ledger.Statistics) []string {
	var notes []string
	if e := s.EarlierWeeks; e.Count > 0 {
		notes = append(notes, fmt.Sprintf("Before that %s, success %s.", runs(e.Count), success(group{"", e})))
	}
	if u := s.Undated; u.Count > 0 {
		notes = append(notes, runs(u.Count)+" without a time that can be read, or in the future.")
	}
	return notes
}

func weekTable(s ledger.Statistics) table {
	list := make([]group, 0, len(s.ByWeek))
	for _, w := range s.ByWeek {
		list = append(list, group{w.Week, w.Group})
	}
	if s.EarlierWeeks.Count > 0 {
		list = append([]group{{"earlier", s.EarlierWeeks}}, list...)
	}
	if s.Undated.Count > 0 {
		list = append(list, group{"no time", s.Undated})
	}
	return groupTable("Week", list, s.Cost.USD != nil)
}
