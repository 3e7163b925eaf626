package workflow_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/statefile/host"
	"gaffer/workflow"
)

func (p *project) add(content string) string {
	p.t.Helper()
	item, err := p.Inbox().Add(p.t.Context(), workflow.EvolveItem, content)
	if err != nil {
		p.t.Fatal(err)
	}
	return item.ID
}

func TestAnItemGoesFromPendingToProcessed(t *testing.T) {
	p := newProject(t, workflow.Options{})
	id := p.add("Make onboarding faster")
	taken, err := p.Inbox().Take(t.Context(), workflow.Claim{})
	if err != nil || taken.ID != id || taken.Status != workflow.Processing {
		t.Fatalf("%+v, %v", taken, err)
	}
	done, err := p.Inbox().Done(t.Context(), id, "evolve")
	if err != nil || done.Status != workflow.Processed || done.ConsumedBy.Text() != "evolve" {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := p.Inbox().Done(t.Context(), id, ""); says(err) != "conflict" {
		t.Errorf("done twice: %v", err)
	}
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{ID: id}); says(err) != "conflict" {
		t.Errorf("taken when processed: %v", err)
	}
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{}); says(err) != "not found" {
		t.Errorf("taken from an empty inbox: %v", err)
	}
	if strings.Contains(p.read("inbox.json"), "taken") {
		t.Errorf("the claim is still there: %s", p.read("inbox.json"))
	}
}

func TestAFailedItemSaysWhyAndCanBeTakenByItsID(t *testing.T) {
	p := newProject(t, workflow.Options{})
	id := p.add("https://example.com")
	failed, err := p.Inbox().Fail(t.Context(), id, "no such page")
	if err != nil || failed.Status != workflow.ItemError || failed.Error != "no such page" {
		t.Fatalf("%+v, %v", failed, err)
	}
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{}); says(err) != "not found" {
		t.Errorf("a failed item is not pending: %v", err)
	}
	taken, err := p.Inbox().Take(t.Context(), workflow.Claim{ID: id})
	if err != nil || taken.Error != "" {
		t.Errorf("%+v, %v", taken, err)
	}
}

