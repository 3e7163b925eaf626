package report

import (
	"fmt"
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/ledger"
)

// trend draws graphs of values by week. If there are fewer than two weeks, it draws nothing.
func (p *printer) trend() {
	weeks := p.s.ByWeek
	if len(weeks) < 2 {
		return
	}
	first, last := weeks[0], weeks[len(weeks)-1]
	p.title(fmt.Sprintf("Trend by week, %s to %s", first.Week, last.Week))
	most, least, longest, dearest := extremes(weeks)
	p.graph("runs", func(w ledger.Week) (float64, bool) { return ratio(float64(w.Count), float64(most.Count)) },
		number(last.Count)+" last, most "+number(most.Count), most)
	p.graph("success", func(w ledger.Week) (float64, bool) { return w.SuccessRate / 100, w.Ended() > 0 },
		success(group{"", last.Group})+" last, least "+success(group{"", least.Group}), least)
	if longest.AvgDuration > 0 {
		p.graph("average", func(w ledger.Week) (float64, bool) { return ratio(w.AvgDuration, longest.AvgDuration) },
			formatSeconds(last.AvgDuration)+" last, longest "+formatSeconds(longest.AvgDuration), longest)
	}
	if dearest.CostUSD != nil {
		p.graph("cost", func(w ledger.Week) (float64, bool) { return ratio(amount(w.CostUSD), amount(dearest.CostUSD)) },
			money(last.CostUSD)+" last, most "+money(dearest.CostUSD), dearest)
	}
	p.beyond()
}

// beyond writes lines about the runs that the graphs by week do not show: runs of earlier weeks,
// and runs whose time is unknown or in the future.
func (p *printer) beyond() {
	if e := p.s.EarlierWeeks; e.Count > 0 {
		p.wrapped("  ", fmt.Sprintf("before that %s, success %s", runs(e.Count), success(group{"", e})), display.Faint)
	}
	if u := p.s.Undated; u.Count > 0 {
		p.wrapped("  ", runs(u.Count)+" without a time that can be read, or in the future", display.Faint)
	}
}

// graph draws one column for each week, as high as the week's value. A week that has runs but no
// value is drawn as a dot, and weeks without runs as a blank. If the screen is too narrow for all
// weeks, graph draws only the latest weeks. If there is room beside the columns, graph writes the
// text note there and, if there is room for it, too, the name of the week that note is about.
func (p *printer) graph(name string, valueOf func(ledger.Week) (float64, bool), note string, weekOfNote ledger.Week) {
	const before, beside = 11, 42
	weeks := withGaps(p.s.ByWeek)
	weeks = weeks[max(len(weeks)-(p.width()-before), 0):]
	wide := min(max((p.width()-before-beside)/len(weeks), 1), 3)
	var b strings.Builder
	for _, w := range weeks {
		sign := " "
		if w != nil {
			sign = "."
			if value, ok := valueOf(*w); ok {
				sign = p.level(value)
			}
		}
		b.WriteString(strings.Repeat(sign, wide))
	}
	room := p.width() - before - wide*len(weeks) - 2
	for _, longer := range []string{note + " in " + weekOfNote.Week, note, ""} {
		if note = longer; cells.Width(note) <= room {
			break
		}
	}
	p.line("  %s%s  %s", p.fill(name, before-2), b.String(), note)
}

func ratio(part, whole float64) (float64, bool) {
	if part <= 0 || whole <= 0 {
		return 0, false
	}
	return part / whole, true
}

func amount(usd *float64) float64 {
	if usd == nil {
		return 0
	}
	return *usd
}

// extremes returns four weeks: the week with the most runs, the week with the lowest success rate,
// the week with the longest average duration, and the week with the highest cost. Each of them is
// the zero Week if no week has such a value.
func extremes(weeks []ledger.Week) (busiest, weakest, longest, dearest ledger.Week) {
	for _, w := range weeks {
		if w.Count > busiest.Count {
			busiest = w
		}
		if w.Ended() > 0 && (weakest.Ended() == 0 || w.SuccessRate < weakest.SuccessRate) {
			weakest = w
		}
		if w.AvgDuration > longest.AvgDuration {
			longest = w
		}
		if w.CostUSD != nil && (dearest.CostUSD == nil || *w.CostUSD > *dearest.CostUSD) {
			dearest = w
		}
	}
	return busiest, weakest, longest, dearest
}
