package ledger

import (
	"math"
	"slices"
)

// Durations say how long runs took, of those that have ended and say so.
type Durations struct {
	Runs int `json:"runs"`
	// The seconds within which half, 90 % and 99 % of the runs ended.
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	// Estimated says that the three are within 1 % of the truth and not exact.
	Estimated bool     `json:"estimated"`
	Buckets   []Bucket `json:"buckets"`
}

// Bucket is the runs that took at least From and less than To seconds.
type Bucket struct {
	From  float64  `json:"from"`
	To    *float64 `json:"to"` // null for the last
	Count int      `json:"count"`
}

// bounds are where the buckets after the first begin, in seconds: 10 s, 30 s,
// 1, 2, 5, 10, 20, 30 min, 1, 2, 4 h.
var bounds = [...]float64{10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400}

const (
	// maxExact is how many durations are held to give exact quantiles.
	maxExact = 4096
	// step is the ratio of neighbours in the estimate, which is off by at most
	// half of what it is above 1.
	step = 1.02
	// leastSeconds and mostSeconds bound what is told apart. No run takes a
	// century; a record that says so is not believed.
	leastSeconds = 1e-3
	mostSeconds  = 100 * 365 * 24 * 60 * 60
)

// durations counts seconds in buckets for people, and in fine steps for
// quantiles: each step is a fixed ratio above the one before it, so that their
// number is bounded and the error is the same everywhere.
type durations struct {
	buckets [len(bounds) + 1]int
	exact   []float64 // the first ones
	steps   map[int]int
	n       int
}

func (d *durations) add(seconds float64) {
	at, found := slices.BinarySearch(bounds[:], seconds)
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
	d.steps[int(math.Ceil(math.Log(max(seconds, leastSeconds))/math.Log(step)))]++
}

func (d *durations) distribution() Durations {
	out := Durations{Runs: d.n, Estimated: d.n > maxExact, Buckets: make([]Bucket, len(d.buckets))}
	for i, n := range d.buckets {
		out.Buckets[i].Count = n
		if i > 0 {
			out.Buckets[i].From = bounds[i-1]
		}
		if i < len(bounds) {
			to := bounds[i]
			out.Buckets[i].To = &to
		}
	}
	slices.Sort(d.exact)
	out.P50, out.P90, out.P99 = d.quantile(0.5), d.quantile(0.9), d.quantile(0.99)
	return out
}

// quantile returns the least duration that a part q of the runs did not exceed.
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
			return oneDecimal(2 * math.Pow(step, float64(i)) / (step + 1))
		}
	}
	return 0
}
