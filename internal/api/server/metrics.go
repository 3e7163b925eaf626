package server

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gaffer/coordinator"
)

// metrics are the metrics about the server itself. See [ServiceMetrics] for those about runs and
// agents.
type metrics struct {
	cut        atomic.Int64 // number of stream clients that were disconnected because they were too slow
	inProgress atomic.Int64 // number of requests that are being handled, including streams

	mu       sync.Mutex
	requests map[string]map[int]int64 // number of requests, by route and status
	took     map[string]*Histogram    // durations of requests, by route; the map never changes
}

// timedRoutes returns the routes whose durations are measured.
func timedRoutes() []string {
	return []string{"POST /v1/tasks/claim", "POST /v1/agents/heartbeat", "POST /v1/work/claim", "POST /v1/work/turn", "POST /v1/work/beat"}
}

func newMetrics() *metrics {
	m := &metrics{requests: map[string]map[int]int64{}, took: map[string]*Histogram{}}
	for _, name := range timedRoutes() {
		m.took[name] = &Histogram{}
	}
	return m
}

// count records a request. The labels of the metrics are the name of the route and the status,
// never a text from the client, so that clients cannot create new time series.
func (m *metrics) count(r route, status int, took time.Duration) {
	name := r.name()
	if h := m.took[name]; h != nil {
		h.Add(took)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests[name] == nil {
		m.requests[name] = map[int]int64{}
	}
	m.requests[name][status]++
}

// write writes the metrics in the format of Prometheus.
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
	head(b, took, "histogram", "how long claims, turns and heartbeats took")
	for _, name := range timedRoutes() {
		m.took[name].write(b, took, fmt.Sprintf("route=%q,", name))
	}
}

func head(b *strings.Builder, name, kind, help string) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func gauge(b *strings.Builder, name, help string, value float64) {
	head(b, name, "gauge", help)
	fmt.Fprintf(b, "%s %g\n", name, value)
}

// metricsHandlers answers GET /metrics.
type metricsHandlers struct {
	metrics *metrics
	hub     *hub
	service Protocol
	now     func() time.Time
	log     *slog.Logger

	mu      sync.Mutex // held while the service computes its metrics
	counted ServiceMetrics
	at      time.Time // when the field counted was computed; zero before the first time
}

// metricsCacheTime is how long the service's metrics are cached, so that frequent scraping does not
// load the database.
const metricsCacheTime = 5 * time.Second

func (h *metricsHandlers) serviceMetrics(c *request) (ServiceMetrics, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if since := now.Sub(h.at); !h.at.IsZero() && since >= 0 && since < metricsCacheTime {
		return h.counted, nil
	}
	ctx, cancel := c.context()
	defer cancel()
	f, err := h.service.Metrics(ctx)
	if err != nil {
		return f, fmt.Errorf("count: %w", err)
	}
	h.counted, h.at = f, now
	return f, nil
}

// serviceUpMetric is 1 if the service could compute its metrics, else 0. The old word "desk" must
// stay in the name, because users' own dashboards query the metric by this name.
const serviceUpMetric = "gaffer_desk_up"

// scrape answers with all metrics. If the service returns an error, the answer has only the metrics
// about the server itself, and serviceUpMetric is 0.
func (h *metricsHandlers) scrape(c *request) error {
	var b strings.Builder
	h.metrics.write(&b)
	gauge(&b, "gaffer_http_requests_under_way", "requests that are not yet answered", float64(h.metrics.inProgress.Load()))
	gauge(&b, "gaffer_stream_subscribers", "readers of the stream", float64(h.hub.followers()))
	head(&b, "gaffer_stream_cut_total", "counter", "readers of the stream that were cut off because they were slow")
	fmt.Fprintf(&b, "gaffer_stream_cut_total %d\n", h.metrics.cut.Load())
	f, err := h.serviceMetrics(c)
	up := 1.0
	if err != nil {
		up = 0
		h.log.Warn("the metrics could not be computed", "request", c.id, "error", err)
	}
	gauge(&b, serviceUpMetric, "whether the metrics of runs and agents could be computed", up)
	if err == nil {
		f.write(&b, h.now())
	}
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write([]byte(b.String())) // an error only means that the client has disconnected
	return nil
}

// ServiceMetrics are the metrics about agents, tasks and runs, which a service provides.
type ServiceMetrics struct {
	AgentsOnline int
	Tasks        map[coordinator.TaskStatus]int
	// Waiting is the earliest time at which an open question was asked, or at which an agent that
	// waits last reported its status. It is zero if no question is open and no agent waits.
	Waiting     time.Time
	Runs        int        // number of unfinished runs that users submitted
	LanesPaused int        // number of paused agent accounts, plus the user's cost limits that are reached
	Writes      *Histogram // durations of write transactions; nil if not measured
}

func (f ServiceMetrics) write(b *strings.Builder, now time.Time) {
	gauge(b, "gaffer_agents_online", "agents with a recent heartbeat", float64(f.AgentsOnline))
	gauge(b, "gaffer_runs", "runs that have not ended", float64(f.Runs))
	gauge(b, "gaffer_lanes_paused", "agent accounts that start nothing now", float64(f.LanesPaused))
	if f.Writes != nil {
		head(b, "gaffer_store_write_seconds", "histogram", "how long changes took to be made and durable")
		f.Writes.write(b, "gaffer_store_write_seconds", "")
	}
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
