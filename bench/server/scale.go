//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"gaffer/bench/figure"
	"gaffer/bench/memory"
)

// What each simulated worker sends, and how often. Each worker has one agent. logSize is the size
// of each piece of output, in bytes.
const (
	beatEvery = 15 * time.Second // a real worker sends a heartbeat at least this often
	logEvery  = 15 * time.Second
	logSize   = 4 << 10
	taskEvery = 5 * time.Minute // how long an agent works on a task
)

const (
	dashboards  = 10 // number of connections that read the stream of events
	sharedConns = 64 // maximum number of connections for the workers' requests, except long polls
	// probeInterval is how often the probe sends each of its requests: a heartbeat, a finished task
	// and an event. The probe is the simulated worker whose latencies are measured.
	probeInterval = 200 * time.Millisecond
	patience      = 5 * time.Second // an answer that takes longer counts as late
	settling      = 3 * time.Second // how long the workers run before the measurement begins
)

// measureScale measures fleets with the numbers of workers in s.scale. Each fleet has its own
// server and database. If a fleet cannot be measured, measureScale writes a note with the reason to
// the figures and continues with the next one. It returns an error if no fleet could be measured.
func measureScale(ctx context.Context, s settings, dir string) error {
	if err := describe(s, dir); err != nil {
		return err
	}
	done := 0
	var errs []error
	for _, n := range s.scale {
		fmt.Printf("%s, %d workers\n", s.db, n)
		err := measureFleet(ctx, s, dir, n)
		if err == nil {
			done++
			continue
		}
		errs = append(errs, fmt.Errorf("%d workers: %w", n, err))
		note := figure.Figure{Measure: "scale.requests", Program: "workers", Kind: figure.Gaffer, Size: n, Note: err.Error()}
		if err := figure.Append(s.figures, note); err != nil {
			return err
		}
		if ctx.Err() != nil {
			break
		}
	}
	err := errors.Join(errs...)
	if done > 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	return err
}

