package session_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/session"
	"gaffer/statefile/host"
)

const day = 24 * time.Hour

// oldSessions creates four sessions: one that ended 10 days ago, one that is running,
// one that is unreadable, and an active one that ended an hour ago.
func oldSessions(t *testing.T) (s *session.Store, ended, runs, broken, active string) {
	c := start()
	s = newStore(t, c)
	ended, runs = create(t, s, threeAgents), create(t, s, threeAgents)
	must(t, s.CancelSession(t.Context(), ended))
	broken = "20260101-000000-00000000"
	plant(t, s, broken, []byte(`{"status": "complete"`))
	old := time.Unix(1, 0)
	must(t, os.Chtimes(filepath.Join(s.Root(), "sessions", broken, "status.json"), old, old))
	c.forward(10*day - time.Hour)
	active = create(t, s, threeAgents)
	must(t, s.CancelSession(t.Context(), active))
	c.forward(time.Hour)
	return s, ended, runs, broken, active
}

func TestCleanRemovesOnlyOldSessions(t *testing.T) {
	s, ended, runs, broken, active := oldSessions(t)
	for _, dry := range []bool{true, false} {
		got, err := s.Clean(session.Cleaning{OlderThan: 7 * day, DryRun: dry})
		must(t, err)
		if len(got) != 3 || got[0].ID != broken || got[0].Kept == "" {
			t.Fatalf("cleaned %+v", got)
		}
		want := []session.Cleaned{{ID: ended}, {ID: runs, Kept: "is running"}}
		if diff := cmp.Diff(want, got[1:]); diff != "" {
			t.Error(diff)
		}
		left, err := s.IDs()
		must(t, err)
		if dry && len(left) != 4 {
			t.Error("a dry run removed something")
		}
		if !dry && !cmp.Equal(left, []string{broken, runs, active}) {
			t.Errorf("left are %v", left)
		}
	}
}

func TestTheActiveSessionIsRemovedOnlyByForce(t *testing.T) {
	s, _, _, broken, active := oldSessions(t)
	got, err := s.Clean(session.Cleaning{})
	must(t, err)
	if last := got[len(got)-1]; last.ID != active || last.Kept != "is the active session" {
		t.Errorf("the active session: %+v", last)
	}
	_, err = s.Clean(session.Cleaning{Force: true})
	must(t, err)
	if left, _ := s.IDs(); !cmp.Equal(left, []string{broken}) {
		t.Errorf("left are %v", left)
	}
	if got := names(s); got != "not-json" {
		t.Errorf("found %s", got)
	}
}

func TestCleanFollowsNoLink(t *testing.T) {
	s, ended, _, _, _ := oldSessions(t)
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "precious"), nil, 0o644))
	dir, _ := s.Dir(ended)
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	_, err := s.Clean(session.Cleaning{OlderThan: 7 * day})
	must(t, err)
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Error(err)
	}
}

func TestCleanKeepsASessionThatIsBeingCreated(t *testing.T) {
	c := start()
	c.forward(day)
	cleaner := newStore(t, c)
	s := session.New(cleaner.Root(), session.Options{Now: c.Now, Host: &stepped{Host: host.OS(), before: func(op host.Op) {
		if op == "show session folder" {
			_, err := cleaner.Clean(session.Cleaning{OlderThan: 7 * day})
			must(t, err)
		}
	}}})
	r := record(t, s)
	r.write()
	r.valid()
}

func TestCleanRemovesLeftoversOfADeadWriterAfterAnHour(t *testing.T) {
	s := newStore(t, start())
	hidden := func(age time.Duration) string {
		dir := filepath.Join(s.Root(), "sessions", ".new-"+age.String())
		then := time.Now().Add(-age)
		must(t, errors.Join(os.MkdirAll(dir, 0o777), os.Chtimes(dir, then, then)))
		return dir
	}
	old, young := hidden(2*time.Hour), hidden(time.Minute)
	_, err := s.Clean(session.Cleaning{OlderThan: 7 * day})
	must(t, err)
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("the young one: %v", err)
	}
}

func TestCleaningAnEmptyStoreIsNoError(t *testing.T) {
	if got, err := newStore(t, start()).Clean(session.Cleaning{}); err != nil || len(got) > 0 {
		t.Errorf("cleaned %v, %v", got, err)
	}
}
