package agent_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine/failure"
)

const thread = "6f9619ff-8b86-4011-b42d-00c04fc964ff"

func TestVerdictsOnTheFakeAgent(t *testing.T) {
	both := []string{"fake-claude", "fake-codex"}
	all := append([]string{"fake-plain"}, both...)
	for _, c := range []struct {
		prompt  string
		agents  []string
		want    failure.Class
		summary string
	}{
		{"Say hello.", all, failure.None, "Done: Say hello."},
		{"fake: say Hi there.", all, failure.None, "Hi there."},
		{"fake: work 10ms\nfake: tool echo out", both, failure.None, "Done."},
		{"fake: tool exit 3", both, failure.None, "Done."},
		{"fake: fail It broke.", all, failure.Crashed, "It broke."},
		{"fake: exit 0", both, failure.Crashed, "died without a last word, exit code 0"},
		{"fake: exit 7", all, failure.Crashed, "exit code 7"},
		{"fake: torn\nfake: exit 0", both, failure.Crashed, "died without a last word"},
		{"fake: torn", both, failure.None, "Done."},
		{"fake: limit 60", both, failure.RateLimited, "usage limit"},
		{"fake: overflow", both, failure.ContextOverflow, "too long"},
		{"fake: api-error 529", both, failure.APIError, "529"},
		{"fake: api-error 401", both, failure.Auth, "401"},
		{"fake: binary", both, failure.None, "Done."},
		{"fake: flood 3MB", all, failure.None, ""},
		{"fake: line 3MB", both, failure.None, "Done."},
		{"fake: sya it", both, failure.Crashed, "did you mean say?"},
	} {
		for _, name := range c.agents {
			for _, policy := range []agent.Policy{agent.Ask, agent.Deny} {
				t.Run(strings.Join([]string{c.prompt, name, string(policy)}, " "), func(t *testing.T) {
					r := drive(t, name, agent.Request{Prompt: c.prompt, Policy: policy, Thread: thread, Begin: true}, nobody(t))
					if r.verdict.Class != c.want || !strings.Contains(r.verdict.Summary, c.summary) {
						t.Errorf("verdict %+v, want class %q and %q", r.verdict, c.want, c.summary)
					}
				})
			}
		}
	}
}

func TestARateLimitSaysWhenItEnds(t *testing.T) {
	for name, precision := range map[string]time.Duration{"fake-claude": 2 * time.Second, "fake-codex": 2 * time.Minute} {
		for _, policy := range []agent.Policy{agent.Ask, agent.Deny} {
			before := time.Now()
			v := drive(t, name, agent.Request{Prompt: "fake: limit 600", Policy: policy}, nobody(t)).verdict
			soonest, latest := before.Add(600*time.Second), time.Now().Add(600*time.Second+precision)
			if v.Reset.Before(soonest) || v.Reset.After(latest) {
				t.Errorf("%s, %s: reset %v, want from %v to %v", name, policy, v.Reset, soonest, latest)
			}
		}
	}
}

func TestAQuestionIsAnsweredByTheUser(t *testing.T) {
	for _, name := range []string{"fake-claude", "fake-codex"} {
		var asked []agent.Question
		r := drive(t, name, agent.Request{Prompt: "fake: ask Which colour? | Red | Blue"}, func(q agent.Question) agent.Answer {
			asked = append(asked, q)
			return agent.Answer{Text: "Blue"}
		})
		if len(asked) != 1 || asked[0].Text != "Which colour?" || strings.Join(asked[0].Options, " ") != "Red Blue" {
			t.Errorf("%s asked %+v", name, asked)
		}
		if want := `The answer to "Which colour?" is "Blue".`; r.verdict.Class != failure.None || r.verdict.Summary != want {
			t.Errorf("%s: verdict %+v, want %q", name, r.verdict, want)
		}
		if !r.has(func(s agent.Signal) bool { return s.State == agent.Waiting }) {
			t.Errorf("%s never waits", name)
		}
		if !r.has(func(s agent.Signal) bool { return s.Closed == asked[0].ID }) {
			t.Errorf("%s: the question is never closed", name)
		}
	}
}

func TestAPermissionIsGrantedOrRefusedByTheUser(t *testing.T) {
	for _, name := range []string{"fake-claude", "fake-codex"} {
		for text, want := range map[string]failure.Class{"allow": failure.None, "yes": failure.None, "deny": failure.Denied, "not now": failure.Denied, "": failure.Denied} {
			r := drive(t, name, agent.Request{Prompt: "fake: permission Bash rm -r build", Policy: agent.Ask}, func(q agent.Question) agent.Answer {
				if !strings.Contains(q.Text, "rm -r build") {
					t.Errorf("%s asks %q", name, q.Text)
				}
				return agent.Answer{Text: text}
			})
			if r.verdict.Class != want {
				t.Errorf("%s, %q: verdict %+v, want %q", name, text, r.verdict, want)
			}
			if want == failure.Denied && (len(r.verdict.Denied) != 1 || !strings.Contains(r.verdict.Denied[0], "rm -r build")) {
				t.Errorf("%s, %q: denied %q", name, text, r.verdict.Denied)
			}
		}
	}
}

