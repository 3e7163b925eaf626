package session_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// bring moves a queued agent to the status target, by the transitions of the protocol.
func bring(t *testing.T, s *session.Store, id, agent string, target session.State) {
	t.Helper()
	if target != session.Queued && target != session.Cancelled {
		must(t, s.StartAgent(t.Context(), id, agent, 0))
	}
	switch target {
	case session.Complete:
		must(t, s.CompleteAgent(t.Context(), id, agent, 0))
	case session.Failed:
		must(t, s.FailAgent(t.Context(), id, agent, "no", 1))
	case session.Cancelled:
		must(t, s.CancelAgent(t.Context(), id, agent))
	}
}

func TestAnAgentChangesStatusOnlyByTheProtocol(t *testing.T) {
	moves := map[session.State]func(context.Context, *session.Store, string) error{
		session.Running: func(ctx context.Context, s *session.Store, id string) error { return s.StartAgent(ctx, id, "001", 1) },
		session.Complete: func(ctx context.Context, s *session.Store, id string) error {
			return s.CompleteAgent(ctx, id, "001", 0)
		},
		session.Failed: func(ctx context.Context, s *session.Store, id string) error {
			return s.FailAgent(ctx, id, "001", "no", 1)
		},
		session.Cancelled: func(ctx context.Context, s *session.Store, id string) error { return s.CancelAgent(ctx, id, "001") },
	}
	allowed := map[session.State]string{
		session.Queued:    "running cancelled",
		session.Running:   "complete failed cancelled",
		session.Complete:  "",
		session.Failed:    "",
		session.Cancelled: "",
	}
	for from, may := range allowed {
		for to, perform := range moves {
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				s := newStore(t, start())
				id := create(t, s, threeAgents)
				bring(t, s, id, "001", from)
				before := document(t, s, id)
				err := perform(t.Context(), s, id)
				if strings.Contains(may, string(to)) {
					must(t, err)
					if got := load(t, s, id).Agents[0].Status; got != to {
						t.Errorf("status is %s", got)
					}
					return
				}
				var refused *session.TransitionError
				if !errors.As(err, &refused) || refused.From != from || refused.To != to || !refused.Conflict() {
					t.Fatalf("error is %v", err)
				}
				if string(before) != string(document(t, s, id)) {
					t.Error("a refused transition changed the document")
				}
			})
		}
	}
}

func TestARefusedTransitionNamesTheStatusAndItsSuccessors(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	want := "agent 001 is queued and cannot become complete: may become running or cancelled"
	if err := s.CompleteAgent(t.Context(), id, "001", 0); err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
	must(t, s.CancelAgent(t.Context(), id, "001"))
	want = "agent 001 is cancelled and cannot become running: cancelled is final"
	if err := s.StartAgent(t.Context(), id, "001", 0); err == nil || err.Error() != want {
		t.Errorf("error is %v", err)
	}
}

func TestAnAgentsTimesPidAndExitCodeAreKept(t *testing.T) {
	c := start()
	s := newStore(t, c)
	id := create(t, s, threeAgents)
	must(t, s.StartAgent(t.Context(), id, "001", 4711))
	a := load(t, s, id).Agents[0]
	if a.PID == nil || *a.PID != 4711 || !a.StartedAt.Equal(c.now) {
		t.Errorf("started agent is %+v", a)
	}
	c.forward(154 * time.Second)
	must(t, s.FailAgent(t.Context(), id, "001", "it broke", 7))
	a = load(t, s, id).Agents[0]
	if a.PID != nil || *a.ExitCode != 7 || *a.Error != "it broke" || *a.DurationSeconds != 154 || !a.CompletedAt.Equal(c.now) {
		t.Errorf("failed agent is %+v", a)
	}
	if !strings.Contains(string(document(t, s, id)), `"duration_seconds": 154,`) {
		t.Error("a whole number of seconds has a fraction")
	}
}

func TestADurationIsNeverNegativeAlthoughTheClockIsSetBack(t *testing.T) {
	c := start()
	s := newStore(t, c)
	id := create(t, s, threeAgents)
	must(t, s.StartAgent(t.Context(), id, "001", 0))
	c.forward(-time.Hour)
	must(t, s.CompleteAgent(t.Context(), id, "001", 0))
	if d := load(t, s, id).Agents[0].DurationSeconds; d == nil || *d != 0 {
		t.Errorf("duration is %v", d)
	}
}

