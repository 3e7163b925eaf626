package server

import (
	"strings"
	"testing"
	"time"
)

func TestAHistogramCountsWhatTookAtMostSoLong(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{time.Millisecond, 3 * time.Millisecond, 15 * time.Millisecond, time.Minute} {
		h.Add(d)
	}
	var b strings.Builder
	ServiceMetrics{Writes: &h}.write(&b, time.Time{})
	for _, want := range []string{
		`gaffer_store_write_seconds_bucket{le="0.001"} 1`, `gaffer_store_write_seconds_bucket{le="0.005"} 2`,
		`gaffer_store_write_seconds_bucket{le="0.02"} 3`, `gaffer_store_write_seconds_bucket{le="10"} 3`,
		`gaffer_store_write_seconds_bucket{le="+Inf"} 4`, "gaffer_store_write_seconds_count 4", "gaffer_store_write_seconds_sum 60.019",
		"gaffer_runs 0", "gaffer_lanes_paused 0",
	} {
		if !strings.Contains(b.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}
