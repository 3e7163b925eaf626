package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	seen "gaffer/fleet"
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
	"gaffer/internal/testkit/testenv"
)

// fakes lets the fleet's agents claude and codex be fake agents with the protocols of these
// programs. prompts returns the prompts with which they were started.
func (f *fleet) fakes() (prompts func() []string) {
	var mu sync.Mutex
	var list []string
	custom := map[string]agent.Custom{}
	for _, name := range []string{"claude", "codex"} {
		custom[name] = agent.Custom{Argv: []string{testenv.Program(f.t), "fake-agent", "--protocol", name}}
	}
	f.agents = func(name string) (agent.Agent, error) {
		made, err := agent.New(name, custom)
		return recorded{made, func(prompt string) { mu.Lock(); list = append(list, prompt); mu.Unlock() }}, err
	}
	return func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(list) }
}

// recorded is an agent whose prompts are recorded.
type recorded struct {
	agent.Agent
	record func(prompt string)
}

func (r recorded) Launch(q agent.Request) (agent.Launch, error) {
	r.record(q.Prompt)
	return r.Agent.Launch(q)
}

func (f *fleet) submitPrompt(t plan.Task) (run string) {
	f.t.Helper()
	t.ID = "a"
	run, err := f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{t}}})
	f.must(err)
	return run
}

func (f *fleet) file(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	f.must(err)
	return string(text)
}

func TestARateLimitedAgentContinuesItsConversationWithTheKeyOfAnotherAccount(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.fakes()
	t.Setenv("SPARE_KEY", "sk-spare")
	t.Setenv("ANTHROPIC_API_KEY", "sk-inherited")
	f.accounts = []account.Account{
		{Name: "work", Agent: "claude", Kind: "claude", Env: map[string]secret.Value{"ANTHROPIC_API_KEY": {Text: "sk-work"}}},
		{Name: "spare", Agent: "claude", Kind: "claude", Env: map[string]secret.Value{"ANTHROPIC_API_KEY": {From: secret.Env, Name: "SPARE_KEY"}}},
	}
	run := f.submitPrompt(plan.Task{Agent: "claude", Prompt: "fake: tool echo $ANTHROPIC_API_KEY >> keys\nfake: on-attempt 1 limit 3600\nfake: say done\n"})
	f.startWorker("w", 1)
	f.until(run, "a", store.Complete)
	if got := f.file("keys"); got != "sk-work\nsk-spare\n" {
		t.Errorf("the agents had the keys %q", got)
	}
	list := f.attempts(run, "a")
	if len(list) != 2 || list[0].Account != "work" || list[1].Account != "spare" || list[0].Class != failure.RateLimited || list[0].Thread == "" || list[1].Thread != list[0].Thread {
		t.Errorf("the attempts were %+v", list)
	}
	if got := f.task(run, "a"); got.CountedAttempts != 1 {
		t.Errorf("%d attempts are counted", got.CountedAttempts)
	}
}

func TestAnAccountWithAConfigFolderDoesNotInheritAKey(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.fakes()
	t.Setenv("ANTHROPIC_API_KEY", "sk-inherited")
	f.accounts = []account.Account{{Name: "work", Agent: "claude", Kind: "claude", Config: "/srv/claude-work"}}
	run := f.submitPrompt(plan.Task{Agent: "claude", Prompt: "fake: tool echo ${ANTHROPIC_API_KEY-unset} $CLAUDE_CONFIG_DIR >> keys\nfake: say done\n"})
	f.startWorker("w", 1)
	f.until(run, "a", store.Complete)
	if got := f.file("keys"); got != "unset /srv/claude-work\n" {
		t.Errorf("the agent had %q", got)
	}
}

func TestAForkWithAnotherAccountGetsTheTranscriptOfTheOriginal(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.fakes()
	work, home := filepath.Join(f.dir, "work"), filepath.Join(f.dir, "home")
	f.accounts = []account.Account{{Name: "work", Agent: "claude", Kind: "claude", Config: work, Reserve: true}, {Name: "home", Agent: "claude", Kind: "claude", Config: home}}
	f.must(os.MkdirAll(filepath.Join(work, "projects/-srv"), 0o700))
	f.must(os.WriteFile(filepath.Join(work, "projects/-srv/thread-1234.jsonl"), []byte("{}\n"), 0o600))
	script := "fake: tool ls $CLAUDE_CONFIG_DIR/projects/-srv > found\nfake: say done\n"
	run := f.submitPrompt(plan.Task{Agent: "claude", Prompt: script, Fork: &plan.Fork{Run: "r", Task: "t", Thread: "thread-1234", Account: "work", Prompt: script}})
	f.startWorker("w", 1)
	f.until(run, "a", store.Complete)
	if got := f.file("found"); got != "thread-1234.jsonl\n" {
		t.Errorf("the agent found %q", got)
	}
}

