package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

// workStandIn is a Work service that records the calls and returns configured answers.
type workStandIn struct {
	mu    sync.Mutex
	asked []string
	log   []byte
	err   error
	hold  bool // Wait does not return before its context ends
}

func (w *workStandIn) note(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, what)
	return w.err
}

func (w *workStandIn) times(what string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.asked {
		if a == what {
			n++
		}
	}
	return n
}

func (w *workStandIn) Beat(_ context.Context, _ credential.Identity, b coordinator.WorkBeat) (coordinator.WorkOrders, error) {
	return coordinator.WorkOrders{LeaseMS: 60_000}, w.note("beat " + b.Worker.ID)
}

func (w *workStandIn) Claim(_ context.Context, _ credential.Identity, c coordinator.WorkClaim) (coordinator.Claimed, error) {
	if err := w.note("claim " + c.Worker); err != nil {
		return coordinator.Claimed{}, err
	}
	return coordinator.Claimed{}, &serviceError{"missing", coordinator.NoTasks, "nothing"}
}

func (w *workStandIn) Turn(_ context.Context, _ credential.Identity, t coordinator.WorkTurn) (coordinator.Turned, error) {
	return coordinator.Turned{Outcome: coordinator.WorkOutcome{Status: "complete"}}, w.note("turn " + t.Finish.Attempt)
}

func (w *workStandIn) Ask(_ context.Context, _ credential.Identity, q coordinator.WorkQuestion) (string, error) {
	return "q1", w.note("ask " + q.Attempt)
}

func (w *workStandIn) Release(_ context.Context, _ credential.Identity, r coordinator.WorkRelease) error {
	return w.note("release " + r.Worker)
}

func (w *workStandIn) Held(_ context.Context, _ credential.Identity, worker string) ([]coordinator.Work, error) {
	return nil, w.note("held " + worker)
}

func (w *workStandIn) Wait(ctx context.Context, _ credential.Identity, worker string, after int64) (coordinator.WorkNews, error) {
	if w.hold {
		_ = w.note("wait")
		<-ctx.Done()
	}
	return coordinator.WorkNews{Seq: after + 1}, w.note("wait " + worker)
}

func (w *workStandIn) Log(_ context.Context, _ credential.Identity, p coordinator.LogPiece) (int64, error) {
	if err := w.note("log " + p.Attempt); err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.Offset > int64(len(w.log)) {
		return 0, gap(len(w.log))
	}
	w.log = append(w.log[:p.Offset], p.Data...)
	return int64(len(w.log)), nil
}

// gap is the error for a piece of a log that does not start where the stored bytes end.
type gap int64

func (gap) Error() string   { return "it does not follow" }
func (gap) Conflict() bool  { return true }
func (gap) Code() string    { return coordinator.LogGap }
func (g gap) Offset() int64 { return int64(g) }

