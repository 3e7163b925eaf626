package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// anyAttempts returns random attempts of a task. Some have values that cannot be right.
func anyAttempts(rng *rand.Rand, task int) []Attempt {
	var list []Attempt
	for n := 1 + rng.IntN(3)*rng.IntN(5); n > 0; n-- {
		a := Attempt{
			Bead: fmt.Sprintf("bd-%d", task), Attempt: 1 + len(list) + rng.IntN(2),
			Agent: fmt.Sprintf("agent-%d", rng.IntN(1500)), Model: fmt.Sprint(rng.IntN(3)), Template: "custom", TaskType: "fix",
			Status: []Status{Done, Done, Failed, TimedOut, Running, "odd"}[rng.IntN(6)],
			Reason: fmt.Sprint(rng.Uint64()), HasResult: rng.IntN(2) == 0,
		}
		if rng.IntN(10) > 0 {
			a.started = noon.Add(time.Duration(rng.Int64N(int64(500*24*time.Hour))) - 450*24*time.Hour)
		}
		if rng.IntN(10) > 0 {
			a.DurationSeconds = new(math.Exp(rng.Float64()*20 - 4))
		}
		if rng.IntN(3) > 0 {
			a.CostUSD = new(rng.Float64())
		}
		list = append(list, a)
	}
	return list
}

func TestTheCountsOfAReportAddUp(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		tally, timed := newTally(noon), 0
		for task := range 100 * int(seed) {
			attempts := anyAttempts(rng, task)
			tally.add(attempts, nil)
			for _, a := range attempts {
				if a.isTimed() {
					timed++
				}
			}
		}
		s := tally.statistics()
		total := func(name string, want int, parts ...int) {
			sum := 0
			for _, n := range parts {
				sum += n
			}
			if sum != want {
				t.Errorf("seed %d: %s add up to %d, want %d", seed, name, sum, want)
			}
		}
		total("statuses", s.TotalRuns, s.Success, s.Failed, s.Timeout, s.Running, s.Other)
		total("agents", s.TotalRuns, each(s.ByAgent, func(a Agent) int { return a.Count })...)
		total("models", s.TotalRuns, each(s.ByModel, func(m Model) int { return m.Count })...)
		total("weeks", s.TotalRuns-s.EarlierWeeks.Count-s.Undated.Count, each(s.ByWeek, func(w Week) int { return w.Count })...)
		total("costs of weeks", s.Cost.KnownRuns-s.EarlierWeeks.CostRuns-s.Undated.CostRuns, each(s.ByWeek, func(w Week) int { return w.CostRuns })...)
		total("known and unknown costs", s.TotalRuns, s.Cost.KnownRuns, s.Cost.UnknownRuns)
		total("buckets", timed, each(s.Durations.Buckets, func(b Bucket) int { return b.Count })...)
		total("timed runs", timed, s.Durations.Runs)
		total("reasons", s.Failed+s.Timeout, each(s.FailureReasons, func(r Reason) int { return r.Count })...)
		total("attempts", s.Tasks, each(s.Retries.ByAttempts, func(a Attempts) int { return a.Tasks })...)
		if s.Retries.Done+s.Retries.GaveUp > s.Retries.Tasks || s.Stuck > s.Running {
			t.Errorf("seed %d: %+v, %d stuck of %d", seed, s.Retries, s.Stuck, s.Running)
		}
		if len(s.ByAgent) > maxGroups+1 || len(s.FailureReasons) > maxGroups+1 || len(s.ByWeek) > maxWeeks {
			t.Errorf("seed %d: %d agents, %d reasons, %d weeks", seed, len(s.ByAgent), len(s.FailureReasons), len(s.ByWeek))
		}
		if _, err := json.Marshal(s); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func each[T any](list []T, of func(T) int) []int {
	out := make([]int, len(list))
	for i, item := range list {
		out[i] = of(item)
	}
	return out
}

func TestTheLastWeeksThatHaveRunsAreKeptInWhateverOrderTheyCome(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	days := rng.Perm(400)
	tally := newTally(noon)
	for _, day := range days {
		tally.add([]Attempt{{Attempt: 1, Status: Done, started: noon.Add(-time.Duration(day) * 24 * time.Hour)}}, nil)
	}
	s := tally.statistics()
	if len(s.ByWeek) != maxWeeks || !slices.IsSortedFunc(s.ByWeek, func(a, b Week) int { return strings.Compare(a.Start, b.Start) }) {
		t.Fatalf("%d weeks: %v", len(s.ByWeek), s.ByWeek)
	}
	for _, w := range s.ByWeek[:maxWeeks-1] {
		if w.Count != 7 {
			t.Errorf("week %s has %d runs, want 7", w.Week, w.Count)
		}
	}
	year, week := noon.ISOWeek()
	if last := s.ByWeek[maxWeeks-1]; last.Week != fmt.Sprintf("%d-W%02d", year, week) {
		t.Errorf("the last week is %s", last.Week)
	}
}

func TestWeeksAreThoseOfISO8601(t *testing.T) {
	for date, want := range map[string]string{
		"2026-01-01T00:00:00Z": "2026-W01 2025-12-29", "2025-12-28T23:59:59Z": "2025-W52 2025-12-22",
		"2021-01-03T12:00:00Z": "2020-W53 2020-12-28", "2024-12-30T00:00:00+02:00": "2024-W52 2024-12-23",
	} {
		tally := newTally(noon)
		tally.add([]Attempt{{Attempt: 1, started: timeOf(date)}}, nil)
		if got := tally.statistics().ByWeek[0]; got.Week+" "+got.Start != want {
			t.Errorf("%s: %s %s, want %s", date, got.Week, got.Start, want)
		}
	}
}

func TestARunInTheFutureHasNoWeek(t *testing.T) {
	tally := newTally(noon)
	tally.add([]Attempt{{Attempt: 1, started: noon.Add(8 * 24 * time.Hour)}, {Attempt: 2}}, nil)
	if s := tally.statistics(); s.Undated.Count != 2 || len(s.ByWeek) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestQuantilesAreExactForFewAndWithinAPercentForMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 10, maxExact, maxExact + 1, 50_000} {
		var d durations
		all := make([]float64, n)
		for i := range all {
			all[i] = math.Exp(rng.NormFloat64()*2 + 5)
			d.add(all[i])
		}
		slices.Sort(all)
		got := d.distribution()
		if got.Estimated != (n > maxExact) {
			t.Errorf("%d: estimated is %v", n, got.Estimated)
		}
		for q, value := range map[float64]float64{0.5: got.P50, 0.9: got.P90, 0.99: got.P99} {
			want, off := all[int(math.Ceil(q*float64(n)))-1], 0.05
			if got.Estimated {
				off += want * 0.0101
			}
			if math.Abs(value-want) > off {
				t.Errorf("%d: quantile %v is %v, want %v", n, q, value, want)
			}
		}
		if len(d.steps) > 2000 {
			t.Errorf("%d steps", len(d.steps))
		}
	}
}

