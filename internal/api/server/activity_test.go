package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

// seenNext reads up to the next message with the last-seen times of agents, and returns these times
// by agent id.
func seenNext(t *testing.T, r *reader) map[string]time.Time {
	t.Helper()
	for {
		e, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if e.name != "seen" {
			continue
		}
		var said struct {
			Time time.Time            `json:"time"`
			Seen map[string]time.Time `json:"seen"`
		}
		if err := json.Unmarshal([]byte(e.data), &said); err != nil || said.Time.IsZero() || e.id != 0 {
			t.Fatalf("%+v: %v", e, err)
		}
		return said.Seen
	}
}

func (w *world) beat(id string) {
	w.t.Helper()
	if got := w.ask(credential.Worker, "POST", "/v1/agents/heartbeat", fmt.Sprintf(`{"agent_id":%q,"claude_status":"idle"}`, id)); got.status != 200 {
		w.t.Fatal(got.body)
	}
}

func TestAClientGetsAllLastSeenTimesAndThenTheChangedOnes(t *testing.T) {
	testenv.Integration(t)
	w := start(t, nil)
	w.beat("a")
	w.beat("b")
	r := follow(w, "?seen=1&last_event_id=0", nil)
	defer r.close()
	if first, err := r.next(); err != nil || first.name != "seen" {
		t.Fatalf("after hello comes %+v, %v", first, err)
	}
	late := follow(w, "?seen=1", nil)
	defer late.close()
	all := seenNext(t, late)
	if len(all) != 2 {
		t.Errorf("at first of %v", all)
	}
	w.beat("b")
	if moved := seenNext(t, r); len(moved) != 1 || !moved["b"].After(all["b"]) {
		t.Errorf("then of %v, after %v", moved, all)
	}
	if moved := seenNext(t, late); len(moved) != 1 {
		t.Errorf("then of %v", moved)
	}
}

func TestAStreamGetsActivityOnlyIfItRequestsIt(t *testing.T) {
	w := start(t, func(o *Options) { o.KeepAlive = 50 * time.Millisecond })
	w.beat("a")
	other := follow(w, "?seen=1", nil)
	defer other.close()
	r := follow(w, "?last_event_id=0", nil)
	defer r.close()
	seenNext(t, other)
	for pings := 0; pings < 3; {
		e, err := r.next()
		if err != nil || e.name == "seen" {
			t.Fatalf("%+v, %v", e, err)
		}
		if e.comment == "ping" {
			pings++
		}
	}
}

func TestActivityIsReadOnlyWhileClientsWantIt(t *testing.T) {
	testenv.Integration(t)
	w := start(t, nil)
	w.beat("a")
	r := follow(w, "?seen=1", nil)
	seenNext(t, r)
	r.close()
	s := w.server.activity
	testenv.Wait(t, "no readers and no remembered times", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.readers != 0 || s.last != nil {
			return fmt.Errorf("%d readers, times %v", s.readers, s.last)
		}
		return nil
	})
	again := follow(w, "?seen=1", nil)
	defer again.close()
	if all := seenNext(t, again); len(all) != 1 {
		t.Errorf("later: %v", all)
	}
}

func TestTheStreamOpensWhileTheDatabaseIsUnavailable(t *testing.T) {
	testenv.Integration(t)
	w := start(t, func(o *Options) { o.Send = 5 * time.Second })
	w.server.activity.service = failingAgents{w.service}
	r := follow(w, "?seen=1", nil)
	defer r.close()
	w.service.tell(1, "", "")
	if e, err := r.next(); err != nil || e.name != "update" {
		t.Errorf("%+v, %v", e, err)
	}
}

// failingAgents is a service whose list of agents fails.
type failingAgents struct{ *standIn }

// Agents always returns an error.
func (failingAgents) Agents(context.Context) ([]coordinator.Agent, error) {
	return nil, fmt.Errorf("the database is away")
}

func TestAClientThatMissedARoundGetsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newActivityFeed(nil, nil, time.Now, nil)
		at := time.Now()
		s.publish(&activitySnapshot{agents: map[string]time.Time{"a": at, "b": at}})
		data, round, more := s.after(0)
		if strings.Count(string(data), "2000-") != 3 {
			t.Errorf("at first: %s", data)
		}
		s.publish(&activitySnapshot{agents: map[string]time.Time{"a": at, "b": at}})
		select {
		case <-more:
			t.Error("what is as it was is told again")
		default:
		}
		s.publish(&activitySnapshot{agents: map[string]time.Time{"a": at, "b": at.Add(time.Second)}})
		<-more
		if data, next, _ := s.after(round); next != round+1 || strings.Contains(string(data), `"a"`) || !strings.Contains(string(data), `"b"`) {
			t.Errorf("then: %s", data)
		}
		s.publish(&activitySnapshot{agents: map[string]time.Time{"a": at, "b": at, "c": at}})
		if data, _, _ := s.after(round); !strings.Contains(string(data), `"a"`) || !strings.Contains(string(data), `"c"`) {
			t.Errorf("after two: %s", data)
		}
	})
}

func TestAHeadOfAStreamThatAsksEnds(t *testing.T) {
	w := start(t, nil)
	if got := w.ask(credential.Viewer, http.MethodHead, "/v1/stream?seen=1", ""); got.status != 200 {
		t.Errorf("%d", got.status)
	}
}

func TestDifferencesNameTheAttemptsThatHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newActivityFeed(nil, nil, time.Now, nil)
		running := func(ids ...string) *activitySnapshot {
			doing := map[string]json.RawMessage{}
			for _, id := range ids {
				doing[id] = json.RawMessage(`{"id":"` + id + `"}`)
			}
			return &activitySnapshot{doing: doing}
		}
		s.publish(running("a", "b"))
		data, round, _ := s.after(0)
		if !strings.Contains(string(data), `"whole":true`) || strings.Contains(string(data), "ended") {
			t.Errorf("at first: %s", data)
		}
		s.publish(running("a"))
		if data, _, _ = s.after(round); !strings.Contains(string(data), `"ended":["b"]`) || strings.Contains(string(data), "whole") || strings.Contains(string(data), `"id"`) {
			t.Errorf("after the end of b: %s", data)
		}
	})
}
