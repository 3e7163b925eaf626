package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
)

// watching opens an App whose user watches sources, with a clock that the test moves.
func (p testProject) watching(now *time.Time, sources string) *app.App {
	p.t.Helper()
	dir := filepath.Join(p.home, "gaffer")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gaffer.yaml"), []byte("sources:\n"+sources), 0o600); err != nil {
		p.t.Fatal(err)
	}
	opts := p.options(func(string) string { return "" })
	opts.Now = func() time.Time { return *now }
	a, err := app.Open(p.t.Context(), opts)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = a.Close() })
	return a
}

func watched(t *testing.T, a *app.App) map[string]fleet.WatchedSource {
	t.Helper()
	list, err := a.Sources.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]fleet.WatchedSource{}
	for _, s := range list.Sources {
		byName[s.Name] = s
	}
	return byName
}

func TestAServerTakesNewItemsOfASourceOnceAndContinuesAfterFailures(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	now := time.Date(2026, 2, 1, 22, 0, 0, 0, time.UTC)
	a := p.watching(&now, "  list: {from: tasks.csv, plan: night.yaml, every: 10m}\n  other: {from: missing.csv, every: 10m}\n")
	p.file("night.yaml", "defaults: {agent: fake}\n")
	p.file("tasks.csv", "id,prompt\none,Say one\n")
	look := func() { app.LookAtSources(t.Context(), a, app.ServerOptions{}) }
	runs := func() int {
		list, err := a.Fleet.Runs(t.Context(), true, true)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}

	// In this test no process can be started for a run. The items are taken, and the failure is shown.
	look()
	got := watched(t, a)
	list, other := got["list"], got["other"]
	if list.Taken != 1 || list.LastRun == "" || list.Failures != 1 || !strings.Contains(list.Error, "no gaffer works on run") || !list.LastLook.Equal(now) {
		t.Errorf("%+v", list)
	}
	if other.Taken != 0 || other.Failures != 1 || !strings.Contains(other.Error, "missing.csv") || !other.NextLook.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v", other)
	}
	if by, err := app.StartedBy(t.Context(), a, list.LastRun); err != nil || by != "source list" {
		t.Errorf("started by %q, %v", by, err)
	}

	// Before the next look, nothing happens.
	p.file("tasks.csv", "id,prompt\none,Say one\ntwo,Say two\n")
	now = now.Add(30 * time.Second)
	if look(); runs() != 1 {
		t.Errorf("%d runs", runs())
	}
	now = now.Add(time.Minute)
	look()
	got = watched(t, a)
	if got["list"].Taken != 2 || runs() != 2 || got["other"].Failures != 2 || !got["other"].NextLook.Equal(now.Add(2*time.Minute)) {
		t.Errorf("%d runs, %+v", runs(), got)
	}

	// A source that works again has no error, and a failure is announced once.
	p.file("missing.csv", "id,prompt\n")
	now = now.Add(time.Hour)
	look()
	if s := watched(t, a)["other"]; s.Error != "" || s.Failures != 0 || !s.NextLook.Equal(now.Add(10*time.Minute)) {
		t.Errorf("%+v", s)
	}
	if n := strings.Count(p.notices.String(), "source other:"); n != 1 {
		t.Errorf("announced %d times:\n%s", n, p.notices)
	}
	if runs() != 2 {
		t.Errorf("%d runs", runs())
	}
}

func TestAServerForWorkersOnlyTakesNoItems(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	now := time.Date(2026, 2, 1, 22, 0, 0, 0, time.UTC)
	a := p.watching(&now, "  list: {from: tasks.csv}\n")
	p.file("tasks.csv", "id,prompt\none,Say one\n")
	app.LookAtSources(t.Context(), a, app.ServerOptions{WorkersOnly: true})
	if s := watched(t, a)["list"]; s.Taken != 0 || !strings.Contains(s.Error, "--workers-only=false") {
		t.Errorf("%+v", s)
	}
}
