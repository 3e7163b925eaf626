package agent_test

import (
	"slices"
	"testing"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine/failure"
)

func steerable() []string { return []string{"fake-claude", "fake-codex"} }

func yes(agent.Question) agent.Answer { return agent.Answer{Text: "yes"} }

// took returns the keys of the messages that the program has passed to its model, each once. Codex
// reports each message twice: when it starts and when it is complete.
func (r run) took() []string {
	var keys []string
	for _, s := range r.signals {
		if s.Delivered != "" {
			keys = append(keys, s.Delivered)
		}
	}
	return slices.Compact(keys)
}

// turns returns the number of turns that have ended.
func (r run) turns() (n int) {
	for _, s := range r.signals {
		if s.Ended {
			n++
		}
	}
	return n
}

func TestAMessageDuringATurnIsDeliveredInThatTurn(t *testing.T) {
	t.Parallel()
	for _, name := range steerable() {
		r := steer(t, name, agent.Request{Prompt: "fake: ask Go on? | yes\nfake: say first"}, yes,
			func(s agent.Signal, a agent.Steerable, write func([]byte)) bool {
				if s.Ask != nil { // after the answer the agent goes on and gets the messages at its next step
					write(a.Message("m1", "fake: say second", false))
					write(a.Message("m2", "Be kind.", false))
				}
				return s.Ended
			})
		want := []string{agent.MessageKey("m1"), agent.MessageKey("m2")}
		if !slices.Equal(r.took(), want) || r.turns() != 1 || r.verdict.Class != failure.None || r.verdict.Summary != "second" {
			t.Errorf("%s: took %q in %d turns: %+v", name, r.took(), r.turns(), r.verdict)
		}
	}
}

func TestAMessageAfterTheResultIsAnotherTurnWhoseResultCounts(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]agent.Verdict{
		"Be kind.":     {Class: failure.None, Summary: "Done: Be kind."},
		"fake: exit 7": {Class: failure.Crashed, Summary: "died without a last word, exit code 7"},
	} {
		for _, name := range steerable() {
			ends := 0
			r := steer(t, name, agent.Request{Prompt: "fake: say first"}, nobody(t),
				func(s agent.Signal, a agent.Steerable, write func([]byte)) bool {
					if s.Ended {
						if ends++; ends == 1 {
							write(a.Message("m1", message, false))
						}
					}
					return ends == 2
				})
			if r.verdict.Class != want.Class || r.verdict.Summary != want.Summary {
				t.Errorf("%s, %s: %+v", name, message, r.verdict)
			}
			if !slices.Equal(r.took(), []string{agent.MessageKey("m1")}) || !r.has(func(s agent.Signal) bool { return s.Resumed }) {
				t.Errorf("%s, %s: %q", name, message, shown(r.signals))
			}
		}
	}
}

func TestAnInterruptEndsTheTurn(t *testing.T) {
	t.Parallel()
	for _, name := range steerable() {
		r := steer(t, name, agent.Request{Prompt: "fake: say started\nfake: tool sleep 600"}, nobody(t),
			func(s agent.Signal, a agent.Steerable, write func([]byte)) bool {
				if s.Doing == "started" {
					write(a.Message("m1", "Be kind.", false))
					if back := a.Withdraw("m1"); back != nil {
						write(back)
					}
					write(a.Interrupt())
				}
				return s.Ended
			})
		if r.verdict.Class != failure.Interrupted || r.turns() != 1 {
			t.Errorf("%s: %d turns, %+v", name, r.turns(), r.verdict)
		}
	}
}

func TestAnUrgentMessageCutsTheTurnOfClaude(t *testing.T) {
	t.Parallel()
	ends := 0
	r := steer(t, "fake-claude", agent.Request{Prompt: "fake: say started\nfake: tool sleep 600"}, nobody(t),
		func(s agent.Signal, a agent.Steerable, write func([]byte)) bool {
			if s.Doing == "started" {
				write(a.Message("m1", "Be kind.", true))
			}
			if s.Ended {
				ends++
			}
			return ends == 2
		})
	if r.verdict.Class != failure.None || r.verdict.Summary != "Done: Be kind." {
		t.Errorf("%+v", r.verdict)
	}
}

// A gaffer that was killed after it wrote a message may write the same message again.
func TestClaudeDeliversAMessageThatIsWrittenTwiceOnce(t *testing.T) {
	t.Parallel()
	r := steer(t, "fake-claude", agent.Request{Prompt: "fake: ask Go on? | yes"}, yes,
		func(s agent.Signal, a agent.Steerable, write func([]byte)) bool {
			if s.Ask != nil {
				write(a.Message("m1", "Be kind.", false))
				write(a.Message("m1", "Be kind.", false))
			}
			return s.Ended
		})
	taken := 0
	for _, s := range r.signals {
		if s.Delivered != "" {
			taken++
		}
	}
	if taken != 1 || r.turns() != 1 {
		t.Errorf("taken %d times in %d turns", taken, r.turns())
	}
}

func TestNothingIsWrittenToCodexBeforeItsTurn(t *testing.T) {
	t.Parallel()
	a, err := agent.New("codex", nil)
	if err != nil {
		t.Fatal(err)
	}
	early := a.Reader(agent.Request{}).(agent.Steerable)
	if m, i := early.Message("m", "text", false), early.Interrupt(); m != nil || i != nil {
		t.Errorf("wrote %q and %q", m, i)
	}
	if _, ok := a.Reader(agent.Request{Policy: agent.Deny}).(agent.Steerable); ok {
		t.Error("codex exec cannot take messages")
	}
}

func TestAMessageThatCodexRefusesIsReported(t *testing.T) {
	t.Parallel()
	a, err := agent.New("codex", nil)
	if err != nil {
		t.Fatal(err)
	}
	key := agent.MessageKey("m1")
	signals := a.Reader(agent.Request{}).Line([]byte(`{"id":"gaffer-message-` + key + `","error":{"code":-32600,"message":"no"}}`))
	if len(signals) != 1 || signals[0].Refused != key {
		t.Errorf("%q", shown(signals))
	}
}
