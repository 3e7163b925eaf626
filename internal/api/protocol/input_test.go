package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine/store"
)

// typed returns a claimed task and a function that adds an input with a text and an idempotency
// key.
func (f *fixture) typed() (task coordinator.Task, give func(text, key string) coordinator.Input) {
	f.t.Helper()
	f.task(f.channel("build"), "one")
	f.agent("dev")
	task = f.claim("dev", "build")
	return task, func(text, key string) coordinator.Input {
		f.t.Helper()
		input, err := f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: task.ID, Text: text, IdempotencyKey: key})
		return must(f, input, err)
	}
}

func TestInputsAreTakenOnceAndInTheirOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		task, give := f.typed()
		one := give("1", "k")
		if again := give("other words", "k"); again != one {
			t.Errorf("the same key gave %+v, was %+v", again, one)
		}
		give("2", "")
		give("3", "l")
		f.agent("other")
		_, err := f.ClaimInput(f.ctx, worker, task.ID, "other")
		f.refused(err, "conflict", "not_owner")
		for _, want := range []string{"1", "2", "3"} {
			input, err := f.ClaimInput(f.ctx, worker, task.ID, "dev")
			f.must(err)
			if input.Text != want || input.AgentID != "dev" || input.ClaimedAt == nil {
				t.Errorf("took %+v, want %s", input, want)
			}
		}
		_, err = f.ClaimInput(f.ctx, worker, task.ID, "dev")
		f.refused(err, "not found", "no_inputs")
		_, err = f.Complete(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "dev"})
		f.must(err)
		_, err = f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: task.ID, Text: "late"})
		f.refused(err, "conflict", "task_ended")
		_, err = f.ClaimInput(f.ctx, worker, task.ID, "dev")
		f.refused(err, "conflict", "not_owner")
	})
}

func TestAnInputIsTakenByOneOfManyWhoWantIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		task, give := f.typed()
		const inputs = 20
		for i := range inputs {
			give(fmt.Sprint(i), "")
		}
		var mu sync.Mutex
		taken := map[string]int{}
		var wg sync.WaitGroup
		for range 2 * inputs {
			wg.Go(func() {
				input, err := f.ClaimInput(f.ctx, worker, task.ID, "dev")
				var none *protocol.NotFoundError
				if errors.As(err, &none) {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if taken[input.Text]++; err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for text, n := range taken {
			if n != 1 {
				t.Errorf("input %s was taken %d times", text, n)
			}
		}
		if len(taken) != inputs {
			t.Errorf("%d of %d were taken", len(taken), inputs)
		}
	})
}

func TestAnInputIsForTheAgentThatHadTheTaskWhenItWasTyped(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		task, give := f.typed()
		f.agent("next")
		give("for dev", "")
		_, err := f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: task.ID, AgentID: "next", Text: "x"})
		f.refused(err, "conflict", "not_owner")
		f.pass(2 * time.Minute)
		f.sweep()
		give("for whoever is next", "")
		f.pass(10 * time.Second)
		f.sweep()
		f.claim("next", "build")
		input, err := f.ClaimInput(f.ctx, worker, task.ID, "next")
		f.must(err)
		if input.Text != "for whoever is next" {
			t.Errorf("the next agent got %q", input.Text)
		}
		_, err = f.ClaimInput(f.ctx, worker, task.ID, "next")
		f.refused(err, "not found", "no_inputs")
	})
}

func TestInputsDoNotPileUp(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	task, give := f.typed()
	for i := range 1000 {
		give(fmt.Sprint(i), "")
	}
	_, err := f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: task.ID, Text: "one more"})
	f.refused(err, "conflict", "too_many_inputs")
}

func TestAnEventIsStoredOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.agent("dev")
		f.agent("other")
		n := coordinator.NewEvent{AgentID: "dev", Type: "task.prompt", Payload: json.RawMessage(`{"kind":"yes_no"}`), IdempotencyKey: "k"}
		one, deduped, err := f.AddEvent(f.ctx, worker, n)
		if err != nil || deduped || one.CreatedAt != f.clock() || one.ID == "" {
			t.Errorf("the first is %+v, %v, %v", one, deduped, err)
		}
		f.pass(time.Second)
		again, deduped, err := f.AddEvent(f.ctx, worker, n)
		if diff := cmp.Diff(one, again); err != nil || !deduped || diff != "" {
			t.Errorf("the second: %v, %v\n%s", deduped, err, diff)
		}
		n.AgentID = "other"
		if _, deduped, err := f.AddEvent(f.ctx, worker, n); err != nil || deduped {
			t.Errorf("of another agent: %v, %v", deduped, err)
		}
		n.IdempotencyKey = ""
		for range 2 {
			if _, deduped, err := f.AddEvent(f.ctx, worker, n); err != nil || deduped {
				t.Errorf("without a key: %v, %v", deduped, err)
			}
		}
		list, err := f.Events(f.ctx, 0)
		if err != nil || len(list) != 4 {
			t.Errorf("%d events, %v", len(list), err)
		}
		if diff := cmp.Diff(one, list[3]); diff != "" {
			t.Errorf("listed:\n%s", diff)
		}
	})
}

func TestTheLastEventsAreKept(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	const more = 25
	// Write most notes directly, because that is faster than requests.
	f.must(f.store.Write(f.ctx, func(tx *store.Tx) error {
		for n := int64(1); n <= 10_000; n++ {
			id := fmt.Sprintf("e%d", n)
			tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: "note", ID: id}, Seq: n, Data: json.RawMessage(`{"id":"` + id + `"}`)})
		}
		tx.PutItem(store.Item{ItemKey: store.ItemKey{Kind: "count", ID: "note"}, Seq: 10_000})
		return nil
	}))
	for range more {
		_, _, err := f.AddEvent(f.ctx, operator, coordinator.NewEvent{Type: "x"})
		f.must(err)
	}
	list, err := f.Events(f.ctx, 1_000_000)
	f.must(err)
	if len(list) != 10_000 || list[9_999].ID != fmt.Sprintf("e%d", more+1) {
		t.Errorf("%d events up to %s", len(list), list[0].ID)
	}
	f.must(f.store.Read(f.ctx, func(r store.Reader) error {
		all, err := r.Items("note", "", 0, 100_000)
		if len(all) != 10_000 {
			t.Errorf("%d are stored", len(all))
		}
		return err
	}))
	if few, err := f.Events(f.ctx, 3); err != nil || len(few) != 3 || few[0].ID != fmt.Sprintf("e%d", 10_000+more) {
		t.Errorf("the last three are %v, %v", few, err)
	}
}
