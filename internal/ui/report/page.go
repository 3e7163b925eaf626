package report

import (
	"fmt"
	"io"
	"strings"

	"gaffer/internal/text/display"
	"gaffer/ledger"
)

// Source says from which run records, and by which version of gaffer, a report page was created. A
// run record is a file about one attempt of an agent; the report counts each attempt as one run.
type Source struct {
	Ledger  string // path of the folder with the run records
	Version string // version of gaffer
}

// HTML writes the report as one HTML page that needs no other files.
func HTML(w io.Writer, r ledger.Report, from Source) error {
	_, err := io.WriteString(w, "<!DOCTYPE html>\n"+render(newPage(r, from).html())+"\n")
	return err
}

// page holds the contents of a report page. All texts are printable. Coordinates and sizes in a
// chart are percentages of the chart's size.
type page struct {
	Title, Generated, Source, Version string
	Subtitle                          string
	Filters                           []string
	Empty                             bool
	Success                           figure
	Outcome                           rowsChart
	Figures                           []figure
	Advice                            []advice
	NoAdvice                          string
	Weeks                             []columnsChart
	WeekNotes                         []string
	WeekTable                         table
	Charts                            []rowsChart
	LeftOut                           []leftOut
}

// figure is a number that the page shows, with its name and an explanation.
type figure struct{ Name, Value, Note string }

type advice struct {
	Rule, Finding, Advice string
	Evidence              []string
}

type leftOut struct {
	What  string
	Files []string
	More  string
}

// table is a table with the numbers that a chart shows.
type table struct {
	Head []string
	Rows [][]string
	More string // says how many rows are left out; empty if none are
}

func newPage(r ledger.Report, from Source) page {
	s := r.Statistics
	p := page{
		Title: "Run report", Generated: r.GeneratedAt, Source: display.Printable(from.Ledger), Version: from.Version,
		Subtitle: runs(s.TotalRuns) + " of " + tasks(s.Tasks),
		Filters:  filters(r.Filter), Empty: s.TotalRuns == 0,
	}
	if between := span(s); between != "" {
		p.Subtitle += ", " + between
	}
	for _, l := range r.LeftOut {
		p.LeftOut = append(p.LeftOut, shownLeftOut(l))
	}
	if p.Empty {
		return p
	}
	ended := s.Success + s.Failed + s.Timeout
	p.Success = figure{"Success rate", percentage(s.SuccessRate), fmt.Sprintf("%s of %s that ended", number(s.Success), runs(ended))}
	p.Outcome = outcomeChart(s)
	p.Figures = figures(s)
	p.NoAdvice = strings.Join(r.Recommendations, " ")
	for _, d := range r.Details {
		p.Advice = append(p.Advice, shownAdvice(d))
	}
	p.Weeks, p.WeekNotes, p.WeekTable = weekCharts(s), weekNotes(s), weekTable(s)
	p.Charts = rowCharts(s)
	return p
}

func figures(s ledger.Statistics) []figure {
	about := ""
	if s.Durations.Estimated {
		about = "about "
	}
	d := s.Durations
	retries := figure{"Retries", percentage(s.RetryRate), fmt.Sprintf("of tasks; %s of %s retried ended done", number(s.Retries.Done), number(s.Retries.Tasks))}
	if s.Retries.Tasks == 0 {
		retries.Note = "of tasks"
	}
	list := []figure{
		{"Median duration", about + formatSeconds(d.P50), fmt.Sprintf("90%% within %s, 99%% within %s, average %s", formatSeconds(d.P90), formatSeconds(d.P99), formatSeconds(s.AvgDurationSeconds))},
		retries,
		costFigure(s),
	}
	if s.Lost > 0 {
		list = append(list, figure{"Lost", number(s.Lost), "of the failed: nothing was left but their record"})
	}
	if s.Stuck > 0 {
		list = append(list, figure{"Stuck", number(s.Stuck), "of the running: nothing can be alive any more"})
	}
	return list
}

func costFigure(s ledger.Statistics) figure {
	if s.Cost.USD == nil {
		return figure{"Cost", "not known", "the records have none"}
	}
	note := fmt.Sprintf("for %s of %s", number(s.Cost.KnownRuns), runs(s.TotalRuns))
	if s.Cost.FailedUSD != nil {
		note += ", " + money(s.Cost.FailedUSD) + " of it for runs that failed"
	}
	return figure{"Cost", money(s.Cost.USD), note}
}

func shownAdvice(d ledger.Recommendation) advice {
	a := advice{Rule: d.Rule, Finding: display.Printable(d.Finding), Advice: d.Advice}
	for _, bead := range d.Evidence {
		a.Evidence = append(a.Evidence, plain(bead))
	}
	return a
}

func shownLeftOut(l ledger.LeftOut) leftOut {
	out := leftOut{What: files(l)}
	for _, file := range l.Files {
		out.Files = append(out.Files, display.Printable(file))
	}
	if more := l.Count - len(l.Files); more > 0 {
		out.More = fmt.Sprintf("and %s more", number(more))
	}
	return out
}
