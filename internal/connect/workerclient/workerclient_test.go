package workerclient_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/fleet"

	"go.uber.org/goleak"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/api/workers"
	"gaffer/internal/attempt/worker"
	"gaffer/internal/connect/workerclient"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

var _ worker.Engine = (*workerclient.Engine)(nil)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// world is a coordinator, and a network to it that tests can interrupt.
type world struct {
	t      *testing.T
	engine *engine.Engine
	store  store.Store
	book   *credential.TokenStore
	secret string
	front  string
	cut    atomic.Bool
	dir    string

	mu     sync.Mutex
	events []workerclient.Event
}

func start(t *testing.T) *world {
	t.Helper()
	s := memory.New()
	w := &world{t: t, store: s, dir: t.TempDir()}
	ids := new(atomic.Int64)
	w.engine = engine.New(s, engine.Options{Now: time.Now, Rand: mathrand.Float64, NewID: func() string { return fmt.Sprintf("id%d", ids.Add(1)) }})
	d := protocol.New(s, w.engine, time.Now)
	w.book = credential.NewTokenStore(d.Tokens(), time.Now, rand.Reader)
	work := workers.New(workers.Options{Store: s, Engine: w.engine, Notice: func(text string) { t.Error(text) }})
	var err error
	if w.secret, _, err = w.book.Create(t.Context(), credential.TokenSpec{Role: credential.Worker, Name: "w"}); err != nil {
		t.Fatal(err)
	}
	back := w.listen()
	hosts, _ := server.HostsOf(back.Addr(), nil)
	srv, err := server.New(server.Options{
		Protocol: d, Work: work, Tokens: w.book, Log: server.NewLog(io.Discard, slog.LevelError), Now: time.Now, Random: rand.Reader, Hosts: hosts, Rate: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { work.Run(ctx) })
	all.Go(func() {
		if err := srv.Serve(ctx, back); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { stop(); all.Wait() })
	w.network(back.Addr().String())
	return w
}

func (w *world) listen() net.Listener {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

// network starts a proxy to the coordinator. It does not answer while the test interrupts the
// network.
func (w *world) network(to string) {
	l := w.listen()
	w.front = "http://" + l.Addr().String()
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{
		Transport: transport, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: to}) },
	}
	front := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.cut.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(rw, r)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = front.Serve(l) }()
	w.t.Cleanup(func() { _ = front.Close(); <-done; transport.CloseIdleConnections() })
}