func measureFleet(ctx context.Context, s settings, dir string, n int) (err error) {
	folder, err := os.MkdirTemp(dir, "scale-")
	if err != nil {
		return err
	}
	s.connections = n + 1000
	b, err := newBench(ctx, s, folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	l, err := newLoop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	f := &simulation{bench: b, loop: l, workers: make([]simWorker, n+1), sent: map[int]time.Time{}}
	if err := f.prepare(); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	if err := f.connect(); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	return f.measure()
}

// simulation is a fleet of simulated workers. The last worker is the probe: latencies are measured
// only for its requests.
type simulation struct {
	*bench
	loop    *loop
	channel string
	workers []simWorker

	polls, readers, requests []*conn
	shared                   pool                 // connections for requests of workers other than the probe, without long polls
	probes                   [3]pool              // connections for the probe's heartbeats, finished tasks and events
	sources                  []*source            // generators of the workers' requests
	answered                 map[string]int       // number of answers, by kind of request
	waits                    map[string][]float64 // how long the probe waited, in ms, by kind of request
	due, late                int                  // requests since the measurement began, and those not answered in time
	sent                     map[int]time.Time    // event number → when the probe's event was due
	seen                     []float64            // delays of the probe's events at each reader, in ms
	measuring                bool
}

// simWorker is the state of a simulated worker: the attempt that it works on, and what it has sent.
type simWorker struct {
	attempt, token string
	offset         int   // number of bytes of the attempt's output sent so far
	news           int64 // sequence number in the last answer to the worker's long poll
}

// job is a request that is due.
type job struct {
	kind   string
	worker int
	due    time.Time
	probe  bool
}

// pool is a set of connections for requests. A request that is due (a job) waits until a connection
// is free. A connection is opened only when it is needed, because the server closes connections
// that send nothing.
type pool struct {
	most    int // maximum number of connections
	opened  int
	free    []*conn
	waiting []job
}

// source generates requests (jobs) of one kind at a steady rate. If the field probe is true, they
// are requests of the probe. Otherwise they are requests of the other workers, one worker after the
// other.
type source struct {
	kind  string
	every time.Duration // time between two jobs
	next  time.Time
	count int
	probe bool
	into  *pool
}

func (f *simulation) size() int { return len(f.workers) - 1 }

// prepare registers the workers, queues enough tasks for the whole measurement, and lets each
// worker claim one task.
func (f *simulation) prepare() error {
	if _, err := f.sendOne("POST", "/v1/agents/heartbeat", fmt.Sprintf(`{"agent_id":%q,"claude_status":"idle"}`, agentID(0))); err != nil {
		return err
	}
	made, err := f.sendOne("POST", "/v1/channels", fmt.Sprintf(`{"name":%q}`, channel))
	if err != nil {
		return err
	}
	f.channel = member([]byte(made), "id")
	window := f.each + settling + patience
	tasks := len(f.workers) + int(window/probeInterval) + int(float64(f.size())*window.Seconds()/taskEvery.Seconds()) + 10
	if _, err := f.enqueue(f.channel, tasks); err != nil {
		return err
	}
	if err := f.forEachWorker(func(i int) []byte { return f.beat(i) }, func(int, answer) error { return nil }); err != nil {
		return err
	}
	claim := func(i int) []byte {
		return f.server.request("POST", "/v1/work/claim", fmt.Sprintf(`{%s,"key":"first-%d"}`, f.labels(i), i))
	}
	return f.forEachWorker(claim, func(i int, a answer) error { return f.workers[i].took(a.body) })
}

// forEachWorker sends one request for each worker, on the connections of f.bench. It calls the
// function then with each answer. i is the index of the worker.
func (f *simulation) forEachWorker(request func(i int) []byte, then func(i int, a answer) error) error {
	next := 0
	var failed error
	var r result
	err := f.load(f.clients, &r, func(int) func(answer) ([]byte, *result) {
		asked := -1
		return func(last answer) ([]byte, *result) {
			if asked >= 0 && failed == nil {
				failed = then(asked, last)
			}
			if next == len(f.workers) || failed != nil {
				return nil, nil
			}
			asked = next
			next++
			return request(asked), &r
		}
	})
	return errors.Join(err, failed)
}

func (f *simulation) labels(i int) string {
	return fmt.Sprintf(`"worker":%q,"labels":["channel:%s"]`, workerID(i), f.channel)
}

// took stores the attempt that the server has assigned to the worker. body is the server's answer
// to the claim.
func (w *simWorker) took(body []byte) error {
	attempt, token := member(body, "id"), string(numberMember(body, "token"))
	if attempt == "" || token == "" {
		return fmt.Errorf("no task in the answer %.200s", body)
	}
	w.attempt, w.token, w.offset = attempt, token, 0
	return nil
}

func (f *simulation) beat(i int) []byte {
	w, held := &f.workers[i], ""
	if w.attempt != "" {
		held = fmt.Sprintf(`{"attempt":%q,"token":%s,"now":{"state":"running"}}`, w.attempt, w.token)
	}
	return f.server.request("POST", "/v1/work/beat", fmt.Sprintf(`{"worker":{"id":%q,"name":%[1]q,"slots":1,"labels":["channel:%s"]},"held":[%s]}`, workerID(i), f.channel, held))
}

var output = strings.Repeat(strings.Repeat("x", 63)+"\n", logSize/64)

// request returns the bytes of the HTTP request for the job j. If that request sends an event, the
// method also stores when the event was due.
func (f *simulation) request(j job) []byte {
	w := &f.workers[j.worker]
	switch j.kind {
	case "heartbeats":
		return f.beat(j.worker)
	case "pieces of output":
		return f.server.request("POST", fmt.Sprintf("/v1/work/logs?attempt=%s&token=%s&offset=%d", w.attempt, w.token, w.offset), output)
	case "finished tasks":
		return f.server.request("POST", "/v1/work/turn", fmt.Sprintf(`{"finish":{"attempt":%q,"token":%s,"exit":0,"summary":"it is about tasks"},"claim":{%s}}`, w.attempt, w.token, f.labels(j.worker)))
	default: // an event of the probe
		number := len(f.sent)
		f.sent[number] = j.due
		return f.server.request("POST", "/v1/events", fmt.Sprintf(`{"agent_id":%q,"type":"bench","payload":{"n":%d}}`, agentID(0), number))
	}
}

// connect opens the permanent connections: a long poll for each worker except the probe, and an
// event stream for each dashboard.
func (f *simulation) connect() error {
	for i := range f.size() {
		w := &f.workers[i]
		w.news = -1
		c, err := f.loop.dial(f.server.address, func(c *conn) (int, error) { return f.polled(c, i) })
		if err != nil {
			return err
		}
		c.use = "long poll"
		f.polls = append(f.polls, c)
		if err := c.write(f.poll(i)); err != nil {
			return err
		}
		// After every 50 connections, handle the answers that have arrived.
		if i%50 == 49 {
			if err := f.loop.turn(0); err != nil {
				return err
			}
		}
	}
	for range dashboards {
		c, err := f.loop.dial(f.server.address, f.readStream)
		if err != nil {
			return err
		}
		c.use = "stream"
		f.readers = append(f.readers, c)
		if err := c.write(f.server.request("GET", "/v1/stream", "")); err != nil {
			return err
		}
	}
	f.shared.most = sharedConns
	for i := range f.probes {
		f.probes[i].most = 1
	}
	return nil
}

func (f *simulation) poll(i int) []byte {
	return f.server.request("GET", fmt.Sprintf("/v1/work/wait?worker=%s&after=%d", workerID(i), f.workers[i].news), "")
}

func (f *simulation) polled(c *conn, i int) (int, error) {
	a, err := parse(c.buffer)
	if errors.Is(err, errPart) {
		return 0, nil
	}
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("long poll: status %d: %.200s", a.status, a.body)
	}
	if err != nil {
		return 0, err
	}
	f.workers[i].news, _ = strconv.ParseInt(string(numberMember(a.body, "seq")), 10, 64)
	f.count("long polls")
	return a.size, c.write(f.poll(i))
}

