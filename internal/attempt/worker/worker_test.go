package worker_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	seen "gaffer/fleet"
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/worker"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// fleet is an engine with an in-memory store, and workers whose connections to the engine a test
// can cut.
type fleet struct {
	*engine.Engine
	t          *testing.T
	dir        string
	store      *memory.Store
	supervisor []string // command that starts a supervisor
	agents     func(name string) (agent.Agent, error)
	allow      []string // the agents that new workers allow
	accounts   []account.Account
	sandbox    func(plan.Task) (sandbox.Spec, error)
	workspace  worker.Workspace // nil means the fleet's folder
	older      bool             // the engine does not know that workers restrict their agents, like an old version
}

func newFleet(t *testing.T, lease time.Duration) *fleet {
	f := &fleet{t: t, dir: t.TempDir(), store: memory.New(), supervisor: []string{testenv.Program(t)}}
	f.agents = func(name string) (agent.Agent, error) { return agent.New(name, nil) }
	var ids atomic.Int64
	f.Engine = engine.New(f.store, engine.Options{
		Now: time.Now, Rand: rand.Float64, Lease: lease,
		NewID: func() string { return fmt.Sprintf("id-%d-%d-%d", os.Getpid(), time.Now().UnixNano(), ids.Add(1)) },
	})
	return f
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// submit submits a run with one task for each script. The tasks are called a, b and so on.
func (f *fleet) submit(retries int, scripts ...string) (run string) {
	f.t.Helper()
	var p plan.Plan
	for i, script := range scripts {
		p.Tasks = append(p.Tasks, plan.Task{ID: string(rune('a' + i)), Limits: plan.Limits{Retries: retries}, Argv: []string{"sh", "-c", script}})
	}
	run, err := f.Submit(context.Background(), engine.Submission{Plan: p})
	f.must(err)
	return run
}

func (f *fleet) task(run, id string) (t store.Task) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
		t, err = r.Task(store.TaskKey{Run: run, Task: id})
		return err
	}))
	return t
}

func (f *fleet) attempts(run, id string) (list []store.Attempt) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
		list, err = r.Attempts(store.TaskKey{Run: run, Task: id})
		return err
	}))
	return list
}

// worker returns a worker as the store has it. It is empty if the worker has sent no heartbeat yet.
func (f *fleet) worker(id string) (w store.Worker) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
		if w, err = r.Worker(id); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}))
	return w
}

// running returns the attempts of a run that a new worker has to adopt.
func (f *fleet) running(run string) (list []engine.Assignment) {
	f.t.Helper()
	f.must(f.store.Read(context.Background(), func(r store.Reader) error {
		tasks, err := r.Tasks(run)
		for _, t := range tasks {
			if t.RunningAttempt == "" || err != nil {
				continue
			}
			var a store.Attempt
			a, err = r.Attempt(t.RunningAttempt)
			list = append(list, engine.Assignment{Attempt: a, Task: t, Lease: engine.Remaining(a, time.Now())})
		}
		return err
	}))
	return list
}

func (f *fleet) until(run, id string, want store.Status) {
	f.t.Helper()
	testenv.WaitFor(f.t, fmt.Sprintf("task %s to be %s", id, want),
		func() store.Task { return f.task(run, id) },
		func(t store.Task) bool { return t.Status == want })
}

// workerIs waits until the named worker has this status.
func (f *fleet) workerIs(name, status string) {
	f.t.Helper()
	testenv.WaitFor(f.t, fmt.Sprintf("worker %s to be %s", name, status),
		func() string { return f.worker(name).Status },
		func(s string) bool { return s == status })
}

// sweep makes the engine check leases again and again until the test ends, as if it had received
// all heartbeats in time.
func (f *fleet) sweep() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_, _ = f.Sweep(ctx, time.Time{})
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f.t.Cleanup(func() { stop(); <-done })
}

// connection is a worker's connection to the engine.
type connection struct {
	*engine.Engine
	cut   atomic.Bool  // no request reaches the engine
	lossy atomic.Bool  // some answers do not reach the worker
	stuck atomic.Bool  // claims are not answered
	busy  atomic.Int64 // number of further requests that fail, as if another process were writing to the store
	older bool         // claims reach the engine without the list of allowed agents
	beats atomic.Int64
}

var errCut = errors.New("the wire is cut")

// over sends a request over the connection, which may fail as the fields of w say.
func over[A any](w *connection, request func() (A, error)) (A, error) {
	var none A
	if w.cut.Load() {
		return none, errCut
	}
	if w.busy.Add(-1) >= 0 {
		return none, &sqlite.BusyError{Path: "gaffer.db", Err: context.DeadlineExceeded}
	}
	a, err := request()
	if w.lossy.Load() && rand.IntN(2) == 0 {
		return none, errCut
	}
	return a, err
}