func (w *world) tell(e workerclient.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *world) kinds() (kinds []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

const name = "mill"

func labels() []string { return []string{"project:app", "@" + name} }

// worker returns a new Engine for the worker, as after a restart of the worker's process.
func (w *world) worker() *workerclient.Engine {
	w.t.Helper()
	e, err := workerclient.New(workerclient.Options{
		Connect: func(timeout time.Duration) (*coordinator.Client, error) {
			transport := &http.Transport{}
			w.t.Cleanup(transport.CloseIdleConnections)
			return coordinator.New(w.front, coordinator.Options{Token: w.secret, Timeout: timeout, Tries: 1, HTTP: &http.Client{Transport: transport}})
		},
		Worker: coordinator.WorkerInfo{ID: "w-" + name, Name: name, Labels: labels(), Slots: 2},
		Now:    time.Now, Rand: mathrand.Float64, Report: w.tell, Logs: filepath.Join(w.dir, "unsent"), LogOf: w.log,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

func (w *world) log(t store.Task) string { return filepath.Join(w.dir, t.Task+".log") }

func (w *world) say(task, text string) {
	w.t.Helper()
	f, err := os.OpenFile(filepath.Join(w.dir, task+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) submit(tasks ...plan.Task) string {
	w.t.Helper()
	for i := range tasks {
		tasks[i].Labels = append(tasks[i].Labels, "project:app")
	}
	run, err := w.engine.Submit(w.t.Context(), engine.Submission{Plan: plan.Plan{Tasks: tasks}, Project: "app"})
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// until waits until check returns ok. If that takes too long, it fails and shows the value that
// check has seen, and the events.
func (w *world) until(what string, check func() (seen any, ok bool)) {
	w.t.Helper()
	testenv.Wait(w.t, what, func() error {
		seen, ok := check()
		if !ok {
			return fmt.Errorf("%+v; events %v", seen, w.kinds())
		}
		return nil
	})
}

func (w *world) kept(attempt string) (text string, done bool) {
	w.t.Helper()
	err := w.store.Read(w.t.Context(), func(r store.Reader) error {
		data, err := logstore.Read(r, attempt, 0, 1<<24)
		if err != nil {
			return err
		}
		text = string(data)
		done, err = logstore.Done(r, attempt)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return text, done
}

func claimOf(key string) engine.Claim {
	return engine.Claim{Worker: "w-" + name, Labels: labels(), Key: key}
}

func (w *world) claim(e *workerclient.Engine, key string) engine.Assignment {
	w.t.Helper()
	a, err := e.Claim(w.t.Context(), claimOf(key))
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *world) join(e *workerclient.Engine) []engine.Assignment {
	w.t.Helper()
	held, err := e.Held(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return held
}

func finish(a engine.Assignment) engine.Finish {
	return engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Key: a.Attempt.ID, Ending: fleet.Ending{Summary: "done"}}
}

func TestAnEngineBehindANetworkAnswersAsTheEngineDoes(t *testing.T) {
	w := start(t)
	run := w.submit(plan.Task{ID: "one", Limits: plan.Limits{Timeout: time.Hour}, Prompt: "do it"}, plan.Task{ID: "two"})
	e := w.worker()
	if held := w.join(e); len(held) != 0 {
		t.Fatalf("holds %v", held)
	}
	a := w.claim(e, "k")
	if a.Task.Task != "one" || a.Task.Run != run || a.Attempt.Number != 1 || a.Attempt.Worker != "w-mill" || a.Lease != engine.DefaultLease {
		t.Errorf("%+v", a)
	}
	if left := time.Until(a.Attempt.Deadline); left < 50*time.Minute || left > time.Hour {
		t.Errorf("the deadline is in %s", left)
	}
	var spec plan.Task
	if err := json.Unmarshal(a.Task.Spec, &spec); err != nil || spec.Prompt != "do it" {
		t.Errorf("%s %v", a.Task.Spec, err)
	}
	if again := w.claim(e, "k"); again.Attempt.ID != a.Attempt.ID {
		t.Errorf("the same key gives %s and %s", a.Attempt.ID, again.Attempt.ID)
	}
	if got := e.Run(a.Attempt.ID); got.ID != run || got.Project != "app" {
		t.Errorf("run %+v", got)
	}
	id, err := e.Ask(t.Context(), engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ref: "r", Text: "May I?"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.engine.Answer(t.Context(), engine.Answer{Question: id, Text: "yes"}); err != nil {
		t.Fatal(err)
	}
	orders, err := e.Beat(t.Context(), store.Worker{}, []engine.HeldAttempt{{
		Attempt: a.Attempt.ID, Token: a.Attempt.Token, Asking: []string{id},
		Now: fleet.Progress{Activity: fleet.Activity{State: "running", Doing: "x\x00" + strings.Repeat("é", 2000), Said: time.Now()}, Process: fleet.Process{Thread: "a\nb", PID: 7}},
	}})
	if err != nil || len(orders) != 1 || orders[0].Gone || orders[0].Lease != engine.DefaultLease || len(orders[0].Answers) != 1 || orders[0].Answers[0].Answer != "yes" {
		t.Errorf("%+v, %v", orders, err)
	}
	outcome, next, err := e.FinishAndClaim(t.Context(), finish(a), claimOf("k2"))
	if err != nil || outcome.Status != store.Complete || next == nil || next.Task.Task != "two" {
		t.Errorf("%+v %+v %v", outcome, next, err)
	}
	again, same, err := e.FinishAndClaim(t.Context(), finish(a), claimOf("k3"))
	if err != nil || again.Status != store.Complete || same == nil || same.Attempt.ID != next.Attempt.ID {
		t.Errorf("said twice: %+v %+v %v", again, same, err)
	}
	if err := e.Release(t.Context(), "", []engine.HeldAttempt{{Attempt: next.Attempt.ID, Token: next.Attempt.Token}}); err != nil {
		t.Error(err)
	}
	_, _, err = e.FinishAndClaim(t.Context(), finish(*next), engine.Claim{})
	if !errors.As(err, new(*engine.ConflictError)) {
		t.Errorf("a late word: %v", err)
	}
	if _, err := e.Claim(t.Context(), engine.Claim{Worker: "w-mill", Key: "k4"}); !errors.Is(err, engine.ErrNothing) {
		t.Errorf("without labels: %v", err)
	}
	if want := []string{"joined", "started", "started", "asked", "ended", "started", "ended", "started", "released", "gone"}; !slices.Equal(w.kinds(), want) {
		t.Errorf("told %v", w.kinds())
	}
}

func TestMessagesAndInterruptsReachAWorkerBehindANetwork(t *testing.T) {
	w := start(t)
	run := w.submit(plan.Task{ID: "one"})
	e := w.worker()
	w.join(e)
	a := w.claim(e, "k")
	send := func(text string) fleet.Message {
		t.Helper()
		m, err := w.engine.Send(t.Context(), fleet.Message{Run: run, Task: "one", Text: text, Now: true})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	beat := func(delivered ...string) engine.Order {
		t.Helper()
		orders, err := e.Beat(t.Context(), store.Worker{}, []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Delivered: delivered}})
		if err != nil || len(orders) != 1 {
			t.Fatal(orders, err)
		}
		return orders[0]
	}
	first, late := send("first"), send("late")
	if o := beat(); len(o.Messages) != 2 || o.Messages[0].ID != first.ID || o.Messages[0].Text != "first" || !o.Messages[0].Now || o.Interrupt {
		t.Errorf("ordered: %+v", o)
	}
	if o := beat(first.ID); len(o.Messages) != 1 || o.Messages[0].ID != late.ID {
		t.Errorf("after the first was delivered: %+v", o)
	}
	if held := w.join(w.worker()); len(held) != 1 || len(held[0].Messages) != 1 || len(held[0].Earlier) != 1 {
		t.Errorf("a worker that has started again holds %+v", held)
	}
	if err := w.engine.Interrupt(t.Context(), store.TaskKey{Run: run, Task: "one"}, "sam"); err != nil {
		t.Fatal(err)
	}
	if o := beat(); !o.Interrupt || o.Stop != "interrupted" {
		t.Errorf("interrupted: %+v", o)
	}
	end := finish(a)
	end.Class, end.Delivered = failure.Interrupted, []string{late.ID}
	last := send("last")
	o, next, err := e.FinishAndClaim(t.Context(), end, claimOf("k2"))
	if err != nil || o.Status != store.Queued || next == nil || len(next.Messages) != 1 || next.Messages[0].ID != last.ID || len(next.Earlier) != 2 || next.Earlier[1].Text != "late" {
		t.Errorf("%+v %+v %v", o, next, err)
	}
}

func TestAFailureWithMuchToSayIsReported(t *testing.T) {
	w := start(t)
	run := w.submit(plan.Task{ID: "one"})
	e := w.worker()
	w.join(e)
	a := w.claim(e, "k")
	f := finish(a)
	f.Class, f.Reset = failure.RateLimited, time.Now().Add(time.Hour)
	f.Summary, f.Answer = strings.Repeat("\xff\x00", 1<<20), strings.Repeat("é", 1<<20)
	f.Checks = json.RawMessage(`["` + strings.Repeat("x", 1<<20) + `"]`)
	f.Diff = f.Checks
	outcome, _, err := e.FinishAndClaim(t.Context(), f, engine.Claim{})
	if err != nil || outcome.Status != store.Queued {
		t.Fatalf("%+v %v", outcome, err)
	}
	err = w.store.Read(t.Context(), func(r store.Reader) error {
		lane, err := r.Account("claude")
		if left := time.Until(lane.Until); left < 59*time.Minute || left > 61*time.Minute {
			t.Errorf("the lane opens in %s", left)
		}
		task, _ := r.Task(store.TaskKey{Run: run, Task: "one"})
		if task.Outcome != string(failure.RateLimited) {
			t.Errorf("%+v", task)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAnOutageOfTheCoordinatorIsReportedOnceAndItsEndToo(t *testing.T) {
	w := start(t)
	w.submit(plan.Task{ID: "one"})
	e := w.worker()
	w.join(e)
	w.cut.Store(true)
	for range 3 {
		_, err := e.Claim(t.Context(), claimOf("k"))
		away := (*workerclient.UnreachableError)(nil)
		if !errors.As(err, &away) || !away.AlreadyReported() {
			t.Errorf("%v", err)
		}
		if _, err := e.Beat(t.Context(), store.Worker{}, nil); !errors.As(err, &away) {
			t.Errorf("%v", err)
		}
	}
	w.cut.Store(false)
	w.claim(e, "k")
	if want := []string{"joined", "away", "back", "started"}; !slices.Equal(w.kinds(), want) {
		t.Errorf("told %v", w.kinds())
	}
}

func TestAWorkerAsksWhatItHoldsUntilItIsAnswered(t *testing.T) {
	w := start(t)
	w.submit(plan.Task{ID: "one"})
	first := w.worker()
	w.join(first)
	a := w.claim(first, "k")
	w.cut.Store(true)
	second := w.worker()
	held := make(chan []engine.Assignment, 1)
	go func() { list, _ := second.Held(t.Context()); held <- list }()
	w.until("away", func() (any, bool) { return nil, slices.Contains(w.kinds(), "away") })
	w.cut.Store(false)
	if list := <-held; len(list) != 1 || list[0].Attempt.ID != a.Attempt.ID || list[0].Attempt.Token != a.Attempt.Token || list[0].Lease > engine.DefaultLease {
		t.Errorf("%+v", list)
	}
}

func TestATokenThatIsNotAcceptedEndsTheWorker(t *testing.T) {
	w := start(t)
	e := w.worker()
	w.join(e)
	good := w.secret
	for secret, hint := range map[string]string{"gft_" + strings.Repeat("A", 43): "token create", w.another(credential.Worker): "the same each time", w.another(credential.Viewer): "role worker"} {
		w.secret = secret
		bad := w.worker()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); _, _ = bad.Held(ctx) }()
		err := <-bad.Failed()
		cancel()
		<-ended
		denied := (*workerclient.DeniedError)(nil)
		if !errors.As(err, &denied) || !strings.Contains(denied.Hint(), hint) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v (%v)", err, denied)
		}
	}
	w.secret = good
}

func TestACoordinatorThatIsNotTrustedEndsTheWorkerAtItsFirstWord(t *testing.T) {
	w := start(t)
	encrypted := httptest.NewUnstartedServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	encrypted.StartTLS()
	defer encrypted.Close()
	w.front = encrypted.URL
	e := w.worker()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _, _ = e.Held(ctx) }()
	err := <-e.Failed()
	cancel()
	<-ended
	stranger := (*workerclient.UntrustedError)(nil)
	if !errors.As(err, &stranger) || !strings.Contains(stranger.Hint(), "--fingerprint") {
		t.Errorf("%v", err)
	}
	if slices.Contains(w.kinds(), "joined") {
		t.Error("it says that it has joined")
	}
}

func TestATokenThatWasJustMadeBesideTheCoordinatorIsAccepted(t *testing.T) {
	w := start(t)
	beside := credential.NewTokenStore(protocol.New(w.store, w.engine, time.Now).Tokens(), time.Now, rand.Reader)
	if _, err := w.book.Check(t.Context(), "gft_none"); err == nil {
		t.Error("a token that nobody has made is accepted")
	}
	var err error
	if w.secret, _, err = beside.Create(t.Context(), credential.TokenSpec{Role: credential.Worker, Name: "later"}); err != nil {
		t.Fatal(err)
	}
	e := w.worker()
	if _, err := e.Held(t.Context()); err != nil {
		t.Error(err)
	}
	if len(e.Failed()) > 0 {
		t.Errorf("the worker ends: %v", <-e.Failed())
	}
}

func (w *world) another(role credential.Role) string {
	w.t.Helper()
	secret, _, err := w.book.Create(w.t.Context(), credential.TokenSpec{Role: role, Name: "another"})
	if err != nil {
		w.t.Fatal(err)
	}
	return secret
}

// runs calls Listen as a worker does while it runs attempts. It counts the calls of wake and
// attend.
func (w *world) runs(e *workerclient.Engine) (wakes, attends *atomic.Int64, stop func()) {
	wakes, attends = new(atomic.Int64), new(atomic.Int64)
	ctx, cancel := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	all.Go(func() { e.Listen(ctx, func() { wakes.Add(1) }, func() { attends.Add(1) }) })
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); all.Wait() }) }
	w.t.Cleanup(stop)
	return wakes, attends, stop
}

func TestAWorkerIsWokenByATaskAndAfterAnOutage(t *testing.T) {
	w := start(t)
	e := w.worker()
	w.join(e)
	wakes, attends, _ := w.runs(e)
	w.until("woken at first", func() (any, bool) {
		return []int64{wakes.Load(), attends.Load()}, wakes.Load() == 1 && attends.Load() == 1
	})
	run := w.submit(plan.Task{ID: "one"})
	w.until("woken by a task", func() (any, bool) { n := wakes.Load(); return n, n == 2 })
	w.claim(e, "k")
	if err := w.engine.Cancel(t.Context(), engine.Target{Run: run}, "ada", "enough"); err != nil {
		t.Fatal(err)
	}
	w.until("told of an order", func() (any, bool) { n := attends.Load(); return n, n == 2 })
	w.cut.Store(true)
	w.submit(plan.Task{ID: "two"}) // ends the long poll that started before the network was interrupted
	w.until("away", func() (any, bool) { return nil, slices.Contains(w.kinds(), "away") })
	before := wakes.Load()
	w.cut.Store(false)
	w.until("woken again", func() (any, bool) { n := wakes.Load(); return n, n > before })
}

func TestOutputIsSentWhileAnAttemptRunsAndAfterItsEnd(t *testing.T) {
	w := start(t)
	w.submit(plan.Task{ID: "one"})
	e := w.worker()
	w.join(e)
	a := w.claim(e, "k")
	w.runs(e)
	w.say("one", "hello ")
	w.until("sent", func() (any, bool) { text, _ := w.kept(a.Attempt.ID); return text, text == "hello " })
	big := strings.Repeat("0123456789", 60_000)
	w.say("one", big)
	if _, _, err := e.FinishAndClaim(t.Context(), finish(a), engine.Claim{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	e.Flush(ctx)
	if text, done := w.kept(a.Attempt.ID); text != "hello "+big || !done {
		t.Errorf("%d bytes, done %v", len(text), done)
	}
	if left, _ := filepath.Glob(filepath.Join(w.dir, "unsent", "*")); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestAfterACrashALogContinuesAtTheCoordinatorsOffset(t *testing.T) {
	w := start(t)
	w.submit(plan.Task{ID: "one"}, plan.Task{ID: "two"})
	first := w.worker()
	w.join(first)
	one, two := w.claim(first, "k"), w.claim(first, "l")
	_, _, crash := w.runs(first)
	w.say("one", "before ")
	w.say("two", "before ")
	w.until("sent", func() (any, bool) {
		a, _ := w.kept(one.Attempt.ID)
		b, _ := w.kept(two.Attempt.ID)
		return []string{a, b}, a != "" && b != ""
	})
	crash()
	w.say("one", "after")
	w.say("two", "after")
	if _, err := w.engine.Finish(t.Context(), finish(one)); err != nil { // simulate a request whose answer was lost
		t.Fatal(err)
	}
	second := w.worker()
	if held := w.join(second); len(held) != 1 || held[0].Attempt.ID != two.Attempt.ID {
		t.Fatalf("holds %+v", held)
	}
	w.runs(second)
	w.until("sent", func() (any, bool) {
		a, ended := w.kept(one.Attempt.ID)
		b, over := w.kept(two.Attempt.ID)
		return []any{a, ended, b, over}, a == "before after" && ended && b == "before after" && !over
	})
}

func TestALogThatTheCoordinatorDoesNotWantIsForgotten(t *testing.T) {
	w := start(t)
	note := filepath.Join(w.dir, "unsent", "nobody.json")
	if err := os.MkdirAll(filepath.Dir(note), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{note: `{"attempt":"nobody","token":1,"log":"/dev/null"}`, filepath.Join(w.dir, "unsent", "half.json"): `{"att`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := w.worker()
	w.join(e)
	w.runs(e)
	w.until("forgotten", func() (any, bool) {
		left, _ := filepath.Glob(filepath.Join(w.dir, "unsent", "*"))
		return left, len(left) == 0
	})
	if !slices.Contains(w.kinds(), "notice") {
		t.Errorf("told %v", w.kinds())
	}
}

func TestNamesThatCouldBePathsAreRefused(t *testing.T) {
	w := start(t)
	w.submit(plan.Task{ID: "../../etc"})
	e := w.worker()
	w.join(e)
	if _, err := e.Claim(t.Context(), claimOf("k")); err == nil || !strings.Contains(err.Error(), "slash") {
		t.Errorf("%v", err)
	}
}

func TestIdleIsSignalledOnlyIfNoAttemptIsHeld(t *testing.T) {
	w := start(t)
	w.submit(plan.Task{ID: "one"})
	e := w.worker()
	w.join(e)
	a := w.claim(e, "k")
	_, _ = e.Claim(t.Context(), claimOf("l"))
	select {
	case <-e.Idle():
		t.Error("idle while a task is held")
	default:
	}
	if _, _, err := e.FinishAndClaim(t.Context(), finish(a), engine.Claim{}); err != nil {
		t.Fatal(err)
	}
	_, _ = e.Claim(t.Context(), claimOf("m"))
	select {
	case <-e.Idle():
	default:
		t.Error("not idle")
	}
}
