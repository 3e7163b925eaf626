package recorder_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
	"gaffer/ledger"
	"gaffer/session"
	"gaffer/statefile"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

const runID = "20260201-120000-abc12345"

// world is an engine on a store in memory, with a clock that tests can set.
type world struct {
	*engine.Engine
	t     *testing.T
	now   time.Time
	store *memory.Store
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC), store: memory.New()}
	ids := 0
	w.Engine = engine.New(w.store, engine.Options{
		Now: func() time.Time { return w.now }, Rand: func() float64 { return 0.5 }, Lease: time.Hour,
		NewID: func() string { ids++; return fmt.Sprintf("id%d", ids) },
	})
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) must(err error) { w.t.Helper(); must(w.t, err) }

func (w *world) submit(p plan.Plan) {
	w.t.Helper()
	_, err := w.Submit(context.Background(), engine.Submission{Plan: p, ID: runID})
	w.must(err)
}

// start claims a task. If pid is positive, it also reports that the agent has started with this
// process id.
func (w *world) start(pid int) engine.Assignment {
	w.t.Helper()
	a, err := w.Claim(context.Background(), engine.Claim{Worker: "w"})
	w.must(err)
	w.forward(time.Second)
	if pid > 0 {
		_, err = w.Beat(context.Background(), store.Worker{ID: "w"}, []engine.HeldAttempt{{
			Attempt: a.Attempt.ID, Token: a.Attempt.Token, Now: fleet.Progress{Activity: fleet.Activity{State: "running", Said: w.now}, Process: fleet.Process{PID: pid}},
		}})
		w.must(err)
	}
	return a
}

// end ends an attempt, some time after its start.
func (w *world) end(a engine.Assignment, f engine.Finish) {
	w.t.Helper()
	w.forward(10 * time.Second)
	f.Attempt, f.Token = a.Attempt.ID, a.Attempt.Token
	_, err := w.Finish(context.Background(), f)
	w.must(err)
}

func (w *world) complete(pid int) {
	w.t.Helper()
	w.end(w.start(pid), engine.Finish{Ending: fleet.Ending{Summary: "all is done"}})
}

func (w *world) forward(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) sweep(after time.Duration) {
	w.t.Helper()
	w.forward(after)
	_, err := w.Sweep(context.Background(), time.Time{})
	w.must(err)
}

func (w *world) events() (all []store.Event) {
	w.must(w.store.Read(context.Background(), func(r store.Reader) (err error) {
		all, err = r.Events(0, 1_000_000)
		return err
	}))
	return all
}

func task(id string, wave int) plan.Task {
	return plan.Task{ID: id, Name: "The " + id, Wave: wave, Agent: "claude", Prompt: "Do " + id + ".", PromptFile: "prompts/" + id + ".md"}
}

// project is a folder in which a recorder writes documents.
type project struct {
	t       *testing.T
	dir     string
	session *session.Store
	ledger  *ledger.Store

	mu      sync.Mutex
	notices []string
}

func newProject(t *testing.T) *project {
	p := &project{t: t, dir: t.TempDir()}
	p.session = session.New(filepath.Join(p.dir, ".founder-mode/status"), session.Options{
		LogPrefix: ".founder-mode/status", LockTimeout: 100 * time.Millisecond,
		Notice: func(n statefile.Notice) { p.notice(n.Text) },
	})
	p.ledger = ledger.Open(filepath.Join(p.dir, "state"), ledger.Options{
		Now: func() time.Time { return time.Date(2026, 2, 1, 12, 30, 0, 0, time.UTC) },
	})
	return p
}

func (p *project) notice(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notices = append(p.notices, text)
}

func (p *project) recorder(s store.Store) *recorder.Recorder {
	return recorder.New(recorder.Options{
		Store: s, Run: runID, Session: p.session, Ledger: p.ledger, Project: "/home/sam/shop",
		Notice: p.notice, Pace: time.Millisecond, CheckInterval: 10 * time.Millisecond,
	})
}

func (p *project) flush(s store.Store) {
	p.t.Helper()
	must(p.t, p.recorder(s).Flush(context.Background()))
}

func (p *project) statusPath() string {
	return filepath.Join(p.dir, ".founder-mode/status/sessions", runID, "status.json")
}

func (p *project) status() session.Status {
	p.t.Helper()
	s, err := p.session.Load(runID)
	must(p.t, err)
	return s
}

// files returns the contents of all documents by path, without lock files.
func (p *project) files() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	must(p.t, filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(p.dir, path)
		all[name] = string(data)
		return err
	}))
	return all
}

func (p *project) same(want map[string]string, when string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.files()); diff != "" {
		p.t.Fatalf("%s: (-want +got)\n%s", when, diff)
	}
}

// valid fails if a document does not conform to its protocol. A run without tasks is allowed.
// complete is false if only some events of a transaction were read: then the last agent may have
// ended although the run has not.
func (p *project) valid(complete bool) {
	p.t.Helper()
	for f := range p.session.Validate() {
		if f.Name != "empty-session" && (complete || f.Name != "unfinished-session") {
			p.t.Error(f)
		}
	}
	must(p.t, p.ledger.Validate(context.Background(), ledger.ValidateOptions{}, func(c ledger.ValidatedFile) error {
		for _, f := range c.Found {
			if complete || f.Name != "run-without-result" {
				p.t.Error(f)
			}
		}
		return nil
	}))
}

// upTo is a store that looks as it did after event number last.
type upTo struct {
	store.Store
	last int64
}

func (s upTo) Read(ctx context.Context, look func(store.Reader) error) error {
	return s.Store.Read(ctx, func(r store.Reader) error { return look(earlier{r, s.last}) })
}

type earlier struct {
	store.Reader
	last int64
}

func (e earlier) LastSeq() (int64, error) { return e.last, nil }

func (e earlier) Events(after int64, limit int) ([]store.Event, error) {
	return e.Reader.Events(after, min(limit, int(max(0, e.last-after))))
}

// forgetful is a store that ignores all writes, so that the recorder's cursor is never stored.
type forgetful struct{ store.Store }

func (f forgetful) Write(context.Context, func(*store.Tx) error) error { return nil }

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/record/recorder -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
}

// story is a scenario of a run. It calls at with the name of each moment that has a golden
// document.
type story func(w *world, at func(moment string))

func crashed(summary string) engine.Finish {
	return engine.Finish{Ending: fleet.Ending{Class: failure.Crashed, Exit: 2, Summary: summary}}
}
