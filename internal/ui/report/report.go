// Package report formats two kinds of reports. Statistics about runs are formatted as text for a
// terminal or as an HTML page. Morning reports, which say what happened while the user was away,
// are formatted as text for a terminal. The functions are pure. They make all text from the records
// of runs printable.
package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/text/display"
	"gaffer/internal/ui/phrase"
	"gaffer/ledger"
)

// maxName is the maximum length, in characters, to which texts from run records, such as names, are
// shortened.
const maxName = 120

// plain returns a text from a run record as one printable line of at most maxName characters.
func plain(text string) string { return display.Line(text, maxName) }

// number formats a number with separators for thousands, such as 100,000.
func number(n int) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// count formats a number with its noun. one is the noun if n is 1, and many is the noun for all
// other numbers.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

func runs(n int) string { return count(n, "run", "runs") }

func tasks(n int) string { return count(n, "task", "tasks") }

func percentage(p float64) string { return fmt.Sprintf("%.1f%%", p) }

// formatSeconds formats a number of seconds as a duration, such as "2m 34s". It returns "-" for
// zero.
func formatSeconds(seconds float64) string {
	if seconds <= 0 {
		return "-"
	}
	if seconds < 1 {
		return "under 1s"
	}
	return phrase.Elapsed(time.Duration(math.Round(seconds)) * time.Second)
}

// money formats an amount of US dollars. It returns "-" if the amount is unknown, which means that
// usd is nil.
func money(usd *float64) string {
	switch {
	case usd == nil:
		return "-"
	case *usd < 1000:
		return fleet.Money(*usd)
	}
	return "$" + number(int(math.Round(*usd)))
}

// span returns the first and the last day on which runs started, or "" if no day is known.
func span(s ledger.Statistics) string {
	if s.FirstRun == nil {
		return ""
	}
	first, last := day(*s.FirstRun), day(*s.LastRun)
	if first == last {
		return first
	}
	return first + " to " + last
}

func day(at string) string { return at[:min(len(at), len(time.DateOnly))] }

// filters describes, in a few words each, the conditions that select the runs of a report, such as
// "since 2026-02-09" or "agent claude".
func filters(f ledger.Filter) []string {
	var list []string
	if f.Since != nil {
		list = append(list, "since "+plain(*f.Since))
	}
	add := func(name string, of []string) {
		if len(of) > 0 {
			list = append(list, name+" "+plain(strings.Join(of, " or ")))
		}
	}
	add("agent", f.Agent)
	add("model", f.Model)
	add("template", f.Template)
	return list
}

// bucket returns the name of one range (bucket) of a duration histogram, such as "5m – 30m", "under
// 30s" or "over 2h". The parameter dash is the text between the two bounds.
func bucket(b ledger.Bucket, dash string) string {
	switch {
	case b.To == nil:
		return "over " + formatBound(b.From)
	case b.From == 0:
		return "under " + formatBound(*b.To)
	}
	return formatBound(b.From) + " " + dash + " " + formatBound(*b.To)
}

// formatBound formats a bound of a range in a duration histogram, such as 30s, 5m or 2h.
func formatBound(seconds float64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// quantiles returns a text with the 50th, 90th and 99th percentile of the durations of runs. If the
// percentiles are estimates, the text says so.
func quantiles(d ledger.Durations) string {
	text := fmt.Sprintf("half within %s, 90%% within %s, 99%% within %s", formatSeconds(d.P50), formatSeconds(d.P90), formatSeconds(d.P99))
	if d.Estimated {
		text += " (estimated, to 1%)"
	}
	return text
}

// withoutEmptyEnds returns the ranges (buckets) of a histogram without the empty ones at its start
// and at its end.
func withoutEmptyEnds(all []ledger.Bucket) []ledger.Bucket {
	filled := func(b ledger.Bucket) bool { return b.Count > 0 }
	first := slices.IndexFunc(all, filled)
	if first < 0 {
		return nil
	}
	last := len(all)
	for !filled(all[last-1]) {
		last--
	}
	return all[first:last]
}

// attempts formats the number of attempts that a task took, such as "2 attempts" or "5 or more".
func attempts(a ledger.Attempts) string {
	switch {
	case a.OrMore:
		return fmt.Sprintf("%d or more", a.Attempts)
	case a.Attempts == 1:
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", a.Attempts)
}

// group is a set of runs that have something in common, such as their agent. name is what they have
// in common, such as the name of the agent.
type group struct {
	name string
	ledger.Group
}

// largest converts the elements of list to groups with the function describe, and sorts the groups:
// the one with the most runs comes first.
func largest[T any](list []T, describe func(T) (string, ledger.Group)) []group {
	groups := make([]group, len(list))
	for i, item := range list {
		name, g := describe(item)
		groups[i] = group{plain(name), g}
	}
	slices.SortStableFunc(groups, func(a, b group) int { return b.Count - a.Count })
	return groups
}

func ofAgent(a ledger.Agent) (string, ledger.Group) { return a.Agent, a.Group }

func ofModel(m ledger.Model) (string, ledger.Group) { return m.Model, m.Group }

func ofTemplate(t ledger.Template) (string, ledger.Group) { return t.Template, t.Group }

func ofTaskType(t ledger.TaskType) (string, ledger.Group) { return t.TaskType, t.Group }

// weekOrGap is a week in a chart, or nil for one or more weeks without runs.
type weekOrGap = *ledger.Week

// withGaps returns pointers to the weeks. Between two weeks that are not consecutive, it inserts
// nil, which stands for the weeks without runs.
func withGaps(weeks []ledger.Week) []weekOrGap {
	var list []weekOrGap
	for i := range weeks {
		if i > 0 && !follows(weeks[i-1], weeks[i]) {
			list = append(list, nil)
		}
		list = append(list, &weeks[i])
	}
	return list
}

func follows(a, b ledger.Week) bool {
	at, err := time.Parse(time.DateOnly, a.Start)
	return err == nil && at.AddDate(0, 0, 7).Format(time.DateOnly) == b.Start
}
