package fork

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/plan"
)

// log returns the log of an attempt of Claude Code with these messages of the user.
func log(attempt int, messages ...string) []byte {
	var b strings.Builder
	for i, m := range messages {
		fmt.Fprintf(&b, `{"type":"user","message":{"role":"user","content":%q},"session_id":"s","uuid":"u","timestamp":"2026-11-18T07:00:00Z","isReplay":true}`+"\n", m)
		fmt.Fprintf(&b, `{"type":"assistant","message":{"content":[{"type":"text","text":"answer %[1]d.%[2]d"}]},"session_id":"s","uuid":"p%[1]d.%[2]d"}`+"\n", attempt, i+1)
	}
	return []byte(b.String())
}

// source is a task with two attempts in one conversation, after one in another conversation.
func source() Source {
	logs := [][]byte{log(1, "lost"), log(2, "do it", "and that"), log(3, "more")}
	return Source{
		Run: "r", Task: plan.Task{
			ID: "a", Agent: "claude", Model: "opus", Prompt: "do it", After: []string{"b"}, Wave: 2,
			Isolation: plan.Isolation{Worktree: true, Branch: "gaffer/r/a", Land: plan.LandMerge, Into: "main"}, Verify: []string{"make"},
		},
		Attempts: []Attempt{{Number: 1, Thread: "old"}, {Number: 2, Thread: "s"}, {Number: 3, Thread: "s", Used: fleet.Amount{Tokens: 120, Output: 20, Cached: 7}}},
		Log:      func(n int) ([]byte, error) { return logs[n-1], nil },
	}
}

func TestAForkKeepsTheConversationAndTheFilesUpToATurn(t *testing.T) {
	for at, want := range map[int]struct {
		turn, attempt int
		point, note   string
	}{
		0: {turn: 3, attempt: 3},
		3: {turn: 3, attempt: 3},
		2: {turn: 2, attempt: 2, point: "p2.2"},
		1: {turn: 1, attempt: 1, point: "p2.1", note: "no files were kept at turn 1: the new task starts with those at the end of attempt 1"},
	} {
		p, made, err := Plan(source(), fleet.ForkRequest{At: at})
		if err != nil {
			t.Fatal(err)
		}
		task := p.Tasks[0]
		f := task.Fork
		if f.Thread != "s" || f.Turn != want.turn || f.Attempt != want.attempt || f.Point != want.point || strings.Join(made.Notes, "; ") != want.note || !made.From.Copied {
			t.Errorf("at %d: %+v, %q", at, f, made.Notes)
		}
		if task.After != nil || task.Wave != 0 || task.Branch != "" || task.Land != plan.LandReview || task.Into != "main" || task.Verify == nil || f.Prompt != "Continue." || task.Model != "opus" {
			t.Errorf("the task is %+v", task)
		}
		if f.Input != 100 || f.Output != 20 || f.Cached != 7 {
			t.Errorf("the usage of the conversation is %+v", f)
		}
	}
	s := source()
	s.Attempts = s.Attempts[1:]
	if p, made, err := Plan(s, fleet.ForkRequest{At: 1}); err != nil || p.Tasks[0].Fork.Attempt != 0 || !strings.Contains(strings.Join(made.Notes, ""), "the files that the task started with") {
		t.Errorf("in the first attempt: %+v %v", made, err)
	}
}

func TestAProgramThatCannotCopyAConversationGetsASummary(t *testing.T) {
	for _, r := range []fleet.ForkRequest{{Agent: "codex", At: 2, Prompt: "and now?"}, {At: 2, Prompt: "and now?"}} {
		s := source()
		if r.Agent == "" {
			s.Log = func(int) ([]byte, error) { return []byte("plain text\n"), nil }
		}
		p, made, err := Plan(s, r)
		if err != nil {
			t.Fatal(err)
		}
		task := p.Tasks[0]
		if task.Fork.Thread != "" || made.From.Copied || len(made.Notes) != 1 || !strings.HasPrefix(task.Prompt, "do it\n") || !strings.HasSuffix(task.Prompt, "\nand now?\n") {
			t.Errorf("%+v: %+v\n%s", r, made, task.Prompt)
		}
		if r.Agent != "" && (!strings.Contains(task.Prompt, "Agent: answer 2.1\n\nUser: and that\n\nAgent: answer 2.2\n") || strings.Contains(task.Prompt, "more") || task.Agent != "codex" || task.Model != "") {
			t.Errorf("the summary is\n%s", task.Prompt)
		}
	}
}

func TestWhatCannotBeForkedIsRefused(t *testing.T) {
	for want, change := range map[string]func(*Source, *fleet.ForkRequest){
		"has no conversation":    func(s *Source, _ *fleet.ForkRequest) { s.Task.Agent, s.Task.Argv = "", []string{"true"} },
		"gaffer does it":         func(s *Source, _ *fleet.ForkRequest) { s.Task.Agent = "gaffer-join" },
		"a bead has one task":    func(s *Source, _ *fleet.ForkRequest) { s.Task.Dispatch = &plan.Dispatch{} },
		"shares its worktree":    func(s *Source, _ *fleet.ForkRequest) { s.Task.SharedWorktree = "dev" },
		"no attempt":             func(s *Source, _ *fleet.ForkRequest) { s.Attempts = nil },
		"has 3":                  func(_ *Source, r *fleet.ForkRequest) { r.At = 4 },
		"turns are counted from": func(_ *Source, r *fleet.ForkRequest) { r.At = -1 },
		"disk on fire": func(s *Source, _ *fleet.ForkRequest) {
			s.Log = func(int) ([]byte, error) { return nil, errors.New("disk on fire") }
		},
	} {
		s, r := source(), fleet.ForkRequest{}
		change(&s, &r)
		if _, _, err := Plan(s, r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
