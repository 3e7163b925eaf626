package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gaffer/session"
)

func TestDurationsAreShownAsTheTableOfAgentsShowsThem(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:             "0s",
		0:                        "0s",
		42 * time.Second:         "42s",
		59999 * time.Millisecond: "59s",
		154 * time.Second:        "2m 34s",
		65 * time.Second:         "1m 05s",
		65 * time.Minute:         "1h 05m",
		50 * time.Hour:           "50h 00m",
	} {
		if got := session.FormatElapsed(d); got != want {
			t.Errorf("%v is shown as %q, want %q", d, got, want)
		}
	}
}

func TestElapsedUsesTheMembersThatExist(t *testing.T) {
	now := start().now
	at := func(d time.Duration) session.Time { return session.Time{Time: now.Add(d)} }
	seconds, huge := 154.5, 1e300
	for name, c := range map[string]struct {
		agent session.Agent
		want  time.Duration
		known bool
	}{
		"queued":             {session.Agent{Status: session.Queued}, 0, false},
		"running":            {session.Agent{Status: session.Running, StartedAt: at(-time.Minute)}, time.Minute, true},
		"clock set back":     {session.Agent{Status: session.Running, StartedAt: at(time.Minute)}, 0, true},
		"ended":              {session.Agent{Status: session.Complete, DurationSeconds: &seconds}, 154500 * time.Millisecond, true},
		"ended, two times":   {session.Agent{Status: session.Failed, StartedAt: at(-time.Hour), CompletedAt: at(0)}, time.Hour, true},
		"cancelled, no time": {session.Agent{Status: session.Cancelled, StartedAt: at(0)}, 0, false},
	} {
		if got, known := c.agent.Elapsed(now); got != c.want || known != c.known {
			t.Errorf("%s: %v, %v", name, got, known)
		}
	}
	if got, _ := (session.Agent{DurationSeconds: &huge}).Elapsed(now); got <= 0 {
		t.Errorf("a huge duration is %v", got)
	}
}

func TestStatusLabels(t *testing.T) {
	for state, want := range map[session.State]string{
		session.Queued: "○ Queue", session.Running: "● Run", session.Complete: "✓ Done",
		session.Failed: "✗ Fail", session.Cancelled: "⊘ Skip", "paused": "paused",
	} {
		if got := state.Label(); got != want {
			t.Errorf("%s is labelled %q", state, got)
		}
	}
}

func TestAnAgentThatTookLessThanASecondTookOne(t *testing.T) {
	for start, want := range map[string]float64{
		"2026-02-01T14:30:25Z": 1, "2026-02-01T14:30:25.6Z": 1, "2026-02-01T14:30:24.6Z": 0.4, "2026-02-01T14:30:20Z": 5,
		"2026-02-01T14:31:00Z": 0, // the clock was set back
	} {
		now := time.Date(2026, 2, 1, 14, 30, 25, 700_000_000, time.UTC)
		store := session.New(t.TempDir(), session.Options{Now: func() time.Time { return now }})
		path := filepath.Join(store.Root(), "sessions", "s-1", "status.json")
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		text := fmt.Sprintf(`{"session_id": "s-1", "status": "running", "agents": [{"id": "001", "status": "running", "started_at": %q}]}`, start)
		must(t, os.WriteFile(path, []byte(text), 0o644))
		must(t, store.CompleteAgent(t.Context(), "s-1", "001", 0))
		data, err := os.ReadFile(path)
		must(t, err)
		status, _ := session.Decode(value(t, data))
		if got := status.Agents[0].DurationSeconds; got == nil || *got != want {
			t.Errorf("since %s: %v, want %v", start, got, want)
		}
	}
}
