package ledger

import (
	"math"
	"slices"
)

// Durations describes how long runs took. It covers runs that have ended and have a
// duration.
type Durations struct {
	Runs int `json:"runs"`
	// The 50th, 90th and 99th percentile, in seconds.
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	// Estimated reports that the percentiles are not exact, but within 1 %.
	Estimated bool     `json:"estimated"`
	Buckets   []Bucket `json:"buckets"`
}

// Bucket counts the runs that took at least From and less than To seconds.
type Bucket struct {
	From  float64  `json:"from"`
	To    *float64 `json:"to"` // null for the last bucket, which has no upper limit
	Count int      `json:"count"`
}

// bucketBounds are the limits between the buckets, in seconds: 10 s, 30 s, 1, 2, 5, 10, 20,
// 30 min, 1, 2, 4 h.
var bucketBounds = [...]float64{10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}

const (
	// maxExact is the number of durations that are kept for exact percentiles.
	maxExact = 4096
	// stepRatio is the ratio between neighbouring steps of the estimate. The estimate is off
	// by at most half of step-1, that is 1 %.
	stepRatio = 1.02
	// leastSeconds and mostSeconds limit the range of the estimate. A duration of a
	// century or more must be a mistake and is ignored.
	leastSeconds = 1e-3
	mostSeconds  = 100 * 365 * 24 * 60 * 60
)

// durations counts durations twice: in buckets for display, and in fine steps for
// percentiles. Each step is larger than the previous one by a fixed ratio. That limits
// the number of steps, and makes the relative error the same everywhere.
type durations struct {
	buckets [len(bucketBounds) + 1]int
	exact   []float64 // the first maxExact durations
	steps   map[int]int
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

// quantile returns the smallest duration that is not exceeded by a fraction q of the
// runs.
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
