package ledger

import (
	"math"
	"slices"
)

// Durations describes how long runs took. In a report, a run is one attempt of a task. Durations
// counts only runs that have ended and whose duration is known.
type Durations struct {
	Runs int `json:"runs"`
	// P50, P90 and P99 are percentiles of the durations, in seconds.
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	// Estimated says whether the percentiles are estimates, which may be wrong by up to 1 %.
	Estimated bool     `json:"estimated"`
	Buckets   []Bucket `json:"buckets"`
}

// Bucket counts the runs that took at least From and less than To seconds.
type Bucket struct {
	From  float64  `json:"from"`
	To    *float64 `json:"to"` // null for the last bucket, which has no upper bound
	Count int      `json:"count"`
}

// bucketBounds are the bounds between two buckets, in seconds: 10 s, 30 s, 1, 2, 5, 10, 20, 30 min,
// 1, 2, 4 h.
var bucketBounds = [...]float64{10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}

const (
	// maxExact is the largest number of durations for which exact percentiles are computed. If
	// there are more, the percentiles are estimated.
	maxExact = 4096
	// To estimate percentiles, durations are counted in the steps of a histogram. stepRatio is the
	// upper bound of a step divided by its lower bound. So the middle of a step differs from its
	// bounds by at most 1 %.
	stepRatio = 1.02
	// All durations below leastSeconds are counted in the lowest step. A duration of mostSeconds (a
	// century) or more must be a mistake, so it counts as unknown.
	leastSeconds = 1e-3
	mostSeconds  = 100 * 365 * 24 * 60 * 60
)

// durations counts each duration twice: in a bucket for display, and in a step of a histogram for
// percentiles. Each step is larger than the previous one by a fixed ratio. So there are few steps,
// and the relative error is the same for short and long durations.
type durations struct {
	buckets [len(bucketBounds) + 1]int
	exact   []float64   // the first maxExact durations, in seconds
	steps   map[int]int // number of durations in each step, by step number
	n       int
}

func (d *durations) add(seconds float64) {
	at, found := slices.BinarySearch(bucketBounds[:], seconds)
	if found {
		at++
	}
	d.buckets[at]++
	d.n++
	if len(d.exact) < maxExact {
		d.exact = append(d.exact, seconds)
	}
	if d.steps == nil {
		d.steps = map[int]int{}
	}
	d.steps[int(math.Ceil(math.Log(max(seconds, leastSeconds))/math.Log(stepRatio)))]++
}

func (d *durations) distribution() Durations {
	out := Durations{Runs: d.n, Estimated: d.n > maxExact, Buckets: make([]Bucket, len(d.buckets))}
	for i, n := range d.buckets {
		out.Buckets[i].Count = n
		if i > 0 {
			out.Buckets[i].From = bucketBounds[i-1]
		}
		if i < len(bucketBounds) {
			to := bucketBounds[i]
			out.Buckets[i].To = &to
		}
	}
	slices.Sort(d.exact)
	out.P50, out.P90, out.P99 = d.quantile(0.5), d.quantile(0.9), d.quantile(0.99)
	return out
}

// quantile returns the q-quantile of the durations in seconds; for q = 0.5, the median. If there
// are more than maxExact durations, the value is an estimate. If there are none, it is 0. The
// caller must sort d.exact first.
func (d *durations) quantile(q float64) float64 {
	if d.n == 0 {
		return 0
	}
	rank := max(int(math.Ceil(q*float64(d.n))), 1)
	if d.n <= maxExact {
		return oneDecimal(d.exact[rank-1])
	}
	at := make([]int, 0, len(d.steps))
	for i := range d.steps {
		at = append(at, i)
	}
	slices.Sort(at)
	for _, i := range at {
		if rank -= d.steps[i]; rank <= 0 {
			return oneDecimal(2 * math.Pow(stepRatio, float64(i)) / (stepRatio + 1))
		}
	}
	return 0
}
