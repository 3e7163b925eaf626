package server

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Histogram counts durations in buckets. The zero value is ready to use. It is safe for
// concurrent use.
type Histogram struct {
	mu     sync.Mutex
	counts [len(bounds) + 1]int64 // one counter for each bound, and a last one for longer durations
	sum    float64
	count  int64
}

// bounds are the upper bounds of the buckets, in seconds.
var bounds = [...]float64{.001, .0025, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 10}

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	seconds := d.Seconds()
	i, _ := slices.BinarySearch(bounds[:], seconds)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[i]++
	h.sum += seconds
	h.count++
}

// write writes the histogram in the format of Prometheus. labels is empty, or a list such as
// `route="x",` that ends with a comma.
func (h *Histogram) write(b *strings.Builder, name, labels string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum := int64(0)
	for i, bound := range bounds {
		sum += h.counts[i]
		fmt.Fprintf(b, "%s_bucket{%sle=\"%g\"} %d\n", name, labels, bound, sum)
	}
	fmt.Fprintf(b, "%s_bucket{%sle=\"+Inf\"} %d\n", name, labels, h.count)
	all := ""
	if labels != "" {
		all = "{" + strings.TrimSuffix(labels, ",") + "}"
	}
	fmt.Fprintf(b, "%s_sum%s %g\n%s_count%s %d\n", name, all, h.sum, name, all, h.count)
}
