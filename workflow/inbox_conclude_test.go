package workflow_test

import (
	"strings"
	"testing"
	"time"

	"gaffer/statefile/host"
	"gaffer/workflow"
)

func (p *project) take(owner *host.Process) workflow.Item {
	p.t.Helper()
	item, err := p.Inbox().Take(p.t.Context(), workflow.Claim{Owner: owner})
	if err != nil {
		p.t.Fatal(err)
	}
	return item
}

func found(sections ...string) workflow.Conclusion {
	return workflow.Conclusion{Analysis: []workflow.Field{{Name: "affectedSections", Value: sections}, {Name: "summary", Value: "touches it"}}}
}

func TestAConclusionIsKeptOnTheItemAndNothingIsLost(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", `[
  {"id": "a", "type": "evolve", "content": "x", "timestamp": "2026-02-16T10:00:00Z", "status": "pending", "unknown": 1.50, "analysis": {"summary": "old", "mood": "good"}}
]`)
	done, err := p.Inbox().Conclude(t.Context(), p.take(process(1)), found("#core-flow"))
	if err != nil || done.Status != workflow.Processed || done.Analysis.Summary != "touches it" || done.Analysis.AffectedSections[0] != "#core-flow" {
		t.Fatalf("%+v, %v", done, err)
	}
	want := `[
  {"id": "a", "type": "evolve", "content": "x", "timestamp": "2026-02-16T10:00:00Z", "status": "processed", "unknown": 1.50, "analysis": {"summary": "touches it", "mood": "good", "affectedSections": ["#core-flow"]}}
]`
	if got := p.read("inbox.json"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAnItemThatCouldNotBeProcessedSaysWhy(t *testing.T) {
	p := newProject(t, workflow.Options{})
	p.add("x")
	done, err := p.Inbox().Conclude(t.Context(), p.take(process(1)), workflow.Conclusion{Error: "no such page"})
	if err != nil || done.Status != workflow.ItemError || done.Error != "no such page" || done.TakenAt != "" {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestALateConclusionOfAReplacedOwnerIsRefused(t *testing.T) {
	now, machine := noon, newMortal()
	p := newProject(t, workflow.Options{Host: machine, Now: func() time.Time { return now }})
	p.add("x")
	late := p.take(process(7))
	machine.dead[7] = true
	now = now.Add(time.Minute)
	second := p.take(process(8))
	if _, err := p.Inbox().Conclude(t.Context(), late, found("#late")); says(err) != "conflict" || !strings.Contains(err.Error(), "no longer held") {
		t.Errorf("while another has it: %v", err)
	}
	if done, err := p.Inbox().Conclude(t.Context(), second, found("#second")); err != nil || done.Status != workflow.Processed {
		t.Errorf("%+v, %v", done, err)
	}
	for _, item := range []workflow.Item{late, second} {
		if _, err := p.Inbox().Conclude(t.Context(), item, found("#again")); says(err) != "conflict" {
			t.Errorf("when it is processed: %v", err)
		}
	}
	if got := p.read("inbox.json"); strings.Contains(got, "#late") || strings.Contains(got, "#again") {
		t.Errorf("got %s", got)
	}
	if _, err := p.Inbox().Dismiss(t.Context(), second.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Inbox().Conclude(t.Context(), second, found()); says(err) != "not found" {
		t.Errorf("when it is dismissed: %v", err)
	}
}

func TestItemsWithoutOrWithEqualIDsAreDistinguished(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", `[
  {"type": "evolve", "content": "1", "timestamp": "2026-02-16T10:00:01Z", "status": "pending"},
  {"type": "evolve", "content": "2", "timestamp": "2026-02-16T10:00:02Z", "status": "pending"},
  {"id": "same", "type": "evolve", "content": "3", "timestamp": "2026-02-16T10:00:03Z", "status": "pending"},
  {"id": "same", "type": "evolve", "content": "4", "timestamp": "2026-02-16T10:00:04Z", "status": "pending"}
]`)
	for _, want := range []string{"1", "2", "3", "4"} {
		done, err := p.Inbox().Conclude(t.Context(), p.take(process(1)), found("#"+want))
		if err != nil || done.Content != want || done.Analysis.AffectedSections[0] != "#"+want {
			t.Errorf("%+v, %v, want %s", done, err, want)
		}
	}
}

func TestAnAnalysisOfAnotherFormIsNotReplaced(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", `[{"id": "a", "type": "evolve", "content": "x", "status": "pending", "analysis": "by hand"}]`)
	taken := p.take(process(1))
	if _, err := p.Inbox().Conclude(t.Context(), taken, found("#x")); says(err) != "invalid" {
		t.Errorf("got %v", err)
	}
	if _, err := p.Inbox().Conclude(t.Context(), taken, workflow.Conclusion{Error: "\xff"}); says(err) != "usage" {
		t.Errorf("got %v", err)
	}
	if got := p.read("inbox.json"); !strings.Contains(got, `"analysis": "by hand"`) {
		t.Errorf("got %s", got)
	}
}

func TestAProcessedItemIsTakenOnceMoreIfThereIsSomethingLeftToDo(t *testing.T) {
	p := newProject(t, workflow.Options{})
	id := p.add("x")
	left := func(item workflow.Item) bool { return item.Analysis.AffectedSections == nil }
	if _, err := p.Inbox().Retake(t.Context(), id, *process(1), left); says(err) != "conflict" {
		t.Errorf("a pending item: %v", err)
	}
	if _, err := p.Inbox().Conclude(t.Context(), p.take(process(1)), workflow.Conclusion{Analysis: []workflow.Field{{Name: "summary", Value: "later"}}}); err != nil {
		t.Fatal(err)
	}
	again, err := p.Inbox().Retake(t.Context(), id, *process(2), left)
	if err != nil || again.Status != workflow.Processing || again.TakenBy.PID != 2 {
		t.Fatalf("%+v, %v", again, err)
	}
	if _, err := p.Inbox().Conclude(t.Context(), again, found("#x")); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Inbox().Retake(t.Context(), id, *process(2), left); says(err) != "conflict" {
		t.Errorf("with nothing left: %v", err)
	}
	if _, err := p.Inbox().Retake(t.Context(), "absent", *process(2), left); says(err) != "not found" {
		t.Errorf("an absent item: %v", err)
	}
}