func (w *world) worker() *coordinator.Client {
	w.t.Helper()
	c, err := coordinator.New("http://"+w.addr, coordinator.Options{Token: w.tokens[credential.Worker], HTTP: w.client, Tries: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestTheClientsRequestsOfAWorkerAreTheRoutes(t *testing.T) {
	w := start(t, nil)
	c, ctx := w.worker(), t.Context()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if w.work.times(what) != 1 {
			t.Errorf("%s was asked %d times: %v", what, w.work.times(what), w.work.asked)
		}
	}
	orders, err := c.Work.Heartbeat(ctx, coordinator.WorkBeat{Worker: coordinator.WorkerInfo{ID: "w", Name: "n"}})
	check("beat w", err)
	if orders.LeaseMS != 60_000 || orders.Orders == nil {
		t.Errorf("orders %+v", orders)
	}
	turned, err := c.Work.Turn(ctx, coordinator.WorkTurn{Finish: coordinator.WorkFinish{WorkKey: coordinator.WorkKey{Attempt: "a", Token: 7}}})
	check("turn a", err)
	if turned.Outcome.Status != "complete" || turned.Work != nil {
		t.Errorf("turned %+v", turned)
	}
	question, err := c.Work.Ask(ctx, coordinator.WorkQuestion{WorkKey: coordinator.WorkKey{Attempt: "a", Token: 7}, Ref: "r"})
	check("ask a", err)
	if question != "q1" {
		t.Errorf("question %q", question)
	}
	check("release w", c.Work.Release(ctx, coordinator.WorkRelease{Worker: "w"}))
	_, err = c.Work.Held(ctx, "w")
	check("held w", err)
	news, err := c.Work.Wait(ctx, "w", 41)
	check("wait w", err)
	if news.Seq != 42 {
		t.Errorf("news %+v", news)
	}
	_, err = c.Work.Claim(ctx, coordinator.WorkClaim{Worker: "w", Key: "k"})
	if e := problemWith(err); e == nil || e.Code != coordinator.NoTasks || !e.NotFound() {
		t.Errorf("claim: %v", err)
	}
}

func problemWith(err error) *coordinator.Error {
	e, _ := errors.AsType[*coordinator.Error](err)
	return e
}

func TestALogIsSentAsBytesAndAGapSaysWhereToGoOn(t *testing.T) {
	w := start(t, nil)
	c, ctx := w.worker(), t.Context()
	key := coordinator.WorkKey{Attempt: "a", Token: 7}
	said := []byte("\x00\xff{\"not\": json")
	if next, err := c.Work.SendLog(ctx, coordinator.LogPiece{WorkKey: key, Data: said}); err != nil || next != int64(len(said)) {
		t.Fatalf("%d, %v", next, err)
	}
	if !bytes.Equal(w.work.log, said) {
		t.Errorf("%q", w.work.log)
	}
	_, err := c.Work.SendLog(ctx, coordinator.LogPiece{WorkKey: key, Offset: 100, Data: said})
	if e := problemWith(err); e == nil || e.Code != coordinator.LogGap || e.Offset != int64(len(said)) || !e.Conflict() {
		t.Errorf("%v", err)
	}
	_, err = c.Work.SendLog(ctx, coordinator.LogPiece{WorkKey: key, Data: make([]byte, coordinator.MaxLogPiece+1)})
	if e := problemWith(err); e == nil || e.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("%v", err)
	}
}

func TestAStoppingServerEndsLongPolls(t *testing.T) {
	w := start(t, nil)
	w.work.hold = true
	ended := make(chan reply, 1)
	go func() { ended <- w.ask(credential.Worker, "GET", "/v1/work/wait?worker=w&after=1", "") }()
	testenv.WaitFor(t, "a waiting worker", func() int { return w.work.times("wait") }, func(n int) bool { return n > 0 })
	w.stop()
	<-w.ended
	if got := <-ended; got.status != 200 {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestAServerWithoutWorkHasNoneOfItsRoutes(t *testing.T) {
	w := start(t, func(o *Options) { o.Work = nil })
	for _, r := range (&workHandlers{}).routes() {
		w.wants(r.name(), w.ask(credential.Admin, r.method, r.path, `{}`), 404, "not_found")
	}
}

func TestSecurityOddIDsInTheRequestsOfAWorker(t *testing.T) {
	w := start(t, nil)
	for _, id := range []string{"../x", "a/b", `a\b`, "..", "a\nb", strings.Repeat("x", 201)} {
		in := strings.NewReplacer("\n", `\n`, `\`, `\\`).Replace(id)
		for path, body := range map[string]string{
			"/v1/work/beat":    `{"worker":{"id":"` + in + `"}}`,
			"/v1/work/claim":   `{"worker":"` + in + `","key":"k"}`,
			"/v1/work/turn":    `{"finish":{"attempt":"` + in + `"}}`,
			"/v1/work/ask":     `{"attempt":"` + in + `"}`,
			"/v1/work/release": `{"worker":"` + in + `"}`,
		} {
			w.wants(path, w.ask(credential.Worker, "POST", path, body), 400, "invalid_request")
		}
		q := url.QueryEscape(id)
		w.wants("held", w.ask(credential.Worker, "GET", "/v1/work/held?worker="+q, ""), 400, "invalid_request")
		w.wants("wait", w.ask(credential.Worker, "GET", "/v1/work/wait?worker="+q, ""), 400, "invalid_request")
		w.wants("logs", w.ask(credential.Worker, "POST", "/v1/work/logs?attempt="+q, ""), 400, "invalid_request")
	}
	for _, number := range []string{"x", "-2", "99999999999999999999"} {
		w.wants("after", w.ask(credential.Worker, "GET", "/v1/work/wait?worker=w&after="+number, ""), 400, "invalid_request")
		w.wants("offset", w.ask(credential.Worker, "POST", "/v1/work/logs?attempt=a&offset="+number, ""), 400, "invalid_request")
	}
	if len(w.work.asked) != 0 {
		t.Errorf("asked %v", w.work.asked)
	}
}
