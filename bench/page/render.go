package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gaffer/bench/figure"
)

// imageDir is the folder of the plots, relative to the page.
const imageDir = "images/bench"

// render returns the text of a page, and its plots as SVG, keyed by file name.
func render(p page, r results) (text string, plots map[string]string) {
	plots = map[string]string{}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n<!-- %s writes this page from %s.json. Do not edit it. -->\n\n%s\n", p.title, p.command, p.name, p.intro)
	b.WriteString("\n" + provenance(p, r))
	for _, s := range p.sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", s.title, s.text)
		m, ok := r.section(s.name)
		if !ok {
			fmt.Fprintf(&b, "\nNot measured yet: `%s --only %s`\n", p.command, s.name)
			continue
		}
		if m.Error != "" {
			fmt.Fprintf(&b, "\n**The measurement failed:** %s. The figures below are incomplete.\n", oneLine(m.Error))
		}
		for _, k := range s.measures {
			t := tableOf(k, m.Figures)
			if len(t.rows) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n### %s\n\n%s", k.heading(), t.markdown())
			if plot := t.plot(); plot != "" {
				_, kind, _ := strings.Cut(k.id, ".")
				name := fmt.Sprintf("%s-%s-%s.svg", p.name, s.name, kind)
				plots[name] = plot
				fmt.Fprintf(&b, "\n![%s](%s/%s)\n", k.heading(), imageDir, name)
			}
		}
		for _, f := range m.Figures {
			if f.Note != "" {
				fmt.Fprintf(&b, "\n%s%s: %s.\n", f.Program, atSize(f.Size), oneLine(f.Note))
			}
		}
	}
	if p.closing != nil {
		b.WriteString(p.closing(p, r))
	}
	return b.String(), plots
}

// provenance returns the part of the page that says where and when the figures were measured.
func provenance(p page, r results) string {
	if len(r.Sections) == 0 {
		return "There are no figures yet.\n"
	}
	var b strings.Builder
	at := r.Sections[0].Machine.String()
	fmt.Fprintf(&b, "Machine: %s.\n\n| section | commit | date | command | took | load |\n| --- | --- | --- | --- | --- | --- |\n", at)
	for _, m := range r.Sections {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %d s | %s |\n", m.Name, m.Commit, m.Date, m.Command, m.Seconds, m.Machine.Load)
	}
	b.WriteString("\nThe load is the load average at the end of the section: programs that run at the same time or wait for a core.\n")
	for _, m := range r.Sections {
		if other := m.Machine.String(); other != at {
			fmt.Fprintf(&b, "\nThe section %s was measured on another machine: %s.\n", m.Name, other)
		}
	}
	return b.String()
}

func (k measure) heading() string {
	better := "less is better"
	switch {
	case k.neutral:
		return fmt.Sprintf("%s (%s)", k.title, k.unit)
	case k.more:
		better = "more is better"
	}
	return fmt.Sprintf("%s (%s, %s)", k.title, k.unit, better)
}

func atSize(size int) string {
	if size == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", thousands(size))
}

// table holds the figures of one measure, with one row for each program.
type table struct {
	measure
	sizes []int
	rows  []series
}

// series holds the figures of one program in one measure.
type series struct {
	program string
	kind    figure.Kind
	values  map[int]float64 // by size
}

// tableOf collects the figures of a measure in a table. Its rows are in this order: gaffer, other
// programs, limits (see [figure.Limit]). Rows of the same kind are in the order in which their
// programs first occur in figures.
func tableOf(k measure, figures []figure.Figure) table {
	t := table{measure: k}
	for _, f := range figures {
		if f.Measure != k.id || f.Note != "" {
			continue
		}
		if !slices.Contains(t.sizes, f.Size) {
			t.sizes = append(t.sizes, f.Size)
		}
		i := slices.IndexFunc(t.rows, func(s series) bool { return s.program == f.Program })
		if i < 0 {
			i = len(t.rows)
			t.rows = append(t.rows, series{program: f.Program, kind: f.Kind, values: map[int]float64{}})
		}
		t.rows[i].values[f.Size] = f.Value
	}
	slices.Sort(t.sizes)
	rank := map[figure.Kind]int{figure.Gaffer: 0, figure.Other: 1, figure.Limit: 2}
	slices.SortStableFunc(t.rows, func(a, b series) int { return rank[a.kind] - rank[b.kind] })
	return t
}

func (t table) markdown() string {
	var b strings.Builder
	head, line := "| "+t.size+" |", "| --- |"
	for _, size := range t.sizes {
		if size == 0 {
			head += " " + t.unit + " |"
		} else {
			head += " " + thousands(size) + " |"
		}
		line += " ---: |"
	}
	ratios := slices.ContainsFunc(t.rows, func(s series) bool { return s.kind != figure.Gaffer })
	if ratios {
		head, line = head+" ÷ gaffer |", line+" ---: |"
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, line)
	for _, s := range t.rows {
		name := s.program
		switch s.kind {
		case figure.Gaffer:
			if ratios {
				name = "**" + name + "**"
			}
		case figure.Limit:
			name = "*limit: " + name + "*"
		}
		b.WriteString("| " + name + " |")
		for _, size := range t.sizes {
			v, ok := s.values[size]
			if !ok {
				b.WriteString(" |")
				continue
			}
			b.WriteString(" " + number(v) + " |")
		}
		if ratios {
			b.WriteString(" " + t.ratio(s) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ratio returns a program's value divided by the value in gaffer's first row, at the largest size
// that both have. It returns "" for gaffer itself, and if no size allows a comparison.
func (t table) ratio(s series) string {
	if s.kind == figure.Gaffer {
		return ""
	}
	for _, size := range slices.Backward(t.sizes) {
		v, ok1 := s.values[size]
		g, ok2 := t.rows[0].values[size]
		if ok1 && ok2 && g > 0 && t.rows[0].kind == figure.Gaffer {
			return number(v / g)
		}
	}
	return ""
}

// number formats a value without an exponent. Values of 100 and more become whole numbers; smaller
// values have at most three significant digits.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 100:
		return thousands(int(math.Round(v)))
	}
	v = significant(v, 3)
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// thousands writes a number with a comma before each group of three digits.
func thousands(n int) string {
	text := strconv.Itoa(n)
	digits := len(strings.TrimPrefix(text, "-"))
	for i := len(text) - 3; digits > 3; i, digits = i-3, digits-3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// oneLine makes a text safe for one line of Markdown. It removes a full stop at the end of the text.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.TrimSuffix(strings.NewReplacer("|", "/", "<", "‹", "`", "'").Replace(text), ".")
}