func (w *connection) Claim(ctx context.Context, c engine.Claim) (engine.Assignment, error) {
	if w.stuck.Load() {
		<-ctx.Done()
		return engine.Assignment{}, ctx.Err()
	}
	if w.older {
		c.Agents = nil
	}
	return over(w, func() (engine.Assignment, error) { return w.Engine.Claim(ctx, c) })
}

func (w *connection) Beat(ctx context.Context, said store.Worker, held []engine.HeldAttempt) ([]engine.Order, error) {
	w.beats.Add(1)
	return over(w, func() ([]engine.Order, error) { return w.Engine.Beat(ctx, said, held) })
}

func (w *connection) FinishAndClaim(ctx context.Context, f engine.Finish, c engine.Claim) (engine.FinishResult, *engine.Assignment, error) {
	type answer struct {
		engine.FinishResult
		next *engine.Assignment
	}
	a, err := over(w, func() (answer, error) {
		o, next, err := w.Engine.FinishAndClaim(ctx, f, c)
		return answer{o, next}, err
	})
	return a.FinishResult, a.next, err
}

func (w *connection) Release(ctx context.Context, id string, held []engine.HeldAttempt) error {
	_, err := over(w, func() (int, error) { return 0, w.Engine.Release(ctx, id, held) })
	return err
}

// runningWorker is a worker that a test has started.
type runningWorker struct {
	*worker.Worker
	connection *connection
	stop       context.CancelFunc
	done       chan error

	mu      sync.Mutex
	notices []string
}

type place struct{ dir string }

func (p place) Log(t store.Task) string { return filepath.Join(p.dir, t.Task+".log") }

func (p place) Work(context.Context, store.Task, plan.Task) (string, error) { return p.dir, nil }

func (p place) Commit(context.Context, store.Task, plan.Task) error { return nil }

func (p place) Diff(context.Context, store.Task, plan.Task) (*seen.Diff, error) { return nil, nil }

// startWorker starts a worker. When the test ends, the worker and all its agents are ended.
func (f *fleet) startWorker(id string, slots int, adopt ...engine.Assignment) *runningWorker {
	f.t.Helper()
	h := &runningWorker{connection: &connection{Engine: f.Engine, older: f.older}, done: make(chan error, 1)}
	keys := atomic.Int64{}
	attempts := filepath.Join(f.dir, "attempts-of-"+id)
	h.Worker = worker.New(worker.Options{
		ID: id, Name: id, Labels: []string{engine.WorkerLabel(id)}, Slots: slots, Engine: h.connection, Attempts: attempts, Workspace: cmp.Or[worker.Workspace](f.workspace, place{f.dir}), Now: time.Now, Notice: h.notice,
		Agents:     f.agents,
		Allow:      f.allow,
		Accounts:   f.accounts,
		Sandbox:    f.sandbox,
		Root:       f.dir,
		NewKey:     func() string { return fmt.Sprintf("%s %d %d", id, time.Now().UnixNano(), keys.Add(1)) },
		Supervisor: supervisor.Options{Command: f.supervisor}, Grace: 200 * time.Millisecond,
	})
	f.must(h.Adopt(context.Background(), adopt))
	ctx, stop := context.WithCancel(context.Background())
	h.stop = stop
	go func() { h.done <- h.Run(ctx); close(h.done) }()
	f.t.Cleanup(func() {
		stop()
		<-h.done
		f.must(worker.New(worker.Options{Attempts: attempts, Now: time.Now}).Adopt(context.Background(), nil))
	})
	return h
}

func (h *runningWorker) notice(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notices = append(h.notices, text)
}

func (h *runningWorker) noticesSoFar() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.notices)
}

// ended waits until Run has returned.
func (h *runningWorker) ended(t *testing.T) error {
	t.Helper()
	select {
	case err := <-h.done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("the worker has not ended in a minute")
		return nil
	}
}

// ticks returns a shell script that appends lines to a file until another file appears, and a
// function that counts these lines.
func (f *fleet) ticks(name string) (script string, count func() int) {
	file := filepath.Join(f.dir, name)
	script = fmt.Sprintf("while [ ! -e %s.end ]; do echo $GAFFER_ATTEMPT_NUMBER >> %s; sleep 0.01; done", file, file)
	return script, func() int {
		data, _ := os.ReadFile(file)
		return strings.Count(string(data), "\n")
	}
}

