package report

import (
	"fmt"
	"strings"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/ledger"
)

// maxReasons is how many reasons of failure a person is shown.
const maxReasons = 10

// printText writes the report for people.
func printText(e *env.Env, r ledger.Report) error {
	s := r.Statistics
	since := ""
	if r.Filter.Since != nil {
		since = " since " + env.Printable(*r.Filter.Since)
	}
	sections := []func() error{
		func() error {
			return e.Printf("%d runs of %d tasks%s: %d done, %d failed, %d timeout, %d running%s\n",
				s.TotalRuns, s.Tasks, since, s.Success, s.Failed, s.Timeout, s.Running, others(s.Other))
		},
		func() error {
			return e.Printf("success %.1f%% of those ended, retries %.1f%% of tasks (%d), average %s\n",
				s.SuccessRate, s.RetryRate, s.RetryCount, duration(s.AvgDurationSeconds))
		},
		func() error {
			return table(e, "Agent", s.ByAgent, func(a ledger.Agent) (string, ledger.Group) { return a.Agent, a.Group })
		},
		func() error {
			return table(e, "Model", s.ByModel, func(m ledger.Model) (string, ledger.Group) { return m.Model, m.Group })
		},
		func() error {
			return table(e, "Template", s.ByTemplate, func(t ledger.Template) (string, ledger.Group) { return t.Template, t.Group })
		},
		func() error {
			return table(e, "Task type", s.TaskTypes, func(t ledger.TaskType) (string, ledger.Group) { return t.TaskType, t.Group })
		},
		func() error { return reasons(e, s.FailureReasons) },
		func() error { return lines(e, "Recommendations", r.Recommendations) },
		func() error { return left(e, r.LeftOut) },
	}
	for _, section := range sections {
		if err := section(); err != nil {
			return err
		}
	}
	return nil
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d with another status", n)
}

func table[T any](e *env.Env, title string, list []T, of func(T) (string, ledger.Group)) error {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{title, "Runs", "Done", "Failed", "Timeout", "Running", "Success", "Average"}}
	for _, item := range list {
		name, g := of(item)
		rows = append(rows, []string{
			env.Printable(name), fmt.Sprint(g.Count), fmt.Sprint(g.Success), fmt.Sprint(g.Failed), fmt.Sprint(g.Timeout),
			fmt.Sprint(g.Running), fmt.Sprintf("%.1f%%", g.SuccessRate), duration(g.AvgDuration),
		})
	}
	if err := e.Printf("\n"); err != nil {
		return err
	}
	return e.Table(rows)
}

func reasons(e *env.Env, list []ledger.Reason) error {
	var texts []string
	for i, r := range list {
		if i == maxReasons {
			texts = append(texts, fmt.Sprintf("and %d other reasons", len(list)-i))
			break
		}
		texts = append(texts, fmt.Sprintf("%d × %s", r.Count, r.Reason))
	}
	return lines(e, "Reasons of failure", texts)
}

func left(e *env.Env, list []ledger.LeftOut) error {
	var texts []string
	for _, l := range list {
		more := ""
		if l.Count > len(l.Files) {
			more = ", …"
		}
		texts = append(texts, fmt.Sprintf("%d × %s: %s%s", l.Count, l.Reason, strings.Join(l.Files, ", "), more))
	}
	return lines(e, "Left out", texts)
}

func lines(e *env.Env, title string, texts []string) error {
	if len(texts) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", title)
	for _, t := range texts {
		fmt.Fprintf(&b, "  %s\n", env.Printable(t))
	}
	return e.Printf("%s", b.String())
}

func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}
