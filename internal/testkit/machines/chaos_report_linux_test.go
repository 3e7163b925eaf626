package machines

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/engine/store/storetest"
)

// report records what happened during the test.
type report struct {
	seed    uint64
	lasts   time.Duration
	begun   time.Time
	rested  time.Duration
	log     []string
	file    string         // path of the log file
	faults  map[string]int // number of faults, by "kind | target"
	cannot  []string       // faults that this machine does not allow to inject
	ended   map[string]int // number of programs that ended without a fault, by name
	figures []string
	looks   string

	submitted, localPlans int
	invariants            []*invariant
}

// invariant is a property that must always hold.
type invariant struct {
	name     string
	checks   int
	problems []string
}

func newReport(seed uint64) *report {
	r := &report{seed: seed, begun: time.Now(), faults: map[string]int{}, ended: map[string]int{}}
	for _, name := range []string{comesToRest, noneLost, oneLive, replays, validDocs, keptAside, noneLeft} {
		r.invariants = append(r.invariants, &invariant{name: name})
	}
	r.impossible("clock jumps", "setting the clock would hit every program of the machine, since a time namespace has no "+
		"clock of its own for the time of day; internal/engine simulates them")
	return r
}

func (r *report) note(format string, args ...any) {
	line := fmt.Sprintf("%s %6.1fs ", time.Now().UTC().Format(time.TimeOnly), time.Since(r.begun).Seconds()) + fmt.Sprintf(format, args...)
	r.log = append(r.log, line)
	if f, err := os.OpenFile(r.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
		fmt.Fprintln(f, line)
		_ = f.Close() // ignore the error: the log is also in memory
	}
}

func (r *report) impossible(what, why string) {
	r.cannot = append(r.cannot, fmt.Sprintf("%s: %s", what, why))
}

func (r *report) fault(f fault, what string) {
	r.faults[f.kind+" | "+strings.TrimRight(f.target, "0123456789")]++ // count machines of one kind together
	text := f.kind + ": " + f.target
	if what != "" {
		text += ", " + what
	}
	if f.lasts > 0 {
		text += fmt.Sprintf(", for %.1f s", f.lasts.Seconds())
	}
	r.note("%s", text)
}

func (r *report) checkedTimes(name string, n int) {
	for _, i := range r.invariants {
		if i.name == name {
			i.checks += n
		}
	}
}

func (r *report) checked(name string) { r.checkedTimes(name, 1) }

// found records that the invariant called name does not hold.
func (r *report) found(name, problem string) {
	r.note("NOT TRUE: %s: %s", name, problem)
	for _, i := range r.invariants {
		if i.name == name {
			i.problems = append(i.problems, problem)
		}
	}
}

// count records the number of rows in a database. which names the database.
func (r *report) count(which string, rows storetest.Rows) {
	classes, statuses := map[string]int{}, map[string]int{}
	for _, a := range rows.Attempts {
		classes[strings.TrimSuffix(string(a.Status)+" "+string(a.Class), " ")]++
	}
	for _, t := range rows.Tasks {
		statuses[string(t.Status)]++
	}
	r.figures = append(r.figures, fmt.Sprintf("| %s | %d | %d (%s) | %d (%s) |", which, len(rows.Runs), len(rows.Tasks), counts(statuses), len(rows.Attempts), counts(classes)))
}

func counts(of map[string]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, fmt.Sprintf("%d %s", of[name], name))
	}
	return strings.Join(list, ", ")
}

// text returns the report as Markdown.
func (r *report) text(failed bool) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	commit, err := exec.Command("git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		commit = []byte("unknown")
	}
	total := 0
	for _, n := range r.faults {
		total += n
	}
	p("# Chaos\n")
	p("Commit %s, seed %d, %s. Faults happened for %.1f minutes, and everything was at rest %.0f seconds later.\n",
		strings.TrimSpace(string(commit)), r.seed, r.begun.UTC().Format(time.DateOnly), r.lasts.Minutes(), r.rested.Seconds())
	p("Again, with the same faults in the same order: `script/chaos --seed %d --minutes %g`\n", r.seed, r.lasts.Minutes())
	p("| what must be true | checks | result |\n| --- | --- | --- |")
	for _, i := range r.invariants {
		result := "holds"
		switch {
		case len(i.problems) > 0:
			result = fmt.Sprintf("**%d PROBLEMS**, the first: %s", len(i.problems), i.problems[0])
		case i.checks == 0:
			result = "**not checked**"
		}
		p("| %s | %d | %s |", i.name, i.checks, result)
	}
	if failed {
		p("\nThe test has failed.")
	}
	p("\nProcesses of agents: %s.\n", r.looks)
	p("| store | runs | tasks | attempts |\n| --- | --- | --- | --- |\n%s\n", strings.Join(r.figures, "\n"))
	p("| fault | target | %d times |\n| --- | --- | --- |", total)
	for _, name := range slices.Sorted(maps.Keys(r.faults)) {
		p("| %s | %d |", name, r.faults[name])
	}
	p("\nNot possible here: %s.", strings.Join(r.cannot, "; "))
	if len(r.ended) > 0 {
		p("\nPrograms that ended by themselves, and were started again: %s.", counts(r.ended))
	}
	return b.String()
}

// write prints the report. If file is not empty, it also writes the report to that file. If the
// test has failed, it prints the end of the log.
func (r *report) write(t *testing.T, file string) {
	text := r.text(t.Failed())
	t.Logf("\n%s", text)
	if t.Failed() {
		const most = 80
		t.Logf("GAFFER_TEST_SEED=%d; the last of %d lines of the log:\n%s", r.seed, len(r.log), strings.Join(r.log[max(0, len(r.log)-most):], "\n"))
	}
	if file == "" {
		return
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Error(err)
	}
}
