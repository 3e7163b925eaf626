package report

import _ "embed"

//go:embed page.css
var css string

func (p page) html() node {
	return tag("html", "", p.head(), tag("body", "", tag("main", "", p.body()))).with("lang", "en")
}

func (p page) head() node {
	meta := func(attrs ...string) node { return tag("meta", "").with(attrs...) }
	return tag("head", "",
		meta("charset", "utf-8"),
		meta("name", "viewport", "content", "width=device-width, initial-scale=1"),
		meta("name", "color-scheme", "content", "light dark"),
		meta("http-equiv", "Content-Security-Policy", "content", "default-src 'none'; style-src 'unsafe-inline'"),
		tag("title", "", text(p.Title+": "+p.Subtitle)),
		tag("style", "", styles("\n"+css)),
	)
}

func (p page) body() node {
	all := nodes{tag("header", "", tag("h1", "", text(p.Title)), tag("p", "soft", text(p.Subtitle)), chips(p.Filters, "restricted to"))}
	if p.Empty {
		all = append(all, tag("section", "card hero",
			heading("No runs"), tag("p", "soft", text("No record is about what this report was asked for.")),
		).with("id", "empty"))
	} else {
		all = append(all, p.hero(), p.figures(), p.advice(), p.trend(), p.breakdown())
	}
	return append(all, p.leftOut(), p.footer())
}

func heading(title string) node { return tag("h3", "", text(title)) }

// chips returns an HTML list of short texts that are shown side by side. The parameter what is the
// label of the list for screen readers.
func chips(list []string, what string) node {
	if len(list) == 0 {
		return nodes{}
	}
	return tag("ul", "chips", each(list, func(s string) node { return tag("li", "", text(s)) })).with("aria-label", what)
}

func (p page) hero() node {
	o := p.Outcome
	return tag("section", "card hero",
		heading(p.Success.Name), tag("b", "", text(p.Success.Value)), tag("p", "soft", text(p.Success.Note)),
		tag("figure", "chart", o.Rows[0].bar(), legendOf(o.Legend), o.Table.html()).with("id", "chart-"+o.ID),
	).with("id", "success")
}

func (p page) figures() node {
	return tag("div", "figures", each(p.Figures, func(f figure) node {
		return tag("section", "card figure", heading(f.Name), tag("b", "", text(f.Value)), tag("span", "", text(f.Note)))
	}))
}

func (p page) advice() node {
	list := each(p.Advice, func(a advice) node {
		return tag("li", "card",
			tag("code", "rule soft", text(a.Rule)), tag("strong", "", text(a.Finding)), tag("p", "", text(a.Advice)), chips(a.Evidence, "evidence"))
	})
	if len(list) == 0 {
		list = nodes{tag("li", "card", tag("p", "", text(p.NoAdvice)))}
	}
	return nodes{tag("h2", "", text("Recommendations")), tag("ul", "advice", list).with("id", "recommendations")}
}

func (p page) trend() node {
	if len(p.Weeks) == 0 {
		return nodes{}
	}
	return nodes{
		tag("h2", "", text("Trend by week")),
		tag("div", "grid", each(p.Weeks, columnsChart.html)),
		tag("div", "card behind", each(p.WeekNotes, func(s string) node { return tag("p", "note", text(s)) }), p.WeekTable.html()).with("id", "weeks"),
	}
}

func (p page) breakdown() node {
	return nodes{tag("h2", "", text("Breakdown")), tag("div", "grid", each(p.Charts, rowsChart.html))}
}

func (p page) leftOut() node {
	if len(p.LeftOut) == 0 {
		return nodes{}
	}
	item := func(kids ...node) node { return tag("li", "", kids...) }
	return nodes{tag("h2", "", text("Left out")), tag("section", "card", each(p.LeftOut, func(l leftOut) node {
		files := each(l.Files, func(name string) node { return item(tag("code", "", text(name))) })
		if l.More != "" {
			files = append(files, item(text(l.More)))
		}
		return tag("div", "left", tag("strong", "", text(l.What)), tag("ul", "files", files))
	})).with("id", "left-out")}
}