func TestABucketBeginsAtItsBound(t *testing.T) {
	var d durations
	for _, seconds := range []float64{0, 9.9, 10, 29, 30, 14399, 14400, 1e9} {
		d.add(seconds)
	}
	got := each(d.distribution().Buckets, func(b Bucket) int { return b.Count })
	if diff := cmp.Diff([]int{2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTasksAreCountedByTheAttemptsTheyTook(t *testing.T) {
	tally := newTally(noon)
	for _, a := range []Attempt{
		{Attempt: 1, Status: Done},
		{Attempt: 1, Status: Failed},
		{Attempt: 2, Status: Done},
		{Attempt: 3, Status: TimedOut},
		{Attempt: 3, Status: Running},
		{Attempt: 40, Status: Done},
		{Attempt: 1<<31 - 1, Status: Failed},
	} {
		tally.add([]Attempt{a}, nil)
	}
	want := Retries{Tasks: 5, Done: 2, GaveUp: 2, ByAttempts: []Attempts{
		{1, false, 2, 1}, {2, false, 1, 1}, {3, false, 2, 0}, {4, false, 0, 0}, {5, false, 0, 0}, {6, true, 2, 1},
	}}
	if diff := cmp.Diff(want, tally.statistics().Retries); diff != "" {
		t.Error(diff)
	}
}

func TestLostRunsAreCountedWhateverElseTheirReasonSays(t *testing.T) {
	s := testStore(t)
	put(t, s, ResultKind, "bd-1", `{"status": "failed", "reason": "lost"}`)
	put(t, s, ResultKind, "bd-2", `{"status": "failed", "reason": "lost: the machine was started again"}`)
	put(t, s, RunKind, "bd-3", `{"status": "failed", "failure_reason": "lost"}`)
	put(t, s, ResultKind, "bd-3", `{"status": "failed", "reason": "Nothing was heard of it any more."}`)
	put(t, s, ResultKind, "bd-4", `{"status": "failed", "reason": "lostandfound"}`)
	r, _ := queried(t, s, Query{})
	if diff := cmp.Diff([]Reason{{"lost", 3}, {"lostandfound", 1}}, r.Statistics.FailureReasons); diff != "" || r.Statistics.Lost != 3 {
		t.Errorf("%d lost; %s", r.Statistics.Lost, diff)
	}
}

func TestAnImpossibleDurationIsNotCounted(t *testing.T) {
	s := testStore(t)
	for i, seconds := range []string{"1e308", "1e308", "1e999", "-5", "60"} {
		put(t, s, ResultKind, fmt.Sprintf("bd-%d", i), `{"status": "done", "duration_seconds": %s}`, seconds)
	}
	put(t, s, ResultKind, "bd-9", `{"status": "done", "started_at": "0001-01-02T00:00:00Z", "finished_at": "9999-01-01T00:00:00Z"}`)
	r, _ := queried(t, s, Query{})
	if s := r.Statistics; s.Durations.Runs != 1 || s.AvgDurationSeconds != 60 {
		t.Errorf("%+v", s)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}