func TestAnAgentThatContinuesAfterADenialSucceeds(t *testing.T) {
	const prompt = "fake: permission Bash git push\nfake: write %s/made done\nfake: say I did not push."
	for _, c := range []struct {
		name   string
		policy agent.Policy
	}{{"fake-claude", agent.Ask}, {"fake-claude", agent.Deny}, {"fake-codex", agent.Ask}, {"fake-codex", agent.Deny}} {
		r := drive(t, c.name, agent.Request{Prompt: fmt.Sprintf(prompt, t.TempDir()), Policy: c.policy}, func(agent.Question) agent.Answer {
			return agent.Answer{Deny: true, Text: "never push"}
		})
		v := r.verdict
		if v.Class != failure.None || !v.Done || len(v.Denied) != 1 || v.Answer != "I did not push." || v.Summary != "I did not push. (denied: "+v.Denied[0]+")" {
			t.Errorf("%s, %s: verdict %+v", c.name, c.policy, v)
		}
	}
}

func TestAnAgentThatContinuesAfterADenialCanFail(t *testing.T) {
	r := drive(t, "fake-claude", agent.Request{Prompt: "fake: permission Bash git push\nfake: tool true\nfake: fail it broke", Policy: agent.Deny}, nobody(t))
	if v := r.verdict; v.Class != failure.Crashed || len(v.Denied) != 1 {
		t.Errorf("verdict %+v", v)
	}
}

func TestAPolicyAnswersAtOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy agent.Policy
		prompt string
		want   failure.Class
	}{
		{"fake-claude", agent.Allow, "fake: permission Bash make", failure.None},
		{"fake-claude", agent.Deny, "fake: permission Bash make", failure.Denied},
		{"fake-claude", agent.Allow, "fake: ask Which? | Red | Blue", failure.None},
		{"fake-claude", agent.Deny, "fake: ask Which? | Red | Blue", failure.Denied},
		{"fake-codex", agent.Deny, "fake: permission Bash make", failure.Denied},
	} {
		r := drive(t, c.name, agent.Request{Prompt: c.prompt, Policy: c.policy}, nobody(t))
		if r.verdict.Class != c.want {
			t.Errorf("%s, %s, %q: verdict %+v, want %q", c.name, c.policy, c.prompt, r.verdict, c.want)
		}
		if r.has(func(s agent.Signal) bool { return s.State == agent.Waiting }) {
			t.Errorf("%s, %s waits for the user", c.name, c.policy)
		}
	}
	r := drive(t, "fake-claude", agent.Request{Prompt: "fake: ask Which? | Red | Blue", Policy: agent.Allow}, nobody(t))
	if want := `The answer to "Which?" is "Red".`; r.verdict.Summary != want {
		t.Errorf("summary %q, want %q: the first option is the agent's own choice", r.verdict.Summary, want)
	}
}

func TestAConversationIsStartedAndResumed(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy agent.Policy
		begin  bool
	}{
		{"fake-claude", agent.Ask, true},
		{"fake-claude", agent.Ask, false},
		{"fake-codex", agent.Ask, false},
		{"fake-codex", agent.Deny, false},
	} {
		r := drive(t, c.name, agent.Request{Prompt: "hello", Thread: thread, Begin: c.begin, Policy: c.policy}, nobody(t))
		if !r.has(func(s agent.Signal) bool { return s.Thread == thread }) {
			t.Errorf("%+v: no signal has the thread: %q", c, shown(r.signals))
		}
	}
}

func TestUsageIsReported(t *testing.T) {
	for name, usd := range map[string]float64{"fake-claude": 0.25, "fake-codex": 0} {
		for _, policy := range []agent.Policy{agent.Ask, agent.Deny} {
			r := drive(t, name, agent.Request{Prompt: "fake: usage 1000 50 0.25 600", Policy: policy}, nobody(t))
			want := agent.Usage{Input: 1000, Output: 50, Cached: 600, USD: usd}
			if !r.has(func(s agent.Signal) bool { return s.Usage != nil && *s.Usage == want }) {
				t.Errorf("%s, %s: %q, want %+v", name, policy, shown(r.signals), want)
			}
		}
	}
}

func TestAStepCanDependOnTheAttempt(t *testing.T) {
	once := filepath.Join(t.TempDir(), "once")
	steps := "fake: on-attempt 2 fail second\nfake: unless-attempt 1 fail later\nfake: file-once " + once + " fail first"
	for _, c := range []struct{ attempt, want string }{{"1", "first"}, {"1", "Done."}, {"2", "second"}, {"3", "later"}, {"", "Done."}} {
		t.Setenv("GAFFER_ATTEMPT_NUMBER", c.attempt)
		v := drive(t, "fake-claude", agent.Request{Prompt: steps}, nobody(t)).verdict
		if v.Summary != c.want {
			t.Errorf("attempt %q: %+v, want %q", c.attempt, v, c.want)
		}
	}
}