func (p page) footer() node {
	return tag("footer", "",
		text("Made "+p.Generated+" by gaffer "+p.Version+" from the records in "), tag("code", "", text(p.Source)),
		text(". Every attempt is one run; success is of the runs that have ended."))
}

func legendOf(keys []key) node {
	if len(keys) == 0 {
		return nodes{}
	}
	return tag("ul", "legend", each(keys, func(k key) node { return tag("li", "", tag("i", k.Class), text(k.Text)) }))
}

// html returns an HTML table with the numbers that a chart shows, for users who cannot see the
// chart or want exact values.
func (t table) html() node {
	head := tag("tr", "", each(t.Head, func(s string) node { return tag("th", "", text(s)).with("scope", "col") }))
	rows := each(t.Rows, func(row []string) node {
		return tag("tr", "", each(row, func(s string) node { return tag("td", "", text(s)) }))
	})
	return tag("details", "", tag("summary", "", text("Numbers")),
		tag("div", "scroll", tag("table", "", tag("thead", "", head), tag("tbody", "", rows))), tag("p", "note", text(t.More)))
}

func caption(title, note string) node {
	return tag("figcaption", "", heading(title), tag("p", "note", text(note)))
}

// picture returns an SVG element that is stretched to the space that it gets. box is its coordinate
// system (viewBox), and label its text for users who cannot see it.
func picture(box, label string, kids ...node) node {
	return tag("svg", "", kids...).with("viewBox", box, "preserveAspectRatio", "none", "role", "img", "aria-label", label)
}

func (r chartRow) bar() node {
	return picture("0 0 100 10", r.Tip, each(r.Parts, func(p part) node {
		return tag("rect", "bar "+p.Class, tag("title", "", text(p.Tip))).with("x", p.Start, "y", "0", "width", p.Width, "height", "10")
	}))
}

func (c rowsChart) html() node {
	rows := each(c.Rows, func(r chartRow) node {
		return tag("div", "row", tag("span", "name", text(r.Name)).with("title", r.Name), r.bar(), tag("span", "value", text(r.Value)))
	})
	return tag("figure", "card chart", caption(c.Title, c.Note), tag("div", "rows", rows), legendOf(c.Legend), c.Table.html()).with("id", "chart-"+c.ID)
}

func (c columnsChart) html() node {
	axis := func(where, label string) node { return tag("span", "y "+where, text(label)) }
	across := func(class, y string) node { return tag("line", class).with("x1", "0", "x2", "100", "y1", y, "y2", y) }
	drawing := nodes{across("gridline", "0"), across("gridline", "50")}
	if c.Threshold != "" {
		drawing = append(drawing, across("threshold", c.Threshold))
	}
	drawing = append(drawing, each(c.Line, func(points string) node { return tag("polyline", "curve").with("points", points) }))
	drawing = append(drawing, each(c.Columns, column.html))
	return tag("figure", "card chart", caption(c.Title, c.Note),
		tag("div", "plot", axis("top", c.Top), axis("middle", c.Middle), axis("bottom", "0"), picture("0 0 100 100", c.Title+" by week", drawing)),
		tag("div", "ticks", each(c.Ticks, func(s string) node { return tag("span", "", text(s)) })),
		legendOf(c.Legend),
	).with("id", "chart-"+c.ID)
}

func (c column) html() node {
	parts := each(c.Parts, func(p columnPart) node {
		return tag("rect", "bar "+p.Class).with("x", c.Start, "y", p.Top, "width", c.Width, "height", p.Height)
	})
	if c.Dot != "" {
		parts = append(parts, tag("line", "dot").with("x1", c.Middle, "x2", c.Middle, "y1", c.Dot, "y2", c.Dot))
	}
	hit := tag("rect", "hit").with("x", c.Slot, "y", "0", "width", c.SlotWidth, "height", "100")
	return tag("g", "week", tag("title", "", text(c.Tip)), parts, hit)
}