func (f *fleet) end(name string) {
	f.t.Helper()
	f.must(os.WriteFile(filepath.Join(f.dir, name+".end"), nil, 0o600))
}

// awaitGrowth waits until count returns a larger number than at its first call.
func awaitGrowth(t *testing.T, count func() int) {
	t.Helper()
	was := count()
	testenv.WaitFor(t, fmt.Sprintf("more than %d lines", was+3), count, func(n int) bool { return n > was+3 })
}

// awaitStandstill waits until count has returned the same number for a while.
func awaitStandstill(t *testing.T, count func() int) {
	t.Helper()
	was, since := count(), time.Now()
	testenv.WaitFor(t, "half a second without a new line", count, func(now int) bool {
		if now != was {
			was, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
}

func TestAWorkerRunsTasksAndReportsItsActivity(t *testing.T) {
	f := newFleet(t, time.Minute)
	script, count := f.ticks("a")
	run := f.submit(0, script, "true", "exit 3")
	h := f.startWorker("w", 2)
	awaitGrowth(t, count)
	f.until(run, "b", store.Complete)
	f.until(run, "c", store.Failed)
	f.workerIs("w", "running")
	f.end("a")
	f.until(run, "a", store.Complete)
	h.CheckOrders()
	f.workerIs("w", "idle")
	if w := f.worker("w"); w.Name != "w" || w.Slots != 2 || w.Created.IsZero() {
		t.Errorf("the worker is %+v", w)
	}
	if told := h.noticesSoFar(); len(told) > 0 {
		t.Errorf("it told %q", told)
	}
}

func TestADisconnectedWorkerFreezesItsAgentUntilItIsBack(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, 3*time.Second)
	script, count := f.ticks("a")
	run := f.submit(0, script)
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.connection.cut.Store(true)
	testenv.WaitFor(t, "a notice", h.noticesSoFar, func(told []string) bool { return len(told) > 0 }) // wait for the notice first: a slow script may look frozen before
	awaitStandstill(t, count)
	h.connection.cut.Store(false)
	testenv.WaitFor(t, "two notices", h.noticesSoFar, func(told []string) bool { return len(told) > 1 })
	awaitGrowth(t, count)
	f.end("a")
	f.until(run, "a", store.Complete)
	if told := h.noticesSoFar(); len(told) != 2 || !strings.Contains(told[0], errCut.Error()) || !strings.Contains(told[1], "again") {
		t.Errorf("it told %q", told)
	}
	if tries := f.task(run, "a").Tries; tries != 1 {
		t.Errorf("%d tries", tries)
	}
}

func TestAFrozenAgentHasNotStalled(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, 3*time.Second)
	script, count := f.ticks("a")
	run, err := f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{
		{ID: "a", Argv: []string{"sh", "-c", strings.Replace(script, "sleep", "echo on; sleep", 1)}, Limits: plan.Limits{StallTimeout: 3 * time.Second}},
	}}})
	f.must(err)
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.connection.cut.Store(true)
	awaitStandstill(t, count)
	<-time.After(5 * time.Second) // longer than the stall timeout
	h.connection.cut.Store(false)
	awaitGrowth(t, count)
	f.end("a")
	f.until(run, "a", store.Complete)
}

func TestATaskOfADisconnectedWorkerNeverHasTwoAgents(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, 3*time.Second)
	script, count := f.ticks("a")
	run := f.submit(9, script)
	first := f.startWorker("first", 1)
	awaitGrowth(t, count)
	first.connection.cut.Store(true)
	f.sweep()
	second := f.startWorker("second", 1)
	testenv.WaitFor(t, "an attempt of the second worker", func() []store.Attempt {
		second.Wake() // wake the worker: the retry is delayed
		return f.attempts(run, "a")
	}, func(all []store.Attempt) bool { return len(all) > 1 && all[len(all)-1].Worker == "second" })
	awaitGrowth(t, count)
	first.connection.cut.Store(false)
	awaitGrowth(t, count)
	f.end("a")
	f.until(run, "a", store.Complete)
	data, err := os.ReadFile(filepath.Join(f.dir, "a"))
	f.must(err)
	if lines := strings.Fields(string(data)); !slices.IsSorted(lines) {
		t.Errorf("agents of two attempts were at work: %v", lines)
	}
	if all := f.attempts(run, "a"); all[0].Class != "lost" {
		t.Errorf("the first attempt is %+v", all[0])
	}
}

