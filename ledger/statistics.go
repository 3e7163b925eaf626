package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"gaffer/statefile/timestamp"
)

// Statistics holds the counts of a report. In the names and comments of its fields, a run is one
// attempt of a task. Rates are percentages with one decimal: success_rate is the share of the ended
// attempts that succeeded, and retry_rate is the share of the tasks that needed more than one
// attempt.
type Statistics struct {
	TotalRuns          int        `json:"total_runs"`
	Tasks              int        `json:"tasks"`
	Success            int        `json:"success"`
	Failed             int        `json:"failed"`
	Timeout            int        `json:"timeout"`
	Running            int        `json:"running"`
	Other              int        `json:"other"` // runs with a status that the protocol does not define
	Lost               int        `json:"lost"`  // runs whose process disappeared; they are also counted in Failed or Timeout
	Stuck              int        `json:"stuck"` // runs that are counted in Running but have ended or were probably abandoned
	SuccessRate        float64    `json:"success_rate"`
	RetryCount         int        `json:"retry_count"` // tasks with more than one attempt
	RetryRate          float64    `json:"retry_rate"`
	AvgDurationSeconds float64    `json:"avg_duration_seconds"`
	FirstRun           *string    `json:"first_run"` // start of the earliest run; null if no run has a readable time
	LastRun            *string    `json:"last_run"`  // start of the run that started last; null if no run has a readable time
	ByAgent            []Agent    `json:"by_agent"`
	ByModel            []Model    `json:"by_model"`
	ByTemplate         []Template `json:"by_template"`
	FailureReasons     []Reason   `json:"failure_reasons"` // sorted by frequency, the most common reason first
	TaskTypes          []TaskType `json:"task_types"`
	Durations          Durations  `json:"duration_distribution"`
	ByWeek             []Week     `json:"by_week"`       // counts for each of the most recent weeks in which runs started
	EarlierWeeks       Group      `json:"earlier_weeks"` // counts of the runs in all weeks before the weeks in ByWeek
	Undated            Group      `json:"undated"`       // counts of the runs whose week is unknown or in the future
	Retries            Retries    `json:"retries"`
	Cost               Cost       `json:"cost"`
}

// Agent counts the runs of one agent.
type Agent struct {
	Agent string `json:"agent"`
	Group
}

// Model counts the runs of one model.
type Model struct {
	Model string `json:"model"`
	Group
}

// Template counts the runs of one prompt template. Runs without a template count as "custom".
type Template struct {
	Template string `json:"template"`
	Group
}

// TaskType counts the runs whose prompt begins with the same known word, such as "fix". Runs whose
// prompt begins with any other word count as "other".
type TaskType struct {
	TaskType string `json:"task_type"`
	Group
}

// Reason counts the runs that failed or timed out for the same reason.
type Reason struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// Cost is the total cost of the runs whose cost is known.
type Cost struct {
	USD         *float64 `json:"usd"` // null if no cost is known
	KnownRuns   int      `json:"known_runs"`
	UnknownRuns int      `json:"unknown_runs"`
	FailedUSD   *float64 `json:"failed_usd"` // cost of failed and timed out runs; null if no cost is known
}

// noReason is the name under which a report counts the failures that have no recorded reason.
const noReason = "not given"

// lostReason is the failure reason of an attempt whose process disappeared before it could record
// how the attempt ended.
const lostReason = "lost"

// tally adds up the counts of a report, task by task.
type tally struct {
	now                              time.Time
	all, failed                      sum
	tasks, lost                      int
	agents, models, templates, types sums
	reasons                          sums
	weeks                            weeks
	durations                        durations
	retries                          retries
	timeouts, stuck                  latest
	stuckCount                       int
	first, last                      time.Time
	leftOut                          []LeftOut
}

func newTally(now time.Time) *tally {
	return &tally{
		now:    now,
		agents: sums{}, models: sums{}, templates: sums{}, types: sums{}, reasons: sums{},
		weeks: weeks{now: now, by: map[int64]*sum{}}, leftOut: []LeftOut{},
	}
}

