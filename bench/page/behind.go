package main

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/bench/figure"
)

// lag says by which factors another program is better than gaffer in one measure.
type lag struct {
	gaffer, other string
	// factors has an entry for each workload size at which the other program is better. The value
	// says how many times better it is.
	factors map[int]float64
}

// lags compares each of gaffer's rows with each row of another program, at each workload size that
// both have. It leaves out rows of the kind [figure.Limit], because they do not stand for programs
// that a user could choose.
func (t table) lags() (list []lag) {
	for _, g := range t.rows {
		if g.kind != figure.Gaffer {
			continue
		}
		for _, o := range t.rows {
			if o.kind != figure.Other {
				continue
			}
			l := lag{gaffer: g.program, other: o.program, factors: map[int]float64{}}
			for _, size := range t.sizes {
				if f := t.factor(g.values, o.values, size); f > 1 {
					l.factors[size] = f
				}
			}
			if len(l.factors) > 0 {
				list = append(list, l)
			}
		}
	}
	return list
}

// factor returns how many times better the other program is than gaffer. It returns 0 if the other
// program is not better, or if one of the two has no value. It returns the constant never if the
// factor is infinite because it is a division by 0.
func (t table) factor(gaffer, other map[int]float64, size int) float64 {
	g, ok1 := gaffer[size]
	o, ok2 := other[size]
	if !ok1 || !ok2 {
		return 0
	}
	if t.more {
		g, o = o, g
	}
	switch {
	case g <= o:
		return 0
	case o == 0:
		return never
	}
	return g / o
}

// never is the value that represents an infinite factor.
const never = 1e300

// whereBehind returns the section of the page that lists every figure in which another program is
// better than gaffer.
func whereBehind(p page, r results) string {
	var b strings.Builder
	b.WriteString("\n## Where gaffer is behind\n\nComputed from the figures above: how many times better the other program is. An empty cell means that gaffer is not behind there,\nor that one of the two was not measured.\n")
	found := false
	for _, s := range p.sections {
		m, ok := r.section(s.name)
		if !ok {
			continue
		}
		for _, k := range s.measures {
			t := tableOf(k, m.Figures)
			list := t.lags()
			if len(list) == 0 {
				continue
			}
			found = true
			fmt.Fprintf(&b, "\n### %s %s\n\n%s", s.title, k.title, t.lagTable(list))
			if k.reason != "" {
				b.WriteString("\n" + k.reason + "\n")
			}
		}
	}
	if !found {
		b.WriteString("\nNowhere.\n")
	}
	return b.String()
}

func (t table) lagTable(list []lag) string {
	var b strings.Builder
	sizes := slices.DeleteFunc(slices.Clone(t.sizes), func(size int) bool {
		return !slices.ContainsFunc(list, func(l lag) bool { return l.factors[size] > 0 })
	})
	head, line := "| gaffer | better |", "| --- | --- |"
	for _, size := range sizes {
		if size == 0 {
			head += " times |"
		} else {
			head += " " + thousands(size) + " " + t.size + " |"
		}
		line += " ---: |"
	}
	fmt.Fprintf(&b, "%s\n%s\n", head, line)
	for _, l := range list {
		fmt.Fprintf(&b, "| %s | %s |", l.gaffer, l.other)
		for _, size := range sizes {
			switch f := l.factors[size]; f {
			case 0:
				b.WriteString(" |")
			case never:
				b.WriteString(" ∞ |")
			default:
				fmt.Fprintf(&b, " %s× |", factorText(f))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// factorText formats a factor above 1. It returns "1.00" if the factor would be rounded to "1",
// which would mean that no program is better.
func factorText(f float64) string {
	if text := number(f); text != "1" {
		return text
	}
	return "1.00"
}