func TestTheOldestItemOfAKindIsTakenFirst(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", `[
  {"id": "c", "type": "evolve", "content": "no time", "status": "pending"},
  {"id": "a", "type": "evolve", "content": "second", "timestamp": "2026-02-16T10:00:01Z", "status": "pending"},
  {"id": "f", "type": "feature", "content": "feature", "timestamp": "2026-02-16T09:00:00Z", "status": "pending"},
  {"id": "b", "type": "evolve", "content": "first", "timestamp": "2026-02-16T11:00:00+01:00", "status": "pending"}
]`)
	for _, want := range []string{"b", "a", "c"} {
		item, err := p.Inbox().Take(t.Context(), workflow.Claim{Type: workflow.EvolveItem, Owner: process(1)})
		if err != nil || item.ID != want {
			t.Errorf("took %q, %v, want %q", item.ID, err, want)
		}
		p.with("inbox.json", strings.ReplaceAll(p.read("inbox.json"), `"host":"here"`, `"host":"elsewhere"`))
	}
}

func TestAnItemOfADeadProcessIsTakenAgain(t *testing.T) {
	machine := newMortal()
	p := newProject(t, workflow.Options{Host: machine})
	id := p.add("Make onboarding faster")
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{Owner: process(7)}); err != nil {
		t.Fatal(err)
	}
	for _, claim := range []workflow.Claim{{}, {ID: id}} {
		if _, err := p.Inbox().Take(t.Context(), claim); err == nil {
			t.Errorf("%+v took it from a process that lives", claim)
		}
	}
	machine.dead[7] = true
	again, err := p.Inbox().Take(t.Context(), workflow.Claim{Owner: process(8)})
	if err != nil || again.ID != id || again.TakenBy.PID != 8 {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestAnItemWhoseOwnerIsNotKnownIsTakenAgainAfterAWhile(t *testing.T) {
	now := noon
	p := newProject(t, workflow.Options{Host: newMortal(), Now: func() time.Time { return now }})
	id := p.add("Make onboarding faster")
	for _, owner := range []*host.Process{nil, {PID: 7, Boot: "b", Host: "elsewhere"}} {
		if _, err := p.Inbox().Take(t.Context(), workflow.Claim{Owner: owner, ID: id}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(workflow.AbandonedAfter - time.Second)
		if _, err := p.Inbox().Take(t.Context(), workflow.Claim{ID: id}); says(err) != "conflict" {
			t.Errorf("taken too early: %v", err)
		}
		now = now.Add(time.Second)
	}
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{}); err != nil {
		t.Error(err)
	}
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{ID: id, Again: true}); err != nil {
		t.Errorf("again: %v", err)
	}
}

func TestAnItemLeftProcessingByAnotherProgramCanBeTaken(t *testing.T) {
	content := strings.Replace(fixture(t, "seed", "inbox.json"), "pending", "processing", 1)
	p := newProject(t, workflow.Options{}).with("inbox.json", content)
	if item, err := p.Inbox().Take(t.Context(), workflow.Claim{}); err != nil || item.ID != "inbox-1708012345678-a1b2c3" {
		t.Errorf("%+v, %v", item, err)
	}
}

// Other programs do not record when they took an item. The time in the item is when it was created,
// which may be days ago, so it must not count as that time.
func TestAnItemThatAnotherProgramHasJustTakenIsRefused(t *testing.T) {
	content := strings.Replace(fixture(t, "seed", "inbox.json"), "pending", "processing", 1)
	now := noon
	p := newProject(t, workflow.Options{Now: func() time.Time { return now }}).with("inbox.json", content).writtenAt("inbox.json", noon)
	for range 2 {
		if _, err := p.Inbox().Take(t.Context(), workflow.Claim{}); says(err) != "not found" {
			t.Errorf("taken after %s: %v", now.Sub(noon), err)
		}
		if _, err := p.Inbox().Take(t.Context(), workflow.Claim{ID: "inbox-1708012345678-a1b2c3"}); says(err) != "conflict" {
			t.Errorf("taken after %s: %v", now.Sub(noon), err)
		}
		now = noon.Add(workflow.AbandonedAfter - time.Second)
	}
	now = noon.Add(workflow.AbandonedAfter)
	if _, err := p.Inbox().Take(t.Context(), workflow.Claim{}); err != nil {
		t.Error(err)
	}
}

func TestADismissedItemIsDeletedAndReturned(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", fixture(t, "wild", "inbox-statuses.json"))
	gone, err := p.Inbox().Dismiss(t.Context(), "inbox-1708012345678-a1b2c3")
	if err != nil || gone.Raw.Get("consumedBy").Text() != "evolve" {
		t.Errorf("%+v, %v", gone, err)
	}
	items, err := p.Inbox().List()
	if err != nil || len(items) != 1 || items[0].Status != "approved" {
		t.Errorf("%+v, %v", items, err)
	}
	if _, err := p.Inbox().Dismiss(t.Context(), "inbox-1708012345678-a1b2c3"); says(err) != "not found" {
		t.Errorf("dismissed twice: %v", err)
	}
}

func TestAStatusOfAnotherProgramIsNotRewritten(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", fixture(t, "wild", "inbox-statuses.json"))
	if _, err := p.Inbox().Done(t.Context(), "inbox-1708012345679-a1b2c4", ""); says(err) != "conflict" {
		t.Errorf("got %v", err)
	}
}

func TestTwoItemsWithOneIDAreNotChanged(t *testing.T) {
	p := newProject(t, workflow.Options{}).with("inbox.json", fixture(t, "wild", "inbox-oddities.json"))
	if _, err := p.Inbox().Done(t.Context(), "same", ""); says(err) != "invalid" {
		t.Errorf("got %v", err)
	}
}

func TestAnIDThatIsTakenIsDrawnAgain(t *testing.T) {
	p := newProject(t, workflow.Options{Rand: repeating("\x00\x00\x00\x00\x00\x00\x00\x00\x01")})
	first, second := p.add("one"), p.add("two")
	if first == second || !strings.HasSuffix(second, "-000001") {
		t.Errorf("%s and %s", first, second)
	}
	p = newProject(t, workflow.Options{Rand: repeating("\x00\x00\x00")})
	p.add("one")
	if _, err := p.Inbox().Add(t.Context(), workflow.EvolveItem, "two"); err == nil {
		t.Error("two ids alike")
	}
}

func TestBadItemsAreRefusedAndNothingIsWritten(t *testing.T) {
	p := newProject(t, workflow.Options{})
	for _, bad := range []struct {
		kind    workflow.ItemType
		content string
	}{{"wish", "x"}, {"", "x"}, {workflow.EvolveItem, ""}, {workflow.EvolveItem, " \n"}, {workflow.EvolveItem, "\xff"}} {
		if _, err := p.Inbox().Add(t.Context(), bad.kind, bad.content); says(err) != "usage" {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, id := range []string{"", "../../etc/passwd", "a\x00b", strings.Repeat("x", 300)} {
		if _, err := p.Inbox().Done(t.Context(), id, ""); says(err) != "not found" || len(err.Error()) > 300 {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := os.Stat(p.root); err == nil {
		t.Error("something was written")
	}
}

func TestAddsFromManyGoroutinesAreAllKept(t *testing.T) {
	p := newProject(t, workflow.Options{})
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			if _, err := p.Inbox().Add(t.Context(), workflow.EvolveItem, "one of many"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	items, err := p.Inbox().List()
	if err != nil || len(items) != 40 {
		t.Errorf("%d of 40, %v", len(items), err)
	}
}

func TestGitIgnoresTheStateAlsoIfTheInboxWasThereFirst(t *testing.T) {
	p := newProject(t, workflow.Options{})
	p.add("Make onboarding faster")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(p.Inbox().Path()), ".gitignore"))
	if err != nil || !strings.Contains(string(text), "\n"+workflow.StateFile+"\n") || strings.Contains(string(text), "inbox") {
		t.Errorf("the .gitignore has %q, %v", text, err)
	}
}
