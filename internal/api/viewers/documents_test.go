package viewers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/internal/api/viewers"
	"gaffer/statefile/jsontree"
)

// claims implements RunFinder with configured answers.
type claims struct {
	mu              sync.Mutex
	sessions, teams map[string]string
	working         bool
	asked           int
	err             error
}

func (c *claims) Sessions(_ context.Context, _ string, ids []string) (map[string]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked += len(ids)
	return c.sessions, c.err
}

func (c *claims) Team(_ context.Context, _, session string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.teams[session], c.err
}

func (c *claims) Build(_ context.Context, _ string, state jsontree.Value) (string, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return state.Get("gaffer").Text(), c.working, c.err
}

// claimed returns a viewer of a project, a RunFinder that can claim its documents for gaffer, the
// viewer's clock, and a function that writes a document.
func claimed(t *testing.T) (*viewers.Viewer, *claims, *time.Time, func(name, text string)) {
	t.Helper()
	home := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("coordination/pm_state.json", `{"session_id": "v4_1"}`)
	write(".founder-mode/status/sessions/mine/status.json", `{"status": "running", "started_at": "2026-02-01T14:00:00Z"}`)
	write(".founder-mode/status/sessions/theirs/status.json", `{"status": "running", "started_at": "2026-02-01T13:00:00Z"}`)
	write(".fctry/state.json", `{"gaffer": "run-1", "buildRun": {"runId": "r", "status": "running", "chunks": [{"id": 1, "status": "completed"}, {"id": 2}]}}`)
	c := &claims{sessions: map[string]string{"mine": "mine"}, teams: map[string]string{"v4_1": "run-7"}}
	now := time.Date(2026, 2, 1, 15, 0, 0, 0, time.UTC)
	v := viewers.New(viewers.Options{Home: home, Registry: &memory{}, RunFinder: c, Now: func() time.Time { return now }})
	t.Cleanup(v.Close)
	return v, c, &now, write
}

func TestDocumentsOfGaffersRunsAreMarkedWithTheRun(t *testing.T) {
	v, c, _, _ := claimed(t)
	team, err := v.Team(t.Context(), "")
	if err != nil || !team.Ours || team.Run != "run-7" {
		t.Errorf("%+v %v", team, err)
	}
	list, err := v.Sessions(t.Context(), "")
	if err != nil || len(list) != 2 || !list[0].Ours || list[0].Run != "mine" || list[1].Ours || list[1].Run != "" {
		t.Errorf("%+v %v", list, err)
	}
	one, err := v.Session(t.Context(), "", "mine")
	if err != nil || !one.Session.Ours || one.Session.Run != "mine" {
		t.Errorf("%+v %v", one, err)
	}
	status, err := v.BuildStatus(t.Context(), "")
	if m := status.Mission; err != nil || !m.Ours || m.Run != "run-1" || m.Working || m.Resume == nil {
		t.Errorf("%+v %v", m, err)
	}
	c.working = true
	if status, err := v.BuildStatus(t.Context(), ""); err != nil || status.Mission.Resume != nil {
		t.Errorf("a build that somebody is at is to be resumed: %+v %v", status.Mission.Resume, err)
	}
}

func TestTheRunOfADocumentIsCached(t *testing.T) {
	v, c, now, write := claimed(t)
	look := func() (ours bool) {
		t.Helper()
		team, err1 := v.Team(t.Context(), "")
		_, err2 := v.Sessions(t.Context(), "")
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return team.Ours
	}
	for range 3 {
		look()
	}
	if c.asked != 3 {
		t.Errorf("asked %d times", c.asked)
	}
	write("coordination/pm_state.json", `{"session_id": "v4_2"}`)
	first := look()
	if again := look(); first || again || c.asked != 4 {
		t.Errorf("another session: asked %d times", c.asked)
	}
	c.teams["v4_2"] = "run-8" // the run is stored a moment after its documents are written
	if *now = now.Add(3 * time.Second); !look() || c.asked != 5 {
		t.Errorf("its run: asked %d times", c.asked)
	}
	if *now = now.Add(2 * time.Minute); !look() || c.asked != 8 {
		t.Errorf("later: asked %d times", c.asked)
	}
}

func TestDocumentsAreShownEvenIfTheirRunCannotBeFound(t *testing.T) {
	v, c, _, _ := claimed(t)
	c.err = errors.New("the database is away")
	c.sessions, c.teams = nil, nil
	team, err1 := v.Team(t.Context(), "")
	list, err2 := v.Sessions(t.Context(), "")
	if err1 != nil || err2 != nil || !team.Found || team.Ours || len(list) != 2 || list[0].Ours {
		t.Errorf("%+v %v %+v %v", team, err1, list, err2)
	}
}

func TestAFailedSearchForADocumentsRunIsLoggedOncePerMinute(t *testing.T) {
	now, told := time.Date(2026, 2, 1, 15, 0, 0, 0, time.UTC), 0
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".founder-mode/status/sessions/one"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".founder-mode/status/sessions/one/status.json"), []byte(`{"status": "complete"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	v := viewers.New(viewers.Options{
		Home: home, Registry: &memory{}, RunFinder: &claims{err: errors.New("the database is away")},
		Now: func() time.Time { return now }, Notice: func(string) { told++ },
	})
	t.Cleanup(v.Close)
	for _, want := range []int{1, 1, 2} {
		for range 10 {
			if list, err := v.Sessions(t.Context(), ""); err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
		}
		if told != want {
			t.Errorf("told %d times, want %d", told, want)
		}
		now = now.Add(40 * time.Second)
	}
}

func TestDocumentsAreWatchedOnlyWhileThereAreFollowers(t *testing.T) {
	w := newWorld(t)
	w.follow("").of.Leave()
	narrow := w.follow("")
	defer narrow.of.Leave()
	if n := w.Watching(); n != 0 {
		t.Errorf("%d are watched for one who looks at the workflow", n)
	}
	a, err1 := w.FollowAll(t.Context(), "")
	b, err2 := w.FollowAll(t.Context(), "")
	if err := errors.Join(err1, err2); err != nil || w.Watching() != 1 {
		t.Fatalf("%d are watched, %v", w.Watching(), err)
	}
	a.Leave()
	if n := w.Watching(); n != 1 {
		t.Errorf("%d are watched", n)
	}
	b.Leave()
	if n := w.Watching(); n != 0 {
		t.Errorf("%d are watched", n)
	}
}

func TestChangesWhileThereWereNoFollowersAreReported(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.base, "home", "coordination", "pm_state.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := os.WriteFile(file, fmt.Appendf(nil, `{"session_id": "s%d"}`, i), 0o644); err != nil {
			t.Fatal(err)
		}
		of, err := w.FollowAll(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		latest, at := of.Latest()
		r := &reader{t: t, of: of, at: at}
		for _, data := range latest {
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			r.had = append(r.had, m)
		}
		r.until("the session", func(m map[string]any) bool { return strings.Contains(fmt.Sprint(m["team"]), fmt.Sprintf("id:s%d", i)) })
		of.Leave()
	}
}