func TestASupervisorThatDiesAtTheStartIsNotABadPlan(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.supervisor = []string{"/bin/sh", "-c", `mkdir "$1" 2>/dev/null && kill -9 $$; shift; exec "$@"`, "sh", filepath.Join(f.dir, "once"), testenv.Program(t)}
	run := f.submit(1, "true")
	f.startWorker("w", 1)
	testenv.WaitFor(t, "the end of the first attempt",
		func() []store.Attempt { return f.attempts(run, "a") },
		func(all []store.Attempt) bool { return len(all) > 0 && !all[0].Ended.IsZero() })
	if a := f.attempts(run, "a")[0]; a.Class != failure.Lost || !strings.Contains(a.Summary, "start supervisor: ") {
		t.Errorf("it is %s: %s", a.Class, a.Summary)
	}
	if status := f.task(run, "a").Status; status != store.Queued {
		t.Errorf("the task is %s, and not to be tried again", status)
	}
}

func TestADrainingWorkerClaimsNothing(t *testing.T) {
	f := newFleet(t, time.Minute)
	script, count := f.ticks("a")
	run := f.submit(0, script, "true")
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.Drain()
	f.end("a")
	if err := h.ended(t); err != nil {
		t.Errorf("it ended with %v", err)
	}
	a, b := f.task(run, "a"), f.task(run, "b")
	if a.Status != store.Complete || b.Status != store.Queued || b.CountedAttempts != 0 {
		t.Errorf("a is %s, b is %s with %d attempts", a.Status, b.Status, b.CountedAttempts)
	}
}

func TestReleaseReturnsTasksWithoutUsingARetry(t *testing.T) {
	f := newFleet(t, time.Minute)
	one, count := f.ticks("a")
	two, other := f.ticks("b")
	run := f.submit(0, one, two)
	h := f.startWorker("w", 2)
	awaitGrowth(t, count)
	awaitGrowth(t, other)
	f.must(h.Release(context.Background()))
	if err := h.ended(t); err != nil {
		t.Errorf("it ended with %v", err)
	}
	awaitStandstill(t, func() int { return count() + other() })
	for _, id := range []string{"a", "b"} {
		task := f.task(run, id)
		if task.Status != store.Queued || !task.Ready || task.CountedAttempts != 0 || task.Outcome != "released" {
			t.Errorf("%s is %+v", id, task)
		}
		if left, err := supervisor.ListMarked(); err != nil || slices.ContainsFunc(left, func(m supervisor.Marked) bool { return m.Attempt == task.LastAttempt }) {
			t.Errorf("%s still runs", id)
		}
	}
	f.end("a")
	f.end("b")
	f.startWorker("other", 2)
	f.until(run, "a", store.Complete)
	f.until(run, "b", store.Complete)
}

func TestAFailedReleaseIsCompletedWhenTheWorkerRunsAgain(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, time.Minute)
	script, count := f.ticks("a")
	run := f.submit(0, script)
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.connection.cut.Store(true)
	within, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := h.Release(within); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it was released over a wire that is cut: %v", err)
	}
	h.stop()
	<-h.done
	awaitStandstill(t, count)
	f.end("a")
	f.startWorker("w", 1, f.running(run)...)
	f.until(run, "a", store.Complete)
	if task := f.task(run, "a"); task.CountedAttempts != 1 || task.Tries != 2 {
		t.Errorf("the task has %d attempts of %d tries", task.CountedAttempts, task.Tries)
	}
}

func TestTheNextWorkerAdoptsTheAgentOfAKilledWorker(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, 3*time.Second)
	script, count := f.ticks("a")
	run := f.submit(0, script)
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.stop() // the supervisor sees the same as if the worker were killed
	<-h.done
	awaitStandstill(t, count)
	f.startWorker("w", 1, f.running(run)...)
	awaitGrowth(t, count)
	f.end("a")
	f.until(run, "a", store.Complete)
	if tries := f.task(run, "a").Tries; tries != 1 {
		t.Errorf("%d tries", tries)
	}
}

func TestAWorkerThatIsStoppedLetsAnAgentStart(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, time.Minute)
	f.supervisor = []string{"/bin/sh", "-c", `touch "$1"; shift; sleep 0.5; exec "$@"`, "sh", filepath.Join(f.dir, "starting"), testenv.Program(t)}
	script, count := f.ticks("a")
	run := f.submit(0, script)
	h := f.startWorker("w", 1)
	f.begun("starting")
	h.stop()
	_ = h.ended(t) // ignore the error: the worker leaves its agent running
	awaitGrowth(t, count)
	f.startWorker("w", 1, f.running(run)...)
	f.end("a")
	f.until(run, "a", store.Complete)
	if tries := f.task(run, "a").Tries; tries != 1 {
		t.Errorf("%d tries", tries)
	}
}