func TestTheSandboxIsChosenForTheFallbackAgent(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.fakes()
	var mu sync.Mutex
	var chosen []string
	f.sandbox = func(spec plan.Task) (sandbox.Spec, error) {
		mu.Lock()
		defer mu.Unlock()
		chosen = append(chosen, spec.Agent)
		return sandbox.Spec{Mode: plan.SandboxNone}, nil
	}
	run := f.submitPrompt(plan.Task{Agent: "claude", Fallback: []string{"codex"}, Prompt: "fake: on-attempt 1 limit 3600\nfake: say done\n"})
	f.startWorker("w", 1)
	f.until(run, "a", store.Complete)
	if !slices.Equal(chosen, []string{"claude", "codex"}) {
		t.Errorf("sandboxes were chosen for %q", chosen)
	}
}

func TestATranscriptIsCopiedBeforeAnotherAccountContinuesTheConversation(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.fakes()
	work, home := filepath.Join(f.dir, "work"), filepath.Join(f.dir, "home")
	f.accounts = []account.Account{{Name: "work", Agent: "claude", Kind: "claude", Config: work}, {Name: "home", Agent: "claude", Kind: "claude", Config: home}}
	const transcript = `T=$(ls $CLAUDE_CONFIG_DIR/projects/-srv 2>/dev/null); echo "$GAFFER_ATTEMPT_NUMBER $T" >> seen`
	// The fake agent keeps no transcript, so the first attempt writes one with the id of its
	// conversation, which is in its arguments.
	run := f.submitPrompt(plan.Task{Agent: "claude", Prompt: strings.Join([]string{
		"fake: on-attempt 1 tool mkdir -p $CLAUDE_CONFIG_DIR/projects/-srv",
		"fake: on-attempt 1 tool cat /proc/$PPID/cmdline | tr '\\0' '\\n' | grep -A1 session-id | tail -1 | xargs -I@ touch $CLAUDE_CONFIG_DIR/projects/-srv/@.jsonl",
		"fake: tool " + transcript,
		"fake: on-attempt 1 limit 3600",
		"fake: say done", "",
	}, "\n")})
	f.startWorker("w", 1)
	f.until(run, "a", store.Complete)
	list := f.attempts(run, "a")
	thread := list[0].Thread
	if got := f.file("seen"); got != "1 "+thread+".jsonl\n2 "+thread+".jsonl\n" || list[1].Thread != thread || list[1].Account != "home" {
		t.Errorf("saw %q, and the attempts were %+v", got, list)
	}
}

// fileDiff is a workspace that reports one changed file.
type fileDiff struct{ place }

func (fileDiff) Diff(context.Context, store.Task, plan.Task) (*seen.Diff, error) {
	return &seen.Diff{Files: []seen.FileDiff{{Path: "src/login.go"}}, Changed: 1}, nil
}

func TestAFallbackIsToldWhatItsPredecessorHasDone(t *testing.T) {
	f := newFleet(t, time.Minute)
	sent := f.fakes()
	f.workspace = fileDiff{place{f.dir}}
	run := f.submitPrompt(plan.Task{Agent: "claude", Fallback: []string{"codex"}, QuestionRules: plan.QuestionRules{Questions: plan.Deny}, Prompt: strings.Join([]string{
		"Repair the login.", "fake: on-attempt 1 say I have found the reason in src/login.go.", "fake: on-attempt 1 limit 3600", "fake: say done", "",
	}, "\n")})
	f.startWorker("w", 1)
	f.until(run, "a", store.Complete)
	list := f.attempts(run, "a")
	if len(list) != 2 || list[1].Fallback != "codex" || list[1].Class != failure.None || f.task(run, "a").CountedAttempts != 1 {
		t.Fatalf("the attempts were %+v", list)
	}
	prompts := sent()
	second := prompts[len(prompts)-1]
	for _, want := range []string{
		"Repair the login.", "Another agent (claude) has worked on this task before you, until it reached its rate limit.", "The work in this folder is its work.",
		"I have found the reason in src/login.go.", "- src/login.go",
	} {
		if len(prompts) != 2 || !strings.Contains(second, want) {
			t.Errorf("%q is not in the last of %d prompts:\n%s", want, len(prompts), second)
		}
	}
	if strings.Contains(prompts[0], "Another agent") {
		t.Errorf("the first prompt is %s", prompts[0])
	}
}

func TestAnAttemptWhoseAccountTheUserHasRemovedIsReturned(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.fakes()
	run := f.submitPrompt(plan.Task{Agent: "claude", Prompt: "fake: say done\n"})
	_, err := f.Claim(context.Background(), engine.Claim{Worker: "w", Accounts: []engine.WorkerAccount{{Agent: "claude", Name: "gone"}}, Fallbacks: true})
	f.must(err)
	f.startWorker("w", 1, f.running(run)...) // it has died after its claim, and the user has changed the settings
	f.until(run, "a", store.Complete)
	list := f.attempts(run, "a")
	if !slices.Equal([]failure.Class{list[0].Class, list[1].Class}, []failure.Class{failure.Released, failure.None}) || list[1].Account != "" {
		t.Errorf("the attempts were %+v", list)
	}
}
