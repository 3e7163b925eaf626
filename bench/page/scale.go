package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gaffer/bench/figure"
)

// goal is the number of agents to which the measured values are extrapolated.
const goal = 100_000

func scale() page {
	return page{
		name: "scale", title: "How far a fleet grows", command: "script/scale", closing: extrapolation,
		intro: `What a coordinator and its database cost with up to 10,000 workers, measured; and with 100,000 agents, extrapolated. The workers
are simulated, everything else is real: the program as it is shipped, PostgreSQL with its default settings, and HTTP on the loopback
interface. Coordinator, database and load share the cores of one machine, so the load takes away a part of them.

Each simulated worker has one agent. It sends a heartbeat every 15 s and 4 KiB of the agent's output every 15 s, finishes a task and
takes the next every 5 minutes, and always has one long poll open. A worker with more agents sends one heartbeat for all of them, so
one worker for each agent is the most expensive case. Ten dashboards follow the stream of events. A probe sends five heartbeats, five
finished tasks and five events in a second, at every size. The latencies are the probe's. Requests of workers, apart from long polls,
share 64 connections; a real worker has up to four connections.`,
		sections: []section{
			{name: "postgres", title: "PostgreSQL", text: "The coordinator and PostgreSQL on one machine, through a Unix socket.", measures: scaleMeasures()},
			{name: "sqlite", title: "SQLite", text: "The coordinator with its database in a file. The database is a part of the coordinator's process.", measures: scaleMeasures()},
		},
	}
}

const (
	coordinatorProgram = "coordinator"
	databaseProgram    = "PostgreSQL"
)

func scaleMeasures() []measure {
	return []measure{
		{id: "scale.cpu", title: "CPU", unit: "% of a core", size: "workers", neutral: true},
		{id: "scale.memory", title: "Memory (PSS)", unit: "MB", size: "workers", neutral: true},
		{id: "scale.requests", title: "Requests", unit: "requests/s", size: "workers", neutral: true},
		{id: "scale.answered", title: "Requests that were answered in time", unit: "%", size: "workers", more: true, plain: true},
		{id: "scale.latency", title: "Latency", unit: "ms", size: "workers", neutral: true},
		{id: "scale.network", title: "Network", unit: "kB/s", size: "workers", neutral: true},
		{id: "scale.connections", title: "Connections and open files", unit: "number", size: "workers", neutral: true},
		{id: "scale.rows", title: "Rows written", unit: "rows/s", size: "workers", neutral: true},
		{id: "scale.database", title: "Size of the database after the measurement", unit: "MB", size: "workers", neutral: true, plain: true},
		{id: "scale.growth", title: "Growth of the database", unit: "MB/hour", size: "workers", neutral: true},
	}
}

// bound is the limit of one resource that a growing fleet uses up, with the remedy that helps at
// that limit.
type bound struct {
	measure, program string
	what             string
	limit            func(machine) float64
	remedy           string
	several          bool // the remedy needs several coordinators, which SQLite does not allow
}

func constant(v float64) func(machine) float64 { return func(machine) float64 { return v } }

