package session_test

import (
	"context"
	"testing"
	"time"

	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/host/hosttest"
)

const crashRoot = "/project/.founder-mode/status"

func crashStore(h host.Host) *session.Store {
	return session.New(crashRoot, session.Options{Host: h})
}

func TestACrashAtAnyStepOfCreateLeavesAWholeSessionOrNone(t *testing.T) {
	crashes := hosttest.Crashes{
		Prepare: func(h host.Host) error { return createOn(t, h) },
		Do:      func(h host.Host) error { return createOn(t, h) },
		Check: func(t *testing.T, h host.Host, done bool) {
			s := crashStore(h)
			if n := wholeSessions(t, s); n < 1 || done && n != 2 {
				t.Errorf("%d sessions are there; created: %v", n, done)
			}
			if _, err := s.Active(); err != nil {
				t.Errorf("active session: %v", err)
			}
			must(t, createOn(t, h))
			cleanAll(t, s)
		},
	}.Run(t)
	t.Logf("%d crashes", crashes)
}

func TestACrashAtAnyStepOfCleanLeavesEachSessionWholeOrGone(t *testing.T) {
	crashes := hosttest.Crashes{
		Prepare: func(h host.Host) error {
			must(t, createOn(t, h))
			must(t, createOn(t, h))
			id, err := crashStore(h).Active()
			must(t, err)
			log, err := crashStore(h).LogPath(id, "001")
			must(t, err)
			return statefile.WriteNew(h, log, []byte("out"), 0o666)
		},
		Do: func(h host.Host) error {
			time.Sleep(30 * 24 * time.Hour)
			_, err := crashStore(h).Clean(session.Cleaning{Force: true})
			return err
		},
		Check: func(t *testing.T, h host.Host, done bool) {
			s := crashStore(h)
			if n := wholeSessions(t, s); done && n != 0 {
				t.Errorf("%d sessions are left", n)
			}
			cleanAll(t, s)
		},
	}.Run(t)
	t.Logf("%d crashes", crashes)
}

func TestACrashLeavesAnAgentInItsOldOrNewStatus(t *testing.T) {
	crashes := hosttest.Crashes{
		Prepare: func(h host.Host) error { return createOn(t, h) },
		Do: func(h host.Host) error {
			s := crashStore(h)
			id, err := s.Active()
			if err != nil {
				return err
			}
			if err := s.StartAgent(context.Background(), id, "001", 1); err != nil {
				return err
			}
			return s.CompleteAgent(context.Background(), id, "001", 0)
		},
		Check: func(t *testing.T, h host.Host, done bool) {
			s := crashStore(h)
			wholeSessions(t, s)
			id, err := s.Active()
			must(t, err)
			status, err := s.Load(id)
			must(t, err)
			if done && status.Summary.Complete != 1 {
				t.Errorf("what was acknowledged is gone: %+v", status.Summary)
			}
			must(t, s.CancelSession(context.Background(), id))
		},
	}.Run(t)
	t.Logf("%d crashes", crashes)
}

func createOn(t *testing.T, h host.Host) error {
	_, err := crashStore(h).Create(context.Background(), session.Draft{Source: "orchestrate", Agents: list(t, threeAgents)})
	return err
}

// wholeSessions counts the sessions and checks that each is complete.
func wholeSessions(t *testing.T, s *session.Store) int {
	t.Helper()
	entries, err := s.List()
	must(t, err)
	for _, e := range entries {
		if e.Err != nil || e.Summary.Total != 3 {
			t.Errorf("a part of a session: %+v", e)
		}
	}
	for finding := range s.Validate() {
		if finding.Severity == statefile.Invalid {
			t.Error(finding)
		}
	}
	return len(entries)
}

// cleanAll checks that Clean can delete all sessions and hidden folders in the store.
func cleanAll(t *testing.T, s *session.Store) {
	t.Helper()
	time.Sleep(30 * 24 * time.Hour)
	_, err := s.Clean(session.Cleaning{Force: true})
	must(t, err)
	if n := wholeSessions(t, s); n != 0 {
		t.Errorf("clean left %d sessions", n)
	}
}