// add adds the attempts of one task to the counts. The parameter uncounted lists the files and
// attempts of the task that the report does not count; add adds them to t.leftOut.
func (t *tally) add(attempts []Attempt, uncounted []leftOut) {
	for _, l := range uncounted {
		t.leave(l)
	}
	if len(attempts) == 0 {
		return
	}
	t.tasks++
	t.retries.add(attempts[len(attempts)-1])
	for _, a := range attempts {
		t.attempt(a)
	}
}

func (t *tally) attempt(a Attempt) {
	for _, s := range []*sum{
		&t.all, t.agents.of(a.Agent), t.models.of(a.Model), t.templates.of(a.Template), t.types.of(a.TaskType), t.weeks.of(a),
	} {
		s.add(a)
	}
	if a.isTimed() {
		t.durations.add(*a.DurationSeconds)
	}
	t.between(a)
	switch {
	case a.hasFailed():
		t.failure(a)
	case a.isStuck(t.now):
		t.stuckCount++
		t.stuck.add(a)
	}
}

func (t *tally) failure(a Attempt) {
	reason := cmp.Or(a.Reason, noReason)
	if isLost(reason) {
		reason = lostReason
		t.lost++
	}
	t.failed.add(a)
	t.reasons.of(reason).add(a)
	if a.Status == TimedOut {
		t.timeouts.add(a)
	}
}

// isLost reports whether reason is "lost", or "lost" followed by details, such as "lost: no
// heartbeat". It returns false for other words that begin with "lost".
func isLost(reason string) bool {
	rest, ok := strings.CutPrefix(reason, lostReason)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ":;,. ("))
}

// between updates t.first and t.last, the earliest and the latest start time in the report, with
// the start time of the attempt a or, if that is unknown, with its end time. It ignores a if both
// times are unknown or if the time is in a future week.
func (t *tally) between(a Attempt) {
	at := a.begin()
	if !t.weeks.has(at) {
		return
	}
	if t.first.IsZero() || at.Before(t.first) {
		t.first = at
	}
	if at.After(t.last) {
		t.last = at
	}
}

func (t *tally) leave(l leftOut) {
	at := slices.IndexFunc(t.leftOut, func(o LeftOut) bool { return o.Reason == l.reason })
	if at < 0 {
		at = len(t.leftOut)
		t.leftOut = append(t.leftOut, LeftOut{Reason: l.reason})
	}
	o := &t.leftOut[at]
	if o.Count++; len(o.Files) < maxNamed {
		o.Files = append(o.Files, l.path)
	}
}

func (t *tally) statistics() Statistics {
	all := t.all.group()
	return Statistics{
		TotalRuns: all.Count, Tasks: t.tasks,
		Success: all.Success, Failed: all.Failed, Timeout: all.Timeout, Running: all.Running,
		Other:       all.Count - all.Ended() - all.Running,
		Lost:        t.lost,
		Stuck:       t.stuckCount,
		SuccessRate: all.SuccessRate,
		RetryCount:  t.retries.retried(), RetryRate: percent(t.retries.retried(), t.tasks),
		AvgDurationSeconds: all.AvgDuration,
		FirstRun:           optionalTime(t.first), LastRun: optionalTime(t.last),
		ByAgent:        groups(t.agents, func(key string, g Group) Agent { return Agent{key, g} }),
		ByModel:        groups(t.models, func(key string, g Group) Model { return Model{key, g} }),
		ByTemplate:     groups(t.templates, func(key string, g Group) Template { return Template{key, g} }),
		TaskTypes:      groups(t.types, func(key string, g Group) TaskType { return TaskType{key, g} }),
		FailureReasons: byCount(t.reasons),
		Durations:      t.durations.distribution(),
		ByWeek:         t.weeks.list(),
		EarlierWeeks:   t.weeks.earlier.group(), Undated: t.weeks.undated.group(),
		Retries: t.retries.counted(),
		Cost: Cost{
			USD: all.CostUSD, KnownRuns: all.CostRuns, UnknownRuns: all.Count - all.CostRuns,
			FailedUSD: t.failed.group().CostUSD,
		},
	}
}

// byCount lists the failure reasons with their counts, the most common first.
func byCount(s sums) []Reason {
	list := groups(s, func(name string, g Group) Reason { return Reason{name, g.Count} })
	slices.SortStableFunc(list, func(a, b Reason) int { return b.Count - a.Count })
	return list
}

func optionalTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := timestamp.Format(t)
	return &text
}