// bounds lists the limits that a growing fleet may reach. The page leaves out a limit if the use of
// its resource was measured at fewer than three fleet sizes.
func bounds() []bound {
	cores := func(m machine) float64 { return float64(m.Cores) * 100 }
	memory := func(m machine) float64 { return float64(m.MemoryMB) }
	files := func(m machine) float64 { return float64(m.Files) }
	const (
		gigabit             = 125_000.0      // kB/s
		smallDisk           = 100_000.0 / 24 // in MB/hour; equals 100 GB per day
		postgresConnections = 100            // connections that PostgreSQL allows by default
		accepted            = 4096           // connections that gaffer serve accepts by default
	)
	return []bound{
		{
			measure: "scale.cpu", program: coordinatorProgram, what: "all cores of this machine for the coordinator alone", limit: cores, several: true,
			remedy: "more coordinators on the same PostgreSQL: they share requests, streams and JSON; more slots for each worker: it sends one heartbeat for all its agents",
		},
		{
			measure: "scale.cpu", program: databaseProgram, what: "all cores of this machine for PostgreSQL alone", limit: cores,
			remedy: "more cores for PostgreSQL, which all coordinators share; more slots for each worker",
		},
		{
			measure: "scale.memory", program: coordinatorProgram, what: "the memory of this machine for the coordinator alone", limit: memory, several: true,
			remedy: "more coordinators on the same PostgreSQL",
		},
		{
			measure: "scale.memory", program: databaseProgram, what: "the memory of this machine for PostgreSQL alone", limit: memory,
			remedy: "fewer connections to PostgreSQL, with PgBouncer in between",
		},
		{
			measure: "scale.connections", program: "clients", what: "`serve --connections`, by default 4,096", limit: constant(accepted),
			remedy: "a higher `--connections`; a real worker has up to four connections, so this comes up to four times earlier",
		},
		{
			measure: "scale.connections", program: "open files of the coordinator", what: "open files of a process on this machine", limit: files,
			remedy: "a higher limit (`LimitNOFILE` of systemd); up to four times earlier, too",
		},
		{
			measure: "scale.connections", program: "coordinator to PostgreSQL", what: "`max_connections` of PostgreSQL, by default 100", limit: constant(postgresConnections),
			remedy: "PgBouncer; the number depends on the coordinators, not on the agents",
		},
		{
			measure: "scale.growth", program: "database", what: "100 GB of disk in a day", limit: constant(smallDisk),
			remedy: "`serve --keep 7d`, which deletes old runs every hour; a smaller `serve --log-limit`",
		},
		{
			measure: "scale.network", program: "from workers", what: "1 Gbit/s from the workers", limit: constant(gigabit), several: true,
			remedy: "more coordinators on other machines",
		},
		{
			measure: "scale.network", program: "to 10 dashboards", what: "1 Gbit/s to ten dashboards", limit: constant(gigabit), several: true,
			remedy: "fewer open dashboards; more coordinators: each sends to its own readers",
		},
	}
}

// line is the straight line that fits measured points best (least squares).
type line struct {
	start, slope float64
	residual     float64 // largest distance of a point from the line, divided by the largest value
	points       int
}

// fit returns the line that fits the points best. ok is false if there are fewer than three points,
// because a line always fits two points exactly.
func fit(points map[int]float64) (l line, ok bool) {
	var n, sx, sy, sxx, sxy, most float64
	for _, size := range slices.Sorted(maps.Keys(points)) { // fixed order, because the order affects rounding errors
		x, y := float64(size), points[size]
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		most = max(most, math.Abs(y))
	}
	spread := n*sxx - sx*sx
	if n < 3 || spread == 0 {
		return l, false
	}
	l.slope = (n*sxy - sx*sy) / spread
	l.start, l.points = (sy-l.slope*sx)/n, int(n)
	if math.Abs(l.start) < most*1e-9 { // this start differs from 0 only by a rounding error
		l.start = 0
	}
	l.residual = l.distance(points, most)
	// If the line rises or falls by less than twice the largest distance of a point from the line,
	// regard the slope as noise. An extrapolation would multiply that noise, so use a horizontal
	// line instead.
	if largest := slices.Max(slices.Collect(maps.Keys(points))); math.Abs(l.slope)*float64(largest) < 2*l.residual*most {
		l.start, l.slope = sy/n, 0
		l.residual = l.distance(points, most)
	}
	return l, true
}

// distance returns the largest distance of a point from the line, divided by most, the largest
// value.
func (l line) distance(points map[int]float64, most float64) (far float64) {
	if most == 0 {
		return 0
	}
	for size, y := range points {
		far = max(far, math.Abs(y-l.at(float64(size)))/most)
	}
	return far
}

func (l line) at(x float64) float64 { return l.start + l.slope*x }

// reaches returns the x at which the line reaches the value y. It returns +Inf if the line does not
// rise, and 0 if a rising line starts above y.
func (l line) reaches(y float64) float64 {
	if l.slope <= 0 {
		return math.Inf(1)
	}
	return max((y-l.start)/l.slope, 0)
}

