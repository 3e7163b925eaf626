package report

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/internal/text/cells"
	"gaffer/internal/text/display"
	"gaffer/ledger"
)

// Text returns the report as text for a terminal.
func Text(r ledger.Report, s Screen) string {
	p := &printer{Screen: s, r: r, s: r.Statistics}
	p.head()
	if p.s.TotalRuns > 0 {
		p.figures()
		p.trend()
		p.durations()
		p.groups("Agent", largest(p.s.ByAgent, ofAgent), 1)
		p.groups("Model", largest(p.s.ByModel, ofModel), 2)
		p.groups("Template", largest(p.s.ByTemplate, ofTemplate), 2)
		p.groups("Task type", largest(p.s.TaskTypes, ofTaskType), 2)
		p.reasons()
		p.retries()
		p.recommendations()
	}
	p.leftOut()
	return p.out.String()
}

type printer struct {
	Screen
	r   ledger.Report
	s   ledger.Statistics
	out strings.Builder
}

// line writes a formatted line without trailing spaces.
func (p *printer) line(format string, args ...any) {
	p.out.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// wrapped writes a text on as many lines as it needs. The first line starts with the parameter
// mark, such as a bullet. The other lines are indented by the width of mark.
func (p *printer) wrapped(mark, text string, style display.Style) {
	columns := p.width() - cells.Width(mark)
	for _, line := range wrap(text, columns) {
		p.line("%s%s", mark, p.paint(style, line))
		mark = strings.Repeat(" ", cells.Width(mark))
	}
}

func (p *printer) title(text string) {
	p.line("")
	p.wrapped("", text, display.Bold)
}

func (p *printer) head() {
	text := runs(p.s.TotalRuns) + " of " + tasks(p.s.Tasks)
	if between := span(p.s); between != "" {
		text += ", " + between
	}
	if only := filters(p.r.Filter); len(only) > 0 {
		text += "; " + strings.Join(only, ", ")
	}
	p.wrapped("", text, display.Bold)
	if p.s.TotalRuns == 0 {
		return
	}
	parts := partsOf(p.s)
	p.line("%s", p.stacked(parts, p.width()))
	p.legend(parts)
}

// legend writes what the characters in a bar mean: each outcome of runs, with the number of runs
// that had it.
func (p *printer) legend(parts [len(outcomes)]int) {
	line, wide := "", 0
	for i, o := range outcomes {
		text := number(parts[i]) + " " + o.name
		if o.name == "other" && parts[i] == 0 {
			continue
		}
		if wide > 0 && wide+len(text)+2 > p.width() {
			p.line("%s", line)
			line, wide = "", 0
		}
		line += p.paint(o.style, p.sign(o)) + " " + text + "   "
		wide += len(text) + 5
	}
	p.line("%s", line)
}

func partsOf(s ledger.Statistics) [len(outcomes)]int {
	return [...]int{s.Success, s.Failed, s.Timeout, s.Running, s.Other}
}

func partsOfGroup(g ledger.Group) [len(outcomes)]int {
	return [...]int{g.Success, g.Failed, g.Timeout, g.Running, g.Count - g.Ended() - g.Running}
}

// figures writes the most important numbers of the report.
func (p *printer) figures() {
	p.line("")
	ended := p.s.Success + p.s.Failed + p.s.Timeout
	p.figure("success", percentage(p.s.SuccessRate), fmt.Sprintf("of %s that ended", runs(ended)))
	retried := ""
	if p.s.Retries.Tasks > 0 {
		retried = fmt.Sprintf("; %s of the %s retried ended done", number(p.s.Retries.Done), number(p.s.Retries.Tasks))
	}
	p.figure("retries", percentage(p.s.RetryRate), fmt.Sprintf("of %s%s", tasks(p.s.Tasks), retried))
	if p.s.Durations.Runs > 0 {
		p.figure("duration", formatSeconds(p.s.AvgDurationSeconds), "on average")
	}
	p.cost()
	if p.s.Lost > 0 {
		p.figure("lost", number(p.s.Lost), "of the failed: nothing was left of them but their record")
	}
	if p.s.Stuck > 0 {
		p.figure("stuck", number(p.s.Stuck), "of the running: nothing can be alive any more")
	}
}

func (p *printer) cost() {
	c := p.s.Cost
	if c.USD == nil {
		p.wrapped(p.fill("cost", 10), "is not known: the records have none", display.Faint)
		return
	}
	text := fmt.Sprintf("for %s of %s", number(c.KnownRuns), runs(p.s.TotalRuns))
	if c.UnknownRuns == 0 {
		text = "for all runs"
	}
	if c.FailedUSD != nil {
		text += "; " + money(c.FailedUSD) + " of it for runs that failed"
	}
	p.figure("cost", money(c.USD), text)
}

func (p *printer) figure(name, value, text string) {
	mark := p.fill(name, 10)
	for i, line := range wrap(value+" "+text, p.width()-len(mark)) {
		if rest, ok := strings.CutPrefix(line, value); ok && i == 0 {
			line = p.paint(display.Bold, value) + rest
		}
		p.line("%s%s", mark, line)
		mark = strings.Repeat(" ", len(mark))
	}
}

func (p *printer) durations() {
	d := p.s.Durations
	buckets := withoutEmptyEnds(d.Buckets)
	if len(buckets) < 2 {
		return
	}
	p.title("Duration: " + quantiles(d))
	rows := make([]row, len(buckets))
	for i, b := range buckets {
		rows[i] = row{bucket(b, p.dash()), b.Count}
	}
	p.rows(rows, 11)
}

// row is a name with a number. The number is drawn as a bar.
type row struct {
	name string
	n    int
}

func (p *printer) rows(rows []row, least int) {
	name, most, digits := least, 0, 0
	for _, r := range rows {
		name, most, digits = max(name, cells.Width(r.name)), max(most, r.n), max(digits, len(number(r.n)))
	}
	name = min(name, p.width()/2)
	room := min(p.width()-name-digits-6, 50)
	for _, r := range rows {
		p.line("  %s  %s  %s", p.fill(r.name, name), cells.FillLeft(number(r.n), digits), p.bar(float64(r.n), float64(most), room))
	}
}

const maxGroups = 8

// groups writes a table with a row for each group of runs in list. A long list is cut to its first
// maxGroups groups, and a last line counts the others. If list has fewer groups than the parameter
// least, groups writes nothing.
func (p *printer) groups(title string, list []group, least int) {
	if len(list) < least {
		return
	}
	shown := list
	if len(list) > maxGroups+1 {
		shown = list[:maxGroups]
	}
	t := p.columns(title, shown)
	p.line("\n%s", p.paint(display.Bold, t.heading))
	for _, g := range shown {
		t.print(g)
	}
	if rest := list[len(shown):]; len(rest) > 0 {
		n := 0
		for _, g := range rest {
			n += g.Count
		}
		p.line("%s", p.paint(display.Faint, fmt.Sprintf("and %d more with %s", len(rest), runs(n))))
	}
}

const maxReasons = 8

func (p *printer) reasons() {
	if len(p.s.FailureReasons) == 0 {
		return
	}
	p.title("Why runs failed or timed out")
	var rows []row
	rest, others := 0, 0
	for i, r := range p.s.FailureReasons {
		if i < maxReasons || len(p.s.FailureReasons) == maxReasons+1 {
			rows = append(rows, row{plain(r.Reason), r.Count})
		} else {
			rest, others = rest+r.Count, others+1
		}
	}
	p.rows(rows, 11)
	if others > 0 {
		p.line("  %s", p.paint(display.Faint, fmt.Sprintf("and %d other reasons of %s", others, runs(rest))))
	}
}

func (p *printer) retries() {
	if p.s.Retries.Tasks == 0 {
		return
	}
	p.title("Attempts that tasks took")
	var rows []row
	for _, a := range p.s.Retries.ByAttempts {
		rows = append(rows, row{attempts(a), a.Tasks})
	}
	p.rows(rows, 11)
}

func (p *printer) recommendations() {
	p.title("Recommendations")
	if len(p.r.Details) == 0 {
		for _, text := range p.r.Recommendations {
			p.wrapped("  ", display.Printable(text), "")
		}
	}
	for _, d := range p.r.Details {
		p.wrapped("  * ", display.Printable(d.String()), "")
		if len(d.Evidence) > 0 {
			p.wrapped("    ", "see "+names(d.Evidence), display.Faint)
		}
	}
}

func names(list []string) string {
	shown := slices.Clone(list)
	for i := range shown {
		shown[i] = plain(shown[i])
	}
	return strings.Join(shown, ", ")
}

func (p *printer) leftOut() {
	if len(p.r.LeftOut) == 0 {
		return
	}
	p.title("Left out")
	for _, l := range p.r.LeftOut {
		p.wrapped("  ", files(l), "")
		for _, file := range l.Files {
			p.line("    %s", p.paint(display.Faint, display.Printable(file)))
		}
		if more := l.Count - len(l.Files); more > 0 {
			p.line("    %s", p.paint(display.Faint, fmt.Sprintf("and %s more", number(more))))
		}
	}
}

// files says in words how many files of records were left out of the report, and for which reason.
func files(l ledger.LeftOut) string {
	what := count(l.Count, "file", "files")
	if why := meanings[l.Reason]; why != "" {
		what += ", " + why
	}
	return plain(l.Reason) + ": " + what
}

// meanings maps a reason why record files were left out of the report, such as "not-json", to an
// explanation.
var meanings = map[string]string{
	"not-json":       "torn or not JSON at all",
	"not-an-object":  "JSON that is no record",
	"not-a-record":   "beside the records and none of them",
	"not-a-document": "a folder, a pipe, or too large",
	"unreadable":     "that could not be read",
	"no-start-time":  "whose times cannot be compared",
}
