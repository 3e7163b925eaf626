package register

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/byhand/discover"
	"gaffer/internal/byhand/hookevents"
)

func sighting(id string, status hookevents.Status) discover.Agent {
	return discover.Agent{ID: id, Name: "claude-" + id, Program: "claude", Status: status, Source: "hook", Dir: "/p"}
}

// fakeServer records each heartbeat as a text: "ID STATUS" or "ID gone".
type fakeServer struct {
	mu           sync.Mutex
	here         []discover.Agent
	away         bool
	refusedAgent string // id of the agent that the server refuses
	refusals     int
	heard        []string
}

func (f *fakeServer) look(context.Context) ([]discover.Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.here), nil
}

// setAgents sets which agents are running, and whether the server is unreachable.
func (f *fakeServer) setAgents(away bool, here ...discover.Agent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away, f.here = away, here
}

func (f *fakeServer) beat(_ context.Context, h coordinator.Heartbeat) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return errors.New("away")
	}
	if h.AgentID == f.refusedAgent {
		f.refusals++
		return &coordinator.Error{Status: http.StatusUnprocessableEntity, Code: "invalid", Message: "meta: too long"}
	}
	word := h.ClaudeStatus
	if h.Gone {
		word = "gone"
	}
	f.heard = append(f.heard, h.AgentID+" "+word)
	return nil
}

// expect fails the test unless exactly these heartbeats were sent since the last call of expect.
func (f *fakeServer) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.heard, want) {
		t.Errorf("%s: told %q, want %q", when, f.heard, want)
	}
	f.heard = nil
}

func TestHeartbeatsReportNewChangedAndEndedAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{here: []discover.Agent{sighting("a", "idle")}}
		var notices []string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Run(ctx, Options{Find: f.look, Beat: f.beat, Now: time.Now, Notice: func(text string) { notices = append(notices, text) }})
		}()
		f.expect(t, "at once", "a idle")
		time.Sleep(14 * time.Second)
		f.expect(t, "while nothing changes")
		f.setAgents(false, sighting("a", "running"), sighting("b", "waiting"))
		time.Sleep(time.Second)
		f.expect(t, "within a second of a change", "a running", "b waiting")
		time.Sleep(15 * time.Second)
		f.expect(t, "from time to time", "a running", "b waiting")
		f.setAgents(true, sighting("a", "running"))
		time.Sleep(5 * time.Second)
		f.expect(t, "while nobody hears")
		if len(notices) != 1 || !strings.Contains(notices[0], "away") {
			t.Errorf("noticed %q", notices)
		}
		f.setAgents(false, sighting("a", "running"))
		time.Sleep(time.Second)
		f.expect(t, "when somebody hears again", "b gone")
		cancel()
		<-done
		f.expect(t, "at the end", "a gone")
	})
}

func TestARefusedHeartbeatDoesNotStopTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{refusedAgent: "a", here: []discover.Agent{sighting("a", "idle"), sighting("b", "idle")}}
		var notices []string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Run(ctx, Options{Find: f.look, Beat: f.beat, Now: time.Now, Notice: func(text string) { notices = append(notices, text) }})
		}()
		f.expect(t, "at once", "b idle")
		time.Sleep(time.Minute)
		f.expect(t, "from time to time", "b idle", "b idle", "b idle", "b idle")
		if len(notices) != 1 || !strings.Contains(notices[0], "meta: too long") {
			t.Errorf("noticed %q", notices)
		}
		if f.refusals > 5 {
			t.Errorf("the refused heartbeat was sent %d times in a minute", f.refusals)
		}
		cancel()
		<-done
		f.expect(t, "at the end", "b gone")
	})
}

func TestWhatAnAgentDoesIsReportedEveryTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := func(doing string) discover.Agent {
			a := sighting("a", "running")
			a.Doing = doing
			return a
		}
		f := &fakeServer{here: []discover.Agent{at("Read: a.go")}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			Run(ctx, Options{Find: f.look, Beat: f.beat, Now: time.Now, Notice: func(string) {}})
		}()
		f.expect(t, "at once", "a running")
		for i := range 4 { // the agent calls a tool four times within two seconds
			f.setAgents(false, at(strings.Repeat("x", i+1)))
			time.Sleep(500 * time.Millisecond)
		}
		f.expect(t, "after two seconds", "a running")
		time.Sleep(10 * time.Second)
		f.expect(t, "while nothing changes")
		cancel()
		<-done
		f.expect(t, "at the end", "a gone")
	})
}
