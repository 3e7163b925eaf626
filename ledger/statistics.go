package ledger

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Statistics are the counts of a report. Rates are percentages with one
// decimal. success_rate is of the runs that have ended, retry_rate of the tasks.
type Statistics struct {
	TotalRuns          int        `json:"total_runs"`
	Tasks              int        `json:"tasks"`
	Success            int        `json:"success"`
	Failed             int        `json:"failed"`
	Timeout            int        `json:"timeout"`
	Running            int        `json:"running"`
	Other              int        `json:"other"` // with a status that the protocol does not have
	SuccessRate        float64    `json:"success_rate"`
	RetryCount         int        `json:"retry_count"` // tasks that needed more than one attempt
	RetryRate          float64    `json:"retry_rate"`
	AvgDurationSeconds float64    `json:"avg_duration_seconds"`
	ByAgent            []Agent    `json:"by_agent"`
	ByModel            []Model    `json:"by_model"`
	ByTemplate         []Template `json:"by_template"`
	FailureReasons     []Reason   `json:"failure_reasons"` // the most common first
	TaskTypes          []TaskType `json:"task_types"`
}

// Group is what runs that have something in common add up to.
type Group struct {
	Count       int     `json:"count"`
	Success     int     `json:"success"`
	Failed      int     `json:"failed"`
	Timeout     int     `json:"timeout"`
	Running     int     `json:"running"`
	SuccessRate float64 `json:"success_rate"` // of those that have ended
	AvgDuration float64 `json:"avg_duration"` // in seconds, of those that say how long
}

// Agent is the runs of one agent.
type Agent struct {
	Agent string `json:"agent"`
	Group
}

// Model is the runs of one model.
type Model struct {
	Model string `json:"model"`
	Group
}

// Template is the runs from one prompt template, "custom" for none.
type Template struct {
	Template string `json:"template"`
	Group
}

// TaskType is the runs whose prompt begins with the same word.
type TaskType struct {
	TaskType string `json:"task_type"`
	Group
}

// Reason is why runs failed or timed out.
type Reason struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// noReason stands for the reason of a failure that says none.
const noReason = "not given"

// tally counts while a report reads.
type tally struct {
	all                              sum
	tasks, retried                   int
	agents, models, templates, types sums
	reasons                          map[string]int
	leftOut                          []LeftOut
}

// sum counts runs.
type sum struct {
	count, success, failed, timeout, running int
	timed                                    int
	seconds                                  float64
}

type sums map[string]*sum

func newTally() *tally {
	return &tally{
		agents: sums{}, models: sums{}, templates: sums{}, types: sums{},
		reasons: map[string]int{}, leftOut: []LeftOut{},
	}
}

// add counts one task.
func (t *tally) add(attempts []Attempt, left []leftOut) {
	for _, l := range left {
		t.leave(l)
	}
	if len(attempts) == 0 {
		return
	}
	t.tasks++
	if slices.ContainsFunc(attempts, func(a Attempt) bool { return a.Attempt > 1 }) {
		t.retried++
	}
	for _, a := range attempts {
		t.all.add(a)
		t.agents.add(a.Agent, a)
		t.models.add(a.Model, a)
		t.templates.add(a.Template, a)
		t.types.add(a.TaskType, a)
		if a.Status == Failed || a.Status == TimedOut {
			t.reasons[cmp.Or(a.Reason, noReason)]++
		}
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

func (s sums) add(key string, a Attempt) {
	one := s[key]
	if one == nil {
		one = &sum{}
		s[key] = one
	}
	one.add(a)
}

func (s *sum) add(a Attempt) {
	s.count++
	switch a.Status {
	case Done:
		s.success++
	case Failed:
		s.failed++
	case TimedOut:
		s.timeout++
	case Running:
		s.running++
	}
	if a.DurationSeconds != nil && a.Status != Running {
		s.timed++
		s.seconds += *a.DurationSeconds
	}
}

func (s sum) group() Group {
	return Group{
		Count: s.count, Success: s.success, Failed: s.failed, Timeout: s.timeout, Running: s.running,
		SuccessRate: percent(s.success, s.success+s.failed+s.timeout),
		AvgDuration: oneDecimal(s.seconds / float64(max(s.timed, 1))),
	}
}

func (t *tally) statistics() Statistics {
	all := t.all.group()
	s := Statistics{
		TotalRuns: all.Count, Tasks: t.tasks,
		Success: all.Success, Failed: all.Failed, Timeout: all.Timeout, Running: all.Running,
		Other:       all.Count - all.Success - all.Failed - all.Timeout - all.Running,
		SuccessRate: all.SuccessRate,
		RetryCount:  t.retried, RetryRate: percent(t.retried, t.tasks),
		AvgDurationSeconds: all.AvgDuration,
		ByAgent:            groups(t.agents, func(key string, g Group) Agent { return Agent{key, g} }),
		ByModel:            groups(t.models, func(key string, g Group) Model { return Model{key, g} }),
		ByTemplate:         groups(t.templates, func(key string, g Group) Template { return Template{key, g} }),
		TaskTypes:          groups(t.types, func(key string, g Group) TaskType { return TaskType{key, g} }),
		FailureReasons:     make([]Reason, 0, len(t.reasons)),
	}
	for reason, count := range t.reasons {
		s.FailureReasons = append(s.FailureReasons, Reason{reason, count})
	}
	slices.SortFunc(s.FailureReasons, func(a, b Reason) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Reason, b.Reason))
	})
	return s
}

// groups lists the sums by their key.
func groups[T any](s sums, named func(string, Group) T) []T {
	keys := make([]string, 0, len(s))
	for key := range s {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	list := make([]T, len(keys))
	for i, key := range keys {
		list[i] = named(key, s[key].group())
	}
	return list
}

func percent(part, whole int) float64 {
	return oneDecimal(100 * float64(part) / float64(max(whole, 1)))
}

func oneDecimal(f float64) float64 { return math.Round(f*10) / 10 }
