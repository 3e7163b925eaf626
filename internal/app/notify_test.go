package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/plan"
	"gaffer/internal/record/notify"
	"gaffer/internal/testkit/testenv"
)

// settings writes the settings file in the user's home folder.
func (p testProject) settings(format string, args ...any) {
	p.t.Helper()
	dir := filepath.Join(p.home, "gaffer")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gaffer.yaml"), fmt.Appendf(nil, format, args...), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// receiver is a webhook server that checks signatures.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	notes []notify.Notification
}

func newReceiver(t *testing.T, secret string) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var n notify.Notification
		if err != nil || json.Unmarshal(body, &n) != nil || req.Header.Get(notify.HeaderSignature) != notify.Sign([]byte(secret), req.Header.Get(notify.HeaderTime), body) {
			t.Errorf("%s %v %v", body, req.Header, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notes = append(r.notes, n)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) titles() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, n := range r.notes {
		list = append(list, n.Title)
	}
	slices.Sort(list)
	return list
}

func (p testProject) secret(text string) string {
	p.t.Helper()
	path := filepath.Join(p.home, "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

func TestARunNotifiesTheUserAndACoordinatorOnItsStoreDoesNotRepeatThat(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]func() string{"sqlite": func() string { return "" }, "postgres": func() string { return pgtest.Database(t) }} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.db = db()
			r := newReceiver(t, "s3cret")
			told := filepath.Join(t.TempDir(), "told")
			p.settings("notify:\n  webhook: %s\n  webhook_secret_file: %s\n  command: [sh, -c, 'echo \"$GAFFER_NOTE_TITLE\" >> %s']\n", r.URL, p.secret("s3cret"), told)
			a := p.open()
			defer a.Close()
			c, err := a.Serve(app.ServerOptions{Notify: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if run := p.run(shell("a", "true"), shell("b", "exit 3"), shell("c", "true", "b")); run.Status != fleet.Failed {
				t.Errorf("the run is %s", run.Status)
			}
			want := []string{"b failed", "run test has failed"}
			testenv.WaitFor(t, "four sent notifications", func() []notify.Record { // this process or the other one sends them
				n, err := a.Notifications.Overview(t.Context(), time.Time{})
				if err != nil {
					t.Fatal(err)
				}
				return n.Recent
			}, func(sent []notify.Record) bool {
				return len(sent) == 4 && !slices.ContainsFunc(sent, func(r notify.Record) bool { return r.State != notify.Sent })
			})
			if got := r.titles(); !slices.Equal(got, want) {
				t.Errorf("told %q", got)
			}
			text, err := os.ReadFile(told)
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			if slices.Sort(lines); err != nil || !slices.Equal(lines, want) {
				t.Errorf("the command was told %q, %v", lines, err)
			}
		})
	}
}

func TestAReceiverThatHangsDelaysNoRunAndTheNextProgramSendsItsNotification(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	free := make(chan struct{})
	var mu sync.Mutex
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked++
		mu.Unlock()
		<-free
	}))
	defer s.Close()
	p.settings("notify: {webhook: %q, command: [sh, -c, 'sleep 600']}\n", s.URL)
	began := time.Now()
	run := p.run(shell("a", "true"), shell("b", "true"))
	if took := time.Since(began); run.Status != fleet.Complete || took > testenv.Patience {
		t.Errorf("%s after %s", run.Status, took)
	}
	a := p.open()
	defer a.Close()
	c, err := a.Serve(app.ServerOptions{Notify: true})
	if err != nil {
		t.Fatal(err)
	}
	testenv.WaitFor(t, "two requests", func() int { mu.Lock(); defer mu.Unlock(); return asked }, func(n int) bool { return n == 2 })
	began = time.Now()
	c.Close()
	if took := time.Since(began); took > testenv.Patience {
		t.Errorf("it took %s to stop", took)
	}
	close(free)
	p.run(shell("a", "true"))
	p.sendsTheRest(a, []string{"run test is complete told", "run test is complete told"}, func() (got []string) {
		n, err := a.Notifications.Overview(t.Context(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range n.Recent {
			if r.Channel == "webhook" {
				got = append(got, r.Note.Title+" "+string(r.State))
			}
		}
		return got
	})
}

// sendsTheRest starts a server and waits until notifications with these titles were sent. The
// server sends those that a run could not send before it ended.
func (p testProject) sendsTheRest(a *app.App, want []string, sent func() []string) {
	p.t.Helper()
	c, err := a.Serve(app.ServerOptions{Notify: true})
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	testenv.WaitFor(p.t, fmt.Sprintf("the notifications %q", want), sent, func(got []string) bool { return slices.Equal(got, want) })
}

func TestAgentsDoNotGetTheSecretThatSigns(t *testing.T) {
	p := newPlace(t)
	r := newReceiver(t, "from the environment")
	p.settings("notify: {webhook: %q}\n", r.URL)
	const name = "GAFFER_NOTIFY_WEBHOOK_SECRET"
	t.Setenv(name, "from the environment")
	a := p.openWith(os.Getenv)
	defer a.Close()
	for range 2 { // the secret must still work after it was removed from the environment
		id, err := a.Submit(t.Context(), plan.Plan{Name: "test", Tasks: []plan.Task{shell("a", `test -z "$`+name+`"`)}})
		if err != nil {
			t.Fatal(err)
		}
		if run, err := a.Runs.Work(context.Background(), id); err != nil || run.Status != fleet.Complete {
			t.Errorf("%s, %v", run.Status, err)
		}
	}
	p.sendsTheRest(a, []string{"run test is complete", "run test is complete"}, r.titles)
}

func TestDoctorSaysWhatIsWrongWithNotifications(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for settings, want := range map[string]string{
		"notify: {}":                             "",
		"notify: {webhook: 'http://10.0.0.1/x'}": "requests to notify.webhook are not signed; go over the network in plain text",
		"notify: {webhook: 'http://localhost:9/x', webhook_secret_file: " + p.secret("x") + "}": "",
		"notify: {webhook: 'https://h/x', webhook_secret_file: /nowhere/at-all}":                "notifications by webhook are not sent: the secret: ",
		"notify: {command: [no-such-program-here]}":                                             "notifications by command are not sent: ",
	} {
		p.settings("%s", settings)
		h, err := app.Doctor(t.Context(), p.options(func(string) string { return "" }), false)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(slices.DeleteFunc(h.Advice, func(text string) bool { return !strings.Contains(text, "notif") }), "\n")
		for part := range strings.SplitSeq(want, "; ") {
			if !strings.Contains(all, part) || want == "" && all != "" {
				t.Errorf("%s: advice %q, want %q", settings, all, part)
			}
		}
	}
}
