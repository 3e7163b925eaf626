package localfleet_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/connect/localfleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/plan"
)

func TestAnAgentTalksOnlyToAgentsOfItsOwnRunsAndReviewsNothing(t *testing.T) {
	t.Parallel()
	s := memory.New()
	ids := 0
	e := engine.New(s, engine.Options{Now: time.Now, Rand: func() float64 { return 0.5 }, NewID: func() string { ids++; return fmt.Sprint("id", ids) }, Who: "sam"})
	user := localfleet.New(localfleet.Options{Store: s, Engine: e})
	agent := localfleet.New(localfleet.Options{Store: s, Engine: e, Agent: "claude-1"})
	ctx := t.Context()
	runs := map[string]string{}
	for _, who := range []string{"sam", "claude-1"} {
		run, err := e.Submit(ctx, engine.Submission{Who: who, Plan: plan.Plan{Tasks: []plan.Task{{ID: "a"}}}})
		if err != nil {
			t.Fatal(err)
		}
		runs[who] = run
	}
	sent, err := user.Send(ctx, fleet.Message{Run: runs["sam"], Task: "a", Text: "hello"})
	if err != nil || sent.By != "sam" {
		t.Fatalf("sent %+v, %v", sent, err)
	}
	comment := fleet.ReviewAction{Action: fleet.ActComment, Comment: fleet.Comment{Text: "why?"}}
	if v, err := user.ChangeReview(ctx, runs["sam"], "a", comment); err != nil || v.State != fleet.ReviewCommented {
		t.Errorf("a user's comment: %+v, %v", v, err)
	}
	if _, err := agent.Send(ctx, fleet.Message{Run: runs["claude-1"], Task: "a", Text: "hello"}); err != nil {
		t.Errorf("an agent, to its own run: %v", err)
	}
	_, foreign := agent.Send(ctx, fleet.Message{Run: runs["sam"], Task: "a", Text: "hello"})
	_, reviewed := agent.ChangeReview(ctx, runs["claude-1"], "a", comment)
	for what, err := range map[string]error{
		"a message to another run": foreign,
		"a review":                 reviewed,
		"an interrupt":             agent.Interrupt(ctx, runs["sam"], "a"),
		"withdrawing a message":    agent.WithdrawMessage(ctx, runs["sam"], "a", sent.ID),
	} {
		var refused *caller.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s of an agent: %v", what, err)
		}
	}
	var none *engine.NotFoundError
	if err := user.WithdrawMessage(ctx, runs["claude-1"], "a", sent.ID); !errors.As(err, &none) {
		t.Errorf("a message of another task: %v", err)
	}
	if err := user.WithdrawMessage(ctx, runs["sam"], "a", sent.ID); err != nil {
		t.Error(err)
	}
}