func TestADurationIsTakenFromStartTimesInAnyForm(t *testing.T) {
	local := time.Date(2026, 2, 1, 14, 30, 0, 0, time.Local).Format("2006-01-02T15:04:05")
	for started, want := range map[string]float64{
		"2026-02-01T14:30:00Z":             10,
		"2026-02-01T14:30:00.250000+00:00": 9.75,
		"2026-02-01T15:30:00+01:00":        10,
		local:                              10,
	} {
		c := start()
		s := newStore(t, c)
		plant(t, s, seedID, []byte(`{"session_id":"`+seedID+`","status":"running","agents":[{"id":"1","status":"running","started_at":"`+started+`"}]}`))
		c.now = time.Date(2026, 2, 1, 14, 30, 10, 0, time.UTC)
		if started == local {
			c.now = time.Date(2026, 2, 1, 14, 30, 10, 0, time.Local)
		}
		must(t, s.CompleteAgent(t.Context(), seedID, "1", 0))
		if d := load(t, s, seedID).Agents[0].DurationSeconds; d == nil || *d != want {
			t.Errorf("started at %s: duration is %v, want %v", started, *d, want)
		}
	}
}

func TestAnUnknownAgentIsNotFoundAndSimilarOnesAreNamed(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	var missing *session.NotFoundError
	if err := s.StartAgent(t.Context(), id, "3", 0); !errors.As(err, &missing) || strings.Join(missing.Similar, " ") != "003" {
		t.Errorf("error is %v", err)
	}
	for _, bad := range []string{"", "../x", "a/b", "a\x00b", strings.Repeat("x", 300)} {
		var name *statefile.NameError
		if err := s.StartAgent(t.Context(), id, bad, 0); !errors.As(err, &name) {
			t.Errorf("%.10q: error is %v", bad, err)
		}
	}
}

func TestAnUnknownSessionIsNotFoundAndNothingIsMadeForIt(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	var missing *session.NotFoundError
	err := s.StartAgent(t.Context(), id[:len(id)-1]+"f", "001", 0)
	if !errors.As(err, &missing) || strings.Join(missing.Similar, " ") != id {
		t.Errorf("error is %v", err)
	}
	for _, bad := range []string{"", ".", "..", "../x", "a/b", "a\x00b", strings.Repeat("x", 300)} {
		var name *statefile.NameError
		if _, err := s.Load(bad); !errors.As(err, &name) {
			t.Errorf("%.10q: error is %v", bad, err)
		}
	}
	if ids, err := s.IDs(); err != nil || len(ids) != 1 {
		t.Errorf("sessions are %v, %v", ids, err)
	}
}

func TestAWaveRunsWithItsFirstAgentAndCompletesWithItsLast(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	waves := func() string {
		var words []string
		for _, w := range load(t, s, id).Waves {
			words = append(words, string(w.Status))
		}
		return strings.Join(words, " ")
	}
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, "pending pending"},
		{func() error { return s.StartAgent(t.Context(), id, "001", 0) }, "running pending"},
		{func() error { return s.CancelAgent(t.Context(), id, "001") }, "running pending"},
		{func() error { return s.StartAgent(t.Context(), id, "002", 0) }, "running pending"},
		{func() error { return s.FailAgent(t.Context(), id, "002", "no", 1) }, "complete pending"},
		{func() error { return s.CancelAgent(t.Context(), id, "003") }, "complete complete"},
	}
	for i, step := range steps {
		must(t, step.do())
		if got := waves(); got != step.want {
			t.Errorf("after step %d the waves are %s, want %s", i, got, step.want)
		}
	}
}

func TestAgentsWhoseIdsAreNumbersAreNotTakenForOneAnother(t *testing.T) {
	s := newStore(t, start())
	plant(t, s, "numbers", []byte(`{"status": "running", "agents": [
		{"id": 1, "status": "complete"}, {"id": 2, "status": "running"}, {"id": "003", "status": "queued"}],
		"waves": [{"wave": 1, "status": "complete", "agents": [1]}, {"wave": 2, "status": "running", "agents": [2]}, {"wave": 3, "status": "pending", "agents": ["003"]}]}`))
	must(t, s.StartAgent(t.Context(), "numbers", "003", 5))
	var got []session.State
	for _, w := range load(t, s, "numbers").Waves {
		got = append(got, w.Status)
	}
	if diff := cmp.Diff([]session.State{session.Complete, session.Running, session.Running}, got); diff != "" {
		t.Error(diff)
	}
	for f := range s.Validate() {
		if f.Name == "wave-disagrees" {
			t.Error(f)
		}
	}
}

func TestASessionEndsWithItsLastAgent(t *testing.T) {
	for _, c := range []struct {
		agents []session.State
		want   session.State
	}{
		{[]session.State{session.Complete, session.Complete, session.Complete}, session.Complete},
		{[]session.State{session.Complete, session.Cancelled, session.Complete}, session.Complete},
		{[]session.State{session.Failed, session.Cancelled, session.Complete}, session.Failed},
		{[]session.State{session.Failed, session.Complete, session.Running}, session.Running},
		{[]session.State{session.Failed, session.Complete, session.Queued}, session.Running},
	} {
		s := newStore(t, start())
		id := create(t, s, threeAgents)
		for i, to := range c.agents {
			bring(t, s, id, load(t, s, id).Agents[i].ID, to)
		}
		got := load(t, s, id)
		if got.Status != c.want || got.IsComplete() == got.CompletedAt.IsZero() || got.Summary != got.Count() {
			t.Errorf("%v: session is %+v", c.agents, got)
		}
	}
}

