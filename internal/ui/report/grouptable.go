package report

import (
	"strings"

	"gaffer/internal/text/cells"
)

// columns is the layout of a table with one row per group of runs, such as the runs of one agent.
// The field name is the width of the column with the names of the groups, and bar is the width of
// the column with the bars, both in terminal columns. If bar is 0, the table has no bars.
type columns struct {
	p         *printer
	heading   string
	name, bar int
	numbers   []numberColumn
}

// numberColumn is a right-aligned column of numbers.
type numberColumn struct {
	title string
	width int
	of    func(group) string
}

// wideEnough is the minimum width of a screen, in columns, at which a table also shows how many
// runs are done, have failed and have timed out.
const wideEnough = 100

func (p *printer) columns(title string, list []group) *columns {
	c := &columns{p: p, name: cells.Width(title)}
	for _, g := range list {
		c.name = max(c.name, cells.Width(g.name))
	}
	c.name = min(c.name, p.width()*3/10)
	c.add("Runs", list, func(g group) string { return number(g.Count) })
	if p.width() >= wideEnough {
		c.add("Done", list, func(g group) string { return number(g.Success) })
		c.add("Failed", list, func(g group) string { return number(g.Failed) })
		c.add("Timeout", list, func(g group) string { return number(g.Timeout) })
	}
	c.add("Success", list, success)
	c.add("Average", list, func(g group) string { return formatSeconds(g.AvgDuration) })
	if p.s.Cost.USD != nil {
		c.add("Cost", list, func(g group) string { return money(g.CostUSD) })
	}
	room := p.width() - c.name
	for _, n := range c.numbers {
		room -= n.width + 2
	}
	if c.bar = min(room-2, 40); c.bar < 8 {
		c.bar = 0
	}
	c.heading = c.row(title, "Outcome", func(n numberColumn) string { return n.title })
	return c
}

func success(g group) string {
	if g.Ended() == 0 {
		return "-"
	}
	return percentage(g.SuccessRate)
}

func (c *columns) add(title string, list []group, of func(group) string) {
	n := numberColumn{title, len(title), of}
	for _, g := range list {
		n.width = max(n.width, len(of(g)))
	}
	c.numbers = append(c.numbers, n)
}

func (c *columns) print(g group) {
	bar := c.p.stacked(partsOfGroup(g.Group), c.bar)
	c.p.line("%s", c.row(g.name, bar, func(n numberColumn) string { return n.of(g) }))
}

// row joins the cells of a table row to one line. The function cell returns the text for a column
// of numbers.
func (c *columns) row(name, bar string, cell func(numberColumn) string) string {
	line := c.p.fill(name, c.name)
	for _, n := range c.numbers {
		line += "  " + cells.FillLeft(cell(n), n.width)
	}
	if c.bar > 0 {
		line += "  " + bar
	}
	return strings.TrimRight(line, " ")
}
