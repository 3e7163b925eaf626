package app_test

import (
	"path/filepath"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/byhand/hookevents"
)

func TestAnAgentStartedByHandIsAWorkerOfTheFleet(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	hook := func(status hookevents.Status, ended bool) {
		t.Helper()
		_, err := hookevents.NewFolder(filepath.Join(p.home, "gaffer")).Update(t.Context(), "claude", "s1", func(s hookevents.Session) hookevents.Session {
			s.Program, s.Session, s.Dir, s.Status, s.Ended, s.At = "claude", "s1", "/p", status, ended, time.Now()
			return s
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hook(hookevents.Waiting, false)
	a := p.open()
	list, err := a.Fleet.Workers(t.Context())
	if err != nil || len(list) != 1 || !list[0].ByHand || list[0].ClaudeStatus != "waiting" || list[0].Source != "hook" || list[0].Dir != "/p" {
		t.Fatalf("without a server the workers are %+v, %v", list, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c := p.coordinate()
	agents := func() ([]coordinator.Agent, error) { return c.Protocol.Agents(t.Context()) }
	is := func(status string) func([]coordinator.Agent) bool {
		return func(l []coordinator.Agent) bool {
			return len(l) == 1 && l[0].ID == list[0].ID && l[0].ClaudeStatus == status
		}
	}
	until(t, "it is told", agents, is("waiting"))
	hook(hookevents.Running, false)
	until(t, "that it goes on is told", agents, is("running"))
	hook(hookevents.Idle, true)
	until(t, "that it is gone is told", agents, func(l []coordinator.Agent) bool { return len(l) == 0 })
}