func TestASessionWithAgentsLeftToRunIsNotCompleted(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	must(t, s.StartAgent(t.Context(), id, "002", 0))
	must(t, s.CancelAgent(t.Context(), id, "003"))
	var busy *session.BusyError
	if _, err := s.CompleteSession(t.Context(), id); !errors.As(err, &busy) || strings.Join(busy.Agents, " ") != "001 002" {
		t.Errorf("error is %v", err)
	}
}

func TestASessionWithoutAgentsIsCompletedByHand(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, `[]`)
	if load(t, s, id).IsComplete() {
		t.Fatal("it ended by itself")
	}
	for range 2 { // repeating the call is no error
		if state, err := s.CompleteSession(t.Context(), id); err != nil || state != session.Complete {
			t.Errorf("state is %s, %v", state, err)
		}
	}
}

func TestCancellingASessionCancelsWhatHasNotEnded(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	bring(t, s, id, "001", session.Failed)
	bring(t, s, id, "002", session.Running)
	must(t, s.CancelSession(t.Context(), id))
	got := load(t, s, id)
	if got.Status != session.Cancelled || got.CompletedAt.IsZero() || got.Summary.Cancelled != 2 || got.Summary.Failed != 1 {
		t.Errorf("session is %+v", got)
	}
	var refused *session.TransitionError
	if err := s.CancelSession(t.Context(), id); !errors.As(err, &refused) {
		t.Errorf("cancelling again: %v", err)
	}
	if _, err := s.CompleteSession(t.Context(), id); !errors.As(err, &refused) {
		t.Errorf("completing: %v", err)
	}
}

func TestNoAgentStartsInASessionThatHasEnded(t *testing.T) {
	s := newStore(t, start())
	plant(t, s, seedID, []byte(`{"session_id":"`+seedID+`","status":"failed","agents":[{"id":"1","status":"queued"},{"id":"2","status":"running"}]}`))
	var refused *session.TransitionError
	if err := s.StartAgent(t.Context(), seedID, "1", 0); !errors.As(err, &refused) {
		t.Errorf("error is %v", err)
	}
	must(t, s.CompleteAgent(t.Context(), seedID, "2", 0)) // an agent that still runs may end after its session
	if got := load(t, s, seedID); got.Status != session.Failed || got.Agents[1].Status != session.Complete {
		t.Errorf("session is %+v", got)
	}
}

func TestAThousandConcurrentEndsAreAllStored(t *testing.T) {
	const n = 1000
	s := newStore(t, start())
	agents := make([]session.Agent, n)
	for i := range agents {
		wave := i % 10
		agents[i] = session.Agent{ID: "a" + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)), Status: session.Running, Wave: &wave}
	}
	given, err := session.AgentsOf(agents...)
	must(t, err)
	id, err := s.Create(t.Context(), session.Draft{Source: "run-prompt", Agents: given})
	must(t, err)
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range agents {
		all.Go(func() { errs[i] = s.CompleteAgent(context.Background(), id, agents[i].ID, 0) })
	}
	all.Wait()
	must(t, errors.Join(errs...))
	got := load(t, s, id)
	if got.Status != session.Complete || got.Summary.Complete != n || len(got.Waves) != 10 || got.Waves[9].Status != session.Complete {
		t.Errorf("session is %s, summary %+v", got.Status, got.Summary)
	}
}

func TestADocumentOfAnotherFormIsNotChanged(t *testing.T) {
	for _, text := range []string{`null`, `[]`, `"x"`, `{"agents":{}}`, `{"agents":"x"}`} {
		s := newStore(t, start())
		plant(t, s, seedID, []byte(text))
		err := s.StartAgent(t.Context(), seedID, "001", 0)
		var form *session.DocumentError
		if !errors.As(err, &form) || string(document(t, s, seedID)) != text {
			t.Errorf("%s: error is %v", text, err)
		}
	}
}

func TestASummaryThatIsNoObjectIsReplaced(t *testing.T) {
	for _, summary := range []string{`null`, `[1]`, `"x"`} {
		s := newStore(t, start())
		plant(t, s, seedID, []byte(`{"session_id":"x","agents":[{"id":"1"}],"summary":`+summary+`}`))
		must(t, s.Update(t.Context(), seedID, func(*jsontree.Node) error { return nil }))
		if got := load(t, s, seedID).Summary; got != (session.Summary{Total: 1, Queued: 1}) {
			t.Errorf("summary is %+v", got)
		}
	}
}
