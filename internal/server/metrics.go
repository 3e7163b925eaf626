package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gaffer/coordinator"
)

// metrics are what the server counts of itself.
type metrics struct {
	cut      atomic.Int64 // readers of the stream that were too slow
	underWay atomic.Int64 // requests, those for the stream too

	mu       sync.Mutex
	requests map[string]map[int]int64 // by route and status
	took     map[string]*histogram    // by route

	counting sync.Mutex // held by the one who has the desk count
	counted  Figures
	at       time.Time
}

// histogram counts how often something took at most so long.
type histogram struct {
	counts []int64 // one for each bound, and one for what is longer
	sum    float64
	count  int64
}

// bounds are in seconds.
func bounds() []float64 {
	return []float64{.001, .0025, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 10}
}

func (h *histogram) add(d time.Duration) {
	seconds := d.Seconds()
	i, _ := slices.BinarySearch(bounds(), seconds)
	h.counts[i]++
	h.sum += seconds
	h.count++
}

// timed are the routes whose time is measured.
func timed() []string { return []string{"POST /v1/tasks/claim", "POST /v1/agents/heartbeat"} }

func newMetrics() *metrics {
	m := &metrics{requests: map[string]map[int]int64{}, took: map[string]*histogram{}}
	for _, name := range timed() {
		m.took[name] = &histogram{counts: make([]int64, len(bounds())+1)}
	}
	return m
}

// count notes a request. Its labels come from the table of routes, so that
// nobody can make up new ones.
func (m *metrics) count(r route, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := r.name()
	if m.requests[name] == nil {
		m.requests[name] = map[int]int64{}
	}
	m.requests[name][status]++
	if h := m.took[name]; h != nil {
		h.add(took)
	}
}

// write writes what was counted as Prometheus reads it.
func (m *metrics) write(b *strings.Builder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head(b, "gaffer_http_requests_total", "counter", "requests by route and status")
	for _, name := range slices.Sorted(maps.Keys(m.requests)) {
		for _, status := range slices.Sorted(maps.Keys(m.requests[name])) {
			fmt.Fprintf(b, "gaffer_http_requests_total{route=%q,code=\"%d\"} %d\n", name, status, m.requests[name][status])
		}
	}
	const took = "gaffer_http_request_seconds"
	head(b, took, "histogram", "how long claims and heartbeats took")
	for _, name := range timed() {
		m.took[name].write(b, took, fmt.Sprintf("route=%q", name))
	}
}

func (h *histogram) write(b *strings.Builder, name, label string) {
	sum := int64(0)
	for i, bound := range bounds() {
		sum += h.counts[i]
		fmt.Fprintf(b, "%s_bucket{%s,le=\"%g\"} %d\n", name, label, bound, sum)
	}
	fmt.Fprintf(b, "%s_bucket{%s,le=\"+Inf\"} %d\n", name, label, h.count)
	fmt.Fprintf(b, "%s_sum{%s} %g\n%s_count{%s} %d\n", name, label, h.sum, name, label, h.count)
}

func head(b *strings.Builder, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func gauge(b *strings.Builder, name, help string, value float64) {
	head(b, name, "gauge", help)
	fmt.Fprintf(b, "%s %g\n", name, value)
}

// counting is for how long the desk's figures are good: scraping more often must
// not cost more.
const counting = 5 * time.Second

func (c *call) figures() (Figures, error) {
	m := c.metrics
	m.counting.Lock()
	defer m.counting.Unlock()
	now := c.opts.Now()
	if since := now.Sub(m.at); !m.at.IsZero() && since >= 0 && since < counting {
		return m.counted, nil
	}
	ctx, cancel := c.context()
	defer cancel()
	f, err := figures(ctx, c.desk)
	if err != nil {
		return f, fmt.Errorf("count: %w", err)
	}
	m.counted, m.at = f, now
	return f, nil
}

// scrape answers with all figures. A desk that cannot count costs its own only.
func (c *call) scrape() error {
	var b strings.Builder
	m := c.metrics
	m.write(&b)
	gauge(&b, "gaffer_http_requests_under_way", "requests that are not yet answered", float64(m.underWay.Load()))
	gauge(&b, "gaffer_stream_subscribers", "readers of the stream", float64(c.hub.followers()))
	head(&b, "gaffer_stream_cut_total", "counter", "readers of the stream that were cut off because they were slow")
	fmt.Fprintf(&b, "gaffer_stream_cut_total %d\n", m.cut.Load())
	f, err := c.figures()
	up := 1.0
	if err != nil {
		up = 0
		c.log.Warn("the desk cannot count", "request", c.id, "error", err)
	}
	gauge(&b, "gaffer_desk_up", "whether the desk could count", up)
	if err == nil {
		f.write(&b, c.opts.Now())
	}
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write([]byte(b.String())) // whoever has gone away cannot be told
	return nil
}

func (f Figures) write(b *strings.Builder, now time.Time) {
	gauge(b, "gaffer_agents_online", "agents that were heard of lately", float64(f.AgentsOnline))
	head(b, "gaffer_tasks", "gauge", "tasks by status")
	for _, s := range []coordinator.TaskStatus{coordinator.Queued, coordinator.InProgress, coordinator.Done, coordinator.Failed} {
		fmt.Fprintf(b, "gaffer_tasks{status=%q} %d\n", s, f.Tasks[s])
	}
	age := 0.0
	if !f.Waiting.IsZero() {
		age = max(now.Sub(f.Waiting).Seconds(), 0)
	}
	gauge(b, "gaffer_oldest_prompt_seconds", "how long the oldest unanswered question waits, 0 if there is none", age)
}
