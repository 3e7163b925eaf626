package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gaffer/ledger"
)

// attempt is one attempt of a task, with its run record and, if it has ended, its result record.
type attempt struct {
	run    ledger.Run
	result *ledger.Result // nil if the attempt has not ended
	last   bool           // the attempt is the last one of its task
}

var (
	models  = map[string][]string{"claude": {"sonnet", "opus", "haiku"}, "codex": {"gpt-5.3-codex", "gpt-5.3-codex-mini"}}
	verbs   = []string{"Fix", "Build", "Implement", "Review", "Update", "Design", "Investigate"}
	objects = []string{"the session lock", "login with a second factor", "a parser for wave plans", "the retry of lost agents", "the dashboard's timeline"}
	reasons = []string{"watch-timeout-3600s", "session-exited-without-markers", "tmux-launch-failed", "disk-space-exhausted", "max-retries-reached", "session-disappeared"}
	plans   = []string{"", "bug-fix", "feature", "refactor", "docs"}
	first   = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
)

// task writes the records of all attempts of a task. Most tasks have one attempt. No task has more
// than three attempts, or more than maxAttempts.
func (w *writer) task(number, maxAttempts int) error {
	attempts := 1
	for attempts < min(3, maxAttempts) && w.rng.IntN(100) < 15 {
		attempts++
	}
	bead := fmt.Sprintf("bd-%06x", number)
	if w.rng.IntN(100) < 2 {
		bead = fmt.Sprintf("swarm_%d", number)
	}
	form := w.rng.IntN(100)
	if w.full {
		form = 0
	}
	start := first.Add(time.Duration(number) * time.Minute)
	for n := 1; n <= attempts; n++ {
		a := w.attempt(bead, n, n == attempts, start)
		start = start.Add(2 * time.Hour)
		if err := w.record(a, form); err != nil {
			return err
		}
	}
	return nil
}

func pick[T any](w *writer, list []T) T { return list[w.rng.IntN(len(list))] }

func (w *writer) attempt(bead string, n int, last bool, start time.Time) attempt {
	agent := []string{"claude", "claude", "codex"}[w.rng.IntN(3)]
	prompt := fmt.Sprintf("%s %s. %s", pick(w, verbs), pick(w, objects), strings.Repeat("Keep the tests green and say what you changed. ", w.rng.IntN(12)))
	run := ledger.NewRun(ledger.Dispatch{
		Bead: bead, Agent: agent, Model: pick(w, models[agent]), Repo: "/home/dev/repo",
		Prompt: prompt, Template: pick(w, plans), Attempt: n,
	}, start)
	run.ResultFile = "state/results/" + bead + ".json"
	a := attempt{run: run, last: last}
	if last && w.rng.IntN(100) < 8 {
		// Leave the attempt without a result: it is still running, or its end was never recorded.
		return a
	}
	a.end(w, start)
	return a
}

// end sets the outcome of the attempt. An attempt that is not the last one of its task always
// fails.
func (a *attempt) end(w *writer, start time.Time) {
	status, reason, code := ledger.Done, "Did what was asked and checked it", 0
	if !a.last || w.rng.IntN(100) < 15 {
		status, reason, code = ledger.Failed, pick(w, reasons), 127
		if strings.HasPrefix(reason, "watch-timeout") {
			status, code = ledger.TimedOut, 124
		}
	}
	seconds := 20 + w.rng.IntN(3600)
	finished := start.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
	output := ledger.Summary(strings.Repeat("ok  gaffer/ledger  0.2s\n", 40))
	a.run.Status, a.run.FinishedAt, a.run.DurationSeconds, a.run.ExitCode = status, &finished, &seconds, &code
	a.run.OutputSummary = &output
	if status != ledger.Done {
		a.run.FailureReason = &reason
	}
	a.result = &ledger.Result{
		SchemaVersion: ledger.Version, Bead: a.run.Bead, Agent: a.run.Agent, Status: status, Reason: reason,
		StartedAt: a.run.StartedAt, FinishedAt: finished, DurationSeconds: &seconds,
		Attempt: a.run.Attempt, MaxRetries: a.run.MaxRetries, WillRetry: !a.last, ExitCode: &code, SessionName: a.run.SessionName,
		OutputSummary: &output,
	}
}

// record writes the run record and the result record of an attempt. The parameter form, from 0 to
// 99, selects their form. Below 70, the records have all members. From 70 to 94, they have only a
// few members. From 95 on, they have all members, and the run record has an irregularity that was
// found in the records of real fleets.
func (w *writer) record(a attempt, form int) error {
	name := a.run.Bead + ".json"
	if !a.last {
		name = fmt.Sprintf("%s.attempt-%d.json", a.run.Bead, a.run.Attempt)
	}
	var run, result any = a.run, a.result
	switch {
	case form >= 95:
		run = irregularRun(a.run, form)
	case form >= 70:
		run, result = minimalRun(a.run), minimalResult(a.result)
	}
	text, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	if err := w.write("runs", name, append(text, '\n')); err != nil || a.result == nil {
		return err
	}
	if text, err = json.MarshalIndent(result, "", "  "); err != nil {
		return err
	}
	return w.write("results", name, append(text, '\n'))
}

func minimalRun(r ledger.Run) any {
	return struct {
		Bead      string `json:"bead"`
		Agent     string `json:"agent"`
		Model     string `json:"model"`
		Repo      string `json:"repo"`
		StartedAt string `json:"started_at"`
		Attempt   int    `json:"attempt"`
		Prompt    string `json:"prompt"`
	}{r.Bead, r.Agent, r.Model, r.Repo, r.StartedAt, r.Attempt, r.Prompt}
}

func minimalResult(r *ledger.Result) any {
	if r == nil {
		return nil
	}
	return struct {
		Bead       string        `json:"bead"`
		Status     ledger.Status `json:"status"`
		FinishedAt string        `json:"finished_at"`
		Attempt    int           `json:"attempt"`
	}{r.Bead, r.Status, r.FinishedAt, r.Attempt}
}

// irregularRun returns the run record r with an irregularity that was found in the records of real
// fleets. The parameter form, from 95 to 99, selects the irregularity. For 95, the start time is
// unusable: it is the name of a shell variable.
func irregularRun(r ledger.Run, form int) ledger.Run {
	switch form {
	case 95:
		r.StartedAt = "'$START'"
	case 96:
		r.Repo = "$HOME/repo"
	case 97:
		r.StartedAt = strings.TrimSuffix(r.StartedAt, "Z") + ".250Z"
	case 98:
		r.StartedAt = strings.TrimSuffix(r.StartedAt, "Z") + "+00:00"
	default:
		if r.DurationSeconds != nil {
			longer := *r.DurationSeconds + 3
			r.DurationSeconds = &longer
		}
	}
	return r
}