// inTime is the percentage of requests that must be answered in time. With a lower percentage, the
// machine counts as overloaded. Values from an overloaded machine are not extrapolated, because
// they do not show what a worker costs.
const inTime = 99

// held returns the figures of the fleets that the server could serve. A fleet is overloaded if
// fewer than inTime percent of its requests were answered in time. The second result is the size of
// the smallest overloaded fleet, or 0 if there is none.
func held(figures []figure.Figure) (list []figure.Figure, overloaded int) {
	late := map[int]bool{}
	for _, f := range figures {
		if f.Measure == "scale.answered" && f.Note == "" && f.Value < inTime {
			late[f.Size] = true
			if overloaded == 0 || f.Size < overloaded {
				overloaded = f.Size
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(figures), func(f figure.Figure) bool { return late[f.Size] }), overloaded
}

// extrapolation returns the part of the page with the values for 100,000 agents, and with the limits
// that a growing fleet reaches first.
func extrapolation(p page, r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Extrapolated to %s agents\n\nMethod: a straight line through the measured points (least squares), extended to %[1]s workers with one agent each. The distance is\nthe largest distance of a measured point from the line, as a share of the largest measured value. Sizes at which less than %d %% of\nthe requests were answered in time are left out: an overloaded machine does not show what a worker costs. No value beyond the\nlargest measured size was observed.\n", thousands(goal), inTime)
	for _, s := range p.sections {
		m, ok := r.section(s.name)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "\n### %s: extrapolated\n\n%s\n### %[1]s: what breaks first\n\n%[3]s", s.title, extrapolated(s, m), firstToBreak(s, m))
	}
	b.WriteString(`
Several coordinators may share one PostgreSQL: they keep no state of their own, and clients and workers change from one to another
([the coordinator](serve.md#running-on-a-server)). SQLite has one coordinator. The settings that the tables name are in
[the coordinator](serve.md) and in [looking after a fleet](operations.md#retention).
`)
	return b.String()
}

func extrapolated(s section, m measured) string {
	figures, _ := held(m.Figures)
	var b strings.Builder
	fmt.Fprintf(&b, "| value | unit | at 0 | for each 1,000 workers | points | distance | at %s |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n", thousands(goal))
	for _, k := range s.measures {
		if slices.Contains([]string{"scale.answered", "scale.latency", "scale.database"}, k.id) {
			continue // these measures are not extrapolated
		}
		for _, row := range tableOf(k, figures).rows {
			l, ok := fit(row.values)
			if !ok {
				continue
			}
			fmt.Fprintf(&b, "| %s: %s | %s | %s | %s | %d | %.0f %% | %s |\n", k.title, row.program, k.unit,
				number(l.start), number(l.slope*1000), l.points, l.residual*100, number(l.at(goal)))
		}
	}
	return b.String()
}

// firstToBreak returns a Markdown table of the resource limits that [bounds] lists, in the order in
// which a growing fleet reaches them.
func firstToBreak(s section, m measured) string {
	type breach struct {
		bound
		at float64
	}
	figures, overloaded := held(m.Figures)
	var list []breach
	for _, limit := range bounds() {
		i := slices.IndexFunc(s.measures, func(k measure) bool { return k.id == limit.measure })
		for _, row := range tableOf(s.measures[i], figures).rows {
			if l, ok := fit(row.values); ok && row.program == limit.program {
				list = append(list, breach{limit, l.reaches(limit.limit(m.Machine))})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b breach) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	if overloaded > 0 {
		fmt.Fprintf(&b, "With %s workers this machine did not answer all requests in time, with the load on the same cores.\n\n", thousands(overloaded))
	}
	b.WriteString("| used up | at about … workers | then |\n| --- | ---: | --- |\n")
	for _, x := range list {
		at := "does not grow"
		if !math.IsInf(x.at, 1) {
			at = thousands(int(significant(x.at, 2)))
		}
		if x.several && s.name == "sqlite" {
			x.remedy = "PostgreSQL instead of SQLite; then " + x.remedy
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", x.what, at, x.remedy)
	}
	return b.String()
}
