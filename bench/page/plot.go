package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"

	"gaffer/bench/figure"
)

// The layout of a plot, in pixels. The legend is to the right of the plot area.
const (
	width, height = 760, 340
	left, right   = 70, 520 // edges of the plot area
	top, bottom   = 30, 290
	legendAt      = 540
	legendLine    = 20
)

// style is the stylesheet of a plot. Text and grid have other colours if the reader uses a dark
// theme. The plotted lines have the same colours in both themes; see the variable colours.
const style = `<style>
text { font: 12px sans-serif; fill: #24292f }
.grid { stroke: #d0d7de; stroke-width: 1 }
.line { fill: none; stroke-width: 1.5 }
.gaffer { stroke-width: 3 }
.limit { stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.grid { stroke: #444c56 }
}
</style>
`

// colours holds the colours of the plotted lines. Row i of the table gets colour i. If there are
// more rows than colours, the colours repeat.
var colours = []string{"#1f77d0", "#e8590c", "#2f9e44", "#9c5fd4", "#c2820a", "#0c8599", "#e64980", "#868e96"}

// plot draws the table with logarithmic axes. It leaves out sizes and values of 0, because a
// logarithmic axis cannot show them. It returns "" if fewer than two sizes are left, or if the
// measure has no plot.
func (t table) plot() string {
	x, y := axis{from: left, to: right}, axis{from: bottom, to: top}
	for _, s := range t.rows {
		for size, v := range s.values {
			if size > 0 && v > 0 {
				x.include(float64(size))
				y.include(v)
			}
		}
	}
	if t.plain || x.low >= x.high {
		return ""
	}
	x.low, x.high = math.Log10(x.low), math.Log10(x.high)
	y.low, y.high = math.Floor(math.Log10(y.low)), math.Ceil(math.Log10(y.high))
	if y.low == y.high {
		y.high++
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n%s", escape(t.heading()), style)
	t.drawAxes(&b, x, y)
	for i, s := range t.rows {
		s.draw(&b, x, y, i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// axis maps values to pixels on a logarithmic scale. The fields from and to are the positions of
// its ends, in pixels. While the method include collects values, the fields low and high are the
// smallest and the largest value. Afterwards, [table.plot] sets low and high to the decimal
// logarithms at the ends of the axis.
type axis struct {
	from, to  float64
	low, high float64
}

func (a *axis) include(v float64) {
	if a.low == 0 || v < a.low {
		a.low = v
	}
	a.high = max(a.high, v)
}

func (a axis) at(v float64) float64 {
	return a.from + (math.Log10(v)-a.low)/(a.high-a.low)*(a.to-a.from)
}

// drawAxes draws the titles of the axes and the labelled grid lines: one for each size, and one for
// each power of ten in the range of the values.
func (t table) drawAxes(b *strings.Builder, x, y axis) {
	for power := y.low; power <= y.high; power++ {
		v := math.Pow(10, power)
		at := y.at(v)
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", left, right, at, at)
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left-8, at+4, number(v))
	}
	for _, size := range t.sizes {
		if size == 0 {
			continue
		}
		at := x.at(float64(size))
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at, at, top, bottom)
		fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", at, bottom+18, thousands(size))
	}
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", (left+right)/2, height-10, escape(t.size))
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", 8, top-12, escape(t.unit))
}

// draw draws the line of a program, its points, and its entry in the legend. i is the index of the
// program's row in the table.
func (s series) draw(b *strings.Builder, x, y axis, i int) {
	colour := colours[i%len(colours)]
	var sizes []int
	for size, v := range s.values {
		if size > 0 && v > 0 {
			sizes = append(sizes, size)
		}
	}
	slices.Sort(sizes)
	var points []string
	for _, size := range sizes {
		points = append(points, fmt.Sprintf("%.1f,%.1f", x.at(float64(size)), y.at(s.values[size])))
	}
	class := "line"
	if s.kind != figure.Other {
		class += " " + string(s.kind)
	}
	fmt.Fprintf(b, "<polyline class=\"%s\" stroke=\"%s\" points=\"%s\"/>\n", class, colour, strings.Join(points, " "))
	for n, size := range sizes {
		at := strings.Split(points[n], ",")
		fmt.Fprintf(b, "<circle cx=\"%s\" cy=\"%s\" r=\"3\" fill=\"%s\"><title>%s, %s: %s</title></circle>\n",
			at[0], at[1], colour, escape(s.program), thousands(size), number(s.values[size]))
	}
	name := s.program
	if len(sizes) == 0 {
		name += " (0)"
	}
	line := top + 5 + i*legendLine
	fmt.Fprintf(b, "<line class=\"%s\" stroke=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", class, colour, legendAt, legendAt+24, line, line)
	fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\">%s</text>\n", legendAt+32, line+4, escape(name))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // ignore the error: writing to a strings.Builder never fails
	return b.String()
}