func (f *simulation) count(kind string) {
	if f.measuring {
		f.answered[kind]++
	}
}

// readStream reads the event stream of a dashboard, and measures how long the probe's events took
// to arrive.
func (f *simulation) readStream(c *conn) (used int, err error) {
	for {
		event, _, whole := bytes.Cut(c.buffer[used:], []byte("\n\n"))
		if !whole {
			return used, nil
		}
		used += len(event) + 2
		_, rest, ok := bytes.Cut(event, []byte(`"payload":{"n":`))
		if !ok {
			continue
		}
		text, _, _ := bytes.Cut(rest, []byte("}"))
		number, err := strconv.Atoi(string(text))
		if err != nil {
			return used, fmt.Errorf("an event without a number: %.200s", event)
		}
		if due, ok := f.sent[number]; ok && f.measuring {
			f.seen = append(f.seen, time.Since(due).Seconds()*1000)
		}
	}
}

// connection returns a free connection of a pool. If none is free, it opens another one. If the
// pool already has its maximum number of connections, it returns nil.
func (f *simulation) connection(p *pool) (*conn, error) {
	if n := len(p.free); n > 0 {
		c := p.free[n-1]
		p.free = p.free[:n-1]
		return c, nil
	}
	if p.opened == p.most {
		return nil, nil
	}
	c, err := f.loop.dial(f.server.address, nil)
	if err != nil {
		return nil, err
	}
	c.use = "requests of workers"
	p.opened++
	f.requests = append(f.requests, c)
	return c, nil
}

// dispatch sends the waiting jobs of a pool, until no job waits or no connection is available.
func (f *simulation) dispatch(p *pool) error {
	for len(p.waiting) > 0 {
		c, err := f.connection(p)
		if err != nil || c == nil {
			return err
		}
		j := p.waiting[0]
		p.waiting = p.waiting[1:]
		counted := f.measuring
		c.read = func(c *conn) (int, error) {
			a, err := parse(c.buffer)
			if errors.Is(err, errPart) {
				return 0, nil
			}
			if err == nil {
				err = f.done(j, a, counted)
			}
			p.free = append(p.free, c)
			return a.size, err
		}
		if err := c.write(f.request(j)); err != nil {
			return err
		}
	}
	return nil
}

// done handles the answer to the request of the job j. If the worker's attempt ended before the
// request arrived, the server answers with 409 Conflict, as it would to a real worker. Such an
// answer is counted like any other.
func (f *simulation) done(j job, a answer, counted bool) error {
	if a.status >= 300 && a.status != http.StatusConflict {
		return fmt.Errorf("%s: status %d: %.200s", j.kind, a.status, a.body)
	}
	wait := time.Since(j.due)
	if counted && wait > patience {
		f.late++
	}
	if j.probe && counted {
		f.waits[j.kind] = append(f.waits[j.kind], wait.Seconds()*1000)
	}
	f.count(j.kind)
	if a.status == http.StatusConflict {
		return nil
	}
	switch j.kind {
	case "pieces of output":
		f.workers[j.worker].offset += logSize
	case "finished tasks":
		return f.workers[j.worker].took(a.body)
	}
	return nil
}