func TestFaultAnAttemptIsAdoptedWhenItsSupervisorAnswersAgain(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, 10*time.Minute)
	script, count := f.ticks("a")
	run := f.submit(0, script)
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.stop()
	<-h.done
	supervisor := f.supervisorOf(run)
	testenv.Stop(t, supervisor)
	h = f.startWorker("w", 1, f.running(run)...)
	testenv.WaitFor(t, "a notice that the supervisor does not answer", h.noticesSoFar, func(told []string) bool {
		return len(told) > 0 && strings.Contains(told[0], "cannot tell whether the attempt still runs")
	})
	f.must(syscall.Kill(supervisor, syscall.SIGCONT))
	f.end("a")
	f.until(run, "a", store.Complete)
	if tries, told := f.task(run, "a").Tries, h.noticesSoFar(); tries != 1 || len(told) != 1 {
		t.Errorf("%d tries; said %q", tries, told)
	}
}

// supervisorOf returns the pid of the supervisor of the run's only attempt, which worker w runs.
func (f *fleet) supervisorOf(run string) int {
	f.t.Helper()
	var started supervisor.Started
	testenv.Wait(f.t, "the supervisor's note of itself", func() error {
		data, err := os.ReadFile(filepath.Join(f.dir, "attempts-of-w", f.running(run)[0].Attempt.ID, "started.json"))
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &started)
	})
	return started.Supervisor.PID
}

func TestAnAgentThatCannotBeAdoptedIsEndedBeforeItsTaskFails(t *testing.T) {
	f := newFleet(t, time.Minute)
	script, count := f.ticks("a")
	run := f.submit(0, script)
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.stop()
	<-h.done
	f.agents = func(name string) (agent.Agent, error) { return nil, errors.New("nobody knows " + name + " any more") }
	f.startWorker("w", 1, f.running(run)...)
	f.until(run, "a", store.Failed)
	was := count()
	time.Sleep(300 * time.Millisecond) // a running agent would write thirty lines
	if now := count(); now != was {
		t.Errorf("it goes on: %d ticks, then %d", was, now)
	}
}

func TestRequestsWithLostAnswersAreRepeated(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, time.Minute)
	var scripts []string
	for range 12 {
		scripts = append(scripts, "true")
	}
	run := f.submit(0, scripts...)
	h := f.startWorker("w", 2)
	h.connection.lossy.Store(true)
	for i := range scripts {
		f.until(run, string(rune('a'+i)), store.Complete)
	}
	for i := range scripts {
		if task := f.task(run, string(rune('a'+i))); task.Tries != 1 {
			t.Errorf("%s was tried %d times", task.Task, task.Tries)
		}
	}
}

func TestTheEndOfAnAttemptIsReportedAgainAfterABusyDatabase(t *testing.T) {
	f := newFleet(t, time.Minute)
	script, count := f.ticks("a")
	run := f.submit(0, script)
	h := f.startWorker("w", 1)
	awaitGrowth(t, count)
	h.connection.busy.Store(5) // the next heartbeats and reports fail
	f.end("a")
	f.until(run, "a", store.Complete)
	if task := f.task(run, "a"); task.Tries != 1 {
		t.Errorf("it was tried %d times", task.Tries)
	}
}

func TestAnUnansweredClaimDelaysNoHeartbeat(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, 2*time.Second)
	script, count := f.ticks("a")
	run := f.submit(0, script, "true")
	h := f.startWorker("w", 2)
	f.until(run, "b", store.Complete)
	awaitGrowth(t, count)
	h.connection.stuck.Store(true)
	h.Wake()
	was := h.connection.beats.Load()
	testenv.WaitFor(t, "seven heartbeats", h.connection.beats.Load, func(n int64) bool { return n > was+6 }) // takes longer than the lease
	awaitGrowth(t, count)
	f.end("a")
	f.until(run, "a", store.Complete)
}

func TestAMissingProgramIsNotABadPlan(t *testing.T) {
	for want, err := range map[failure.Class]error{
		failure.NotStarted: fmt.Errorf("a worktree: %w", &exec.Error{Name: "git", Err: exec.ErrNotFound}),
		failure.BadPlan:    errors.New("no agent is called so"),
	} {
		f := newFleet(t, time.Minute)
		f.agents = func(string) (agent.Agent, error) { return nil, err }
		run := f.submit(3, "true")
		f.startWorker("w", 1)
		f.until(run, "a", store.Failed)
		if got := f.task(run, "a").Outcome; got != string(want) {
			t.Errorf("%v: outcome %s, want %s", err, got, want)
		}
	}
}