// run lets the fleet work until the given time.
func (f *simulation) run(until time.Time) error {
	for now := time.Now(); now.Before(until); now = time.Now() {
		next := until
		for _, s := range f.sources {
			for ; !s.next.After(now); s.next = s.next.Add(s.every) {
				j := job{kind: s.kind, worker: s.count % f.size(), due: s.next, probe: s.probe}
				if s.probe {
					j.worker = f.size()
				}
				s.count++
				s.into.waiting = append(s.into.waiting, j)
				if f.measuring {
					f.due++
				}
			}
			if s.next.Before(next) {
				next = s.next
			}
		}
		if err := f.step(max(min(time.Until(next), 100*time.Millisecond), time.Millisecond)); err != nil {
			return err
		}
		if err := f.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (f *simulation) step(wait time.Duration) error {
	if err := f.dispatch(&f.shared); err != nil {
		return err
	}
	for i := range f.probes {
		if err := f.dispatch(&f.probes[i]); err != nil {
			return err
		}
	}
	return f.loop.turn(wait)
}

// outstanding returns how many jobs wait for a connection or for their answer.
func (f *simulation) outstanding() int {
	n := f.shared.opened - len(f.shared.free) + len(f.shared.waiting)
	for _, p := range f.probes {
		n += p.opened - len(p.free) + len(p.waiting)
	}
	return n
}

// measure runs the fleet, first for the duration settling and then for the duration f.each. It
// reports only the figures of the second period.
func (f *simulation) measure() error {
	now, n := time.Now(), time.Duration(f.size())
	f.sources = []*source{
		{kind: "heartbeats", every: beatEvery / n, next: now, into: &f.shared},
		// Begin with the worker in the middle of the list, so that each worker sends output half an
		// interval after its heartbeat.
		{kind: "pieces of output", every: logEvery / n, next: now, count: f.size() / 2, into: &f.shared},
		{kind: "finished tasks", every: taskEvery / n, next: now, count: f.size() / 4, into: &f.shared},
		// The three requests of the probe are sent at different times. If they were sent together, the
		// server would handle them together, and their latencies would depend on each other.
		{kind: "heartbeats", every: probeInterval, next: now, probe: true, into: &f.probes[0]},
		{kind: "finished tasks", every: probeInterval, next: now.Add(probeInterval / 3), probe: true, into: &f.probes[1]},
		{kind: "events", every: probeInterval, next: now.Add(2 * probeInterval / 3), probe: true, into: &f.probes[2]},
	}
	f.answered, f.waits = map[string]int{}, map[string][]float64{}
	if err := f.run(time.Now().Add(settling)); err != nil {
		return err
	}
	db, err := openStats(f.ctx, f.server)
	if err != nil {
		return err
	}
	defer db.close(f.ctx)
	f.measuring = true
	before, err := f.look(db)
	if err != nil {
		return err
	}
	if err := f.run(before.at.Add(f.each)); err != nil {
		return err
	}
	after, err := f.look(db)
	if err != nil {
		return err
	}
	answered := f.answered
	f.answered = map[string]int{}
	for end := time.Now().Add(patience); f.outstanding() > 0 && time.Now().Before(end); {
		if err := f.step(10 * time.Millisecond); err != nil {
			return err
		}
	}
	f.late += f.outstanding()
	return f.report(before, after, answered)
}

// look is a snapshot of the resources used so far. One is taken before the measurement and one
// after it.
type look struct {
	at                             time.Time
	server, database               time.Duration // processor time
	in, out, stream                int           // bytes from workers, to workers, and to dashboards
	rows, size                     float64       // rows written, and the size of the database in bytes
	databaseConnections            int
	serverMemory, databaseMemory   float64
	serverFiles, clientConnections int
}

func (f *simulation) look(db *databaseStats) (l look, err error) {
	l = look{at: time.Now(), server: f.server.cpu(), database: f.server.databaseCPU()}
	for _, c := range append(f.polls, f.requests...) {
		l.in += c.sent
		l.out += c.received
	}
	for _, c := range f.readers {
		l.stream += c.received
	}
	if l.rows, l.size, l.databaseConnections, err = db.read(f.ctx); err != nil {
		return l, err
	}
	if l.serverMemory, err = memory.PSS(f.server.cmd.Process.Pid); err != nil {
		return l, err
	}
	if f.server.dbPID != 0 {
		pids, _ := tree(f.server.dbPID)
		if l.databaseMemory, err = memory.PSS(pids...); err != nil {
			return l, err
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", f.server.cmd.Process.Pid))
	l.serverFiles = len(files)
	l.clientConnections = len(f.loop.conns) + len(f.crew.clients)
	return l, err
}

// report prints the figures and appends them to the file f.figures.
func (f *simulation) report(before, after look, answered map[string]int) error {
	seconds := after.at.Sub(before.at).Seconds()
	var list []figure.Figure
	add := func(measure, program string, value float64) {
		list = append(list, figure.Figure{Measure: "scale." + measure, Program: program, Kind: figure.Gaffer, Size: f.size(), Value: max(value, 0)})
	}
	add("cpu", "coordinator", (after.server-before.server).Seconds()/seconds*100)
	add("memory", "coordinator", after.serverMemory)
	if f.server.dbPID != 0 {
		add("cpu", "PostgreSQL", (after.database-before.database).Seconds()/seconds*100)
		add("memory", "PostgreSQL", after.databaseMemory)
		add("connections", "coordinator to PostgreSQL", float64(after.databaseConnections))
		add("rows", "database", (after.rows-before.rows)/seconds)
	}
	for _, kind := range []string{"heartbeats", "pieces of output", "finished tasks", "long polls"} {
		add("requests", kind, float64(answered[kind])/seconds)
	}
	add("answered", "all requests", 100*float64(f.due-f.late)/float64(max(f.due, 1)))
	for _, w := range []struct {
		name  string
		waits []float64
	}{{"heartbeat", f.waits["heartbeats"]}, {"finish and claim", f.waits["finished tasks"]}, {"event to a reader", f.seen}} {
		add("latency", w.name+", p50", quantile(w.waits, .5))
		add("latency", w.name+", p99", quantile(w.waits, .99))
	}
	add("network", "from workers", float64(after.in-before.in)/seconds/1000)
	add("network", "to workers", float64(after.out-before.out)/seconds/1000)
	add("network", fmt.Sprintf("to %d dashboards", dashboards), float64(after.stream-before.stream)/seconds/1000)
	add("connections", "clients", float64(after.clientConnections))
	add("connections", "open files of the coordinator", float64(after.serverFiles))
	add("database", "database", after.size/1e6)
	add("growth", "database", (after.size-before.size)/1e6/seconds*3600)
	for _, one := range list {
		fmt.Printf("%-44s %9d %12.2f\n", strings.TrimPrefix(one.Measure, "scale.")+", "+one.Program, one.Size, one.Value)
	}
	return figure.Append(f.figures, list...)
}

func quantile(list []float64, share float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// databaseStats reads the statistics of the server's database.
type databaseStats struct {
	conn *pgx.Conn // nil for SQLite
	file string
}

func openStats(ctx context.Context, p *process) (*databaseStats, error) {
	if p.dbPID == 0 {
		return &databaseStats{file: p.db}, nil
	}
	conn, err := pgx.Connect(ctx, p.db)
	return &databaseStats{conn: conn}, err
}

func (d *databaseStats) close(ctx context.Context) {
	if d.conn != nil {
		_ = d.conn.Close(context.WithoutCancel(ctx)) // ignore the error: nothing was written
	}
}

// read returns the number of rows written so far, the size of the database in bytes, and the number
// of connections to the database other than d.conn. For SQLite, rows and connections are 0, and
// size is that of the database file. The size does not include the write-ahead log, because SQLite
// overwrites that file again and again.
func (d *databaseStats) read(ctx context.Context) (rows, size float64, connections int, err error) {
	if d.conn == nil {
		info, err := os.Stat(d.file)
		if err != nil {
			return 0, 0, 0, err
		}
		return 0, float64(info.Size()), 0, nil
	}
	err = d.conn.QueryRow(ctx, `SELECT (SELECT tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = current_database())::float8,
		pg_database_size(current_database())::float8,
		(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid())::int`).Scan(&rows, &size, &connections)
	return rows, size, connections, err
}
