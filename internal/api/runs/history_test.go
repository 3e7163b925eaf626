package runs_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func TestAllAttemptsAndQuestionsOfARunAreListed(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run, other := f.submit(shop()), f.submit(plan.Plan{Tasks: []plan.Task{{ID: "else", Prompt: "x"}}})
		first := f.claim()
		q, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: first.Attempt.ID, Token: first.Attempt.Token, Ref: "r", Text: "which port?", Options: []string{"a", "b"}})
		f.must(err)
		f.must(f.Questions.Answer(f.ctx, q, "8080", false))
		f.pass(time.Second)
		f.finish(first, engine.Finish{Ending: fleet.Ending{Class: failure.Crashed, Summary: "oh"}})
		for f.pass(time.Hour); ; f.pass(time.Hour) {
			more, err := f.engine.Sweep(f.ctx, time.Time{})
			if f.must(err); !more {
				break
			}
		}
		f.claim()
		f.claim() // one of the claimed tasks belongs to the other run

		list := must2(f.Runs.Attempts(f.ctx, run.ID))(f)
		if len(list) != 2 || list[0].ID != first.Attempt.ID || list[0].Status != fleet.Failed || list[0].Summary != "oh" || list[0].Task != "api" ||
			list[1].Status != fleet.Running || list[1].Run != run.ID || list[1].Number != 2 {
			t.Errorf("attempts are %+v", list)
		}
		asked := must2(f.Runs.Questions(f.ctx, run.ID))(f)
		if len(asked) != 1 || !asked[0].Closed || asked[0].Answer != "8080" || asked[0].By != "the operator" || len(asked[0].Options) != 2 {
			t.Errorf("questions are %+v", asked)
		}
		if list := must2(f.Runs.Questions(f.ctx, other.ID))(f); len(list) > 0 {
			t.Errorf("questions of the other run are %+v", list)
		}
		for what, err := range map[string]error{
			"attempts":  errOf(f.Runs.Attempts(f.ctx, "none")),
			"questions": errOf(f.Runs.Questions(f.ctx, "none")),
			"changes":   errOf(f.Runs.Changes(f.ctx, "none", "", 0)),
		} {
			f.refused(what, err, 404, "none")
		}
	})
}

func errOf[V any](_ V, err error) error { return err }

// told returns all updates about a run that the stream has sent.
func (f *fixture) told(run string) (all []coordinator.PastChange) {
	f.t.Helper()
	d := protocol.New(f.store, f.engine, f.clock)
	list, _, err := d.Updates(f.ctx, 0, 10_000)
	f.must(err)
	for _, u := range list {
		if u.Run == run {
			all = append(all, coordinator.PastChange{ID: fmt.Sprint(u.Seq), Update: u.Update})
		}
	}
	return all
}

// past requests all changes of a run, atOnce changes at a time.
func (f *fixture) past(run string, atOnce int) (all []coordinator.PastChange) {
	f.t.Helper()
	for after := ""; ; {
		page := must2(f.Runs.Changes(f.ctx, run, after, atOnce))(f)
		all = append(all, page.Changes...)
		if after = page.Next; after == "" {
			return all
		}
	}
}

func TestTheHistoryOfARunIsWhatTheStreamHasSent(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.submit(shop())
		f.submit(shop()) // changes of other runs must not appear
		f.finish(f.claim(), engine.Finish{Ending: fleet.Ending{Class: failure.RateLimited}, Reset: f.clock().Add(time.Hour)})
		f.pass(2 * time.Hour)
		_, err := f.engine.Sweep(f.ctx, time.Time{})
		f.must(err)
		for range 4 {
			a, err := f.engine.Claim(f.ctx, engine.Claim{Worker: "w", Labels: []string{"gpu", "project:web"}})
			f.must(err)
			f.finish(a, engine.Finish{Ending: fleet.Ending{Summary: "done"}})
		}
		want := f.told(run.ID)
		if len(want) < 6 || !slices.ContainsFunc(want, func(c coordinator.PastChange) bool {
			return c.Type == "runs" && strings.Contains(string(c.Change), "complete")
		}) {
			t.Fatalf("the stream told %d changes", len(want))
		}
		for _, atOnce := range []int{0, 1, 3, 2000, 5000} {
			if diff := cmp.Diff(plain(want), plain(f.past(run.ID, atOnce))); diff != "" {
				t.Errorf("%d at a time (-want +got):\n%s", atOnce, diff)
			}
		}
	})
}

// plain returns changes with their JSON decoded.
func plain(list []coordinator.PastChange) (out []any) {
	for _, c := range list {
		var change any
		_ = json.Unmarshal(c.Change, &change)
		out = append(out, []any{c.ID, c.Type, c.Time.UTC(), change})
	}
	return out
}

func TestOnlyPausedAccountsAreListedAndBothChangesAreStreamed(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		if lanes := must2(f.Lanes(f.ctx))(f); lanes == nil || len(lanes) > 0 {
			t.Errorf("before: %v", lanes)
		}
		f.submit(shop())
		until := f.clock().Add(time.Hour)
		f.finish(f.claim(), engine.Finish{Ending: fleet.Ending{Class: failure.RateLimited}, Reset: until})
		if lanes := must2(f.Lanes(f.ctx))(f); len(lanes) != 1 || lanes[0].Name != "claude" || !lanes[0].Until.Equal(until) || lanes[0].Reason == "" {
			t.Errorf("paused: %+v", lanes)
		}
		f.pass(2 * time.Hour)
		_, err := f.engine.Sweep(f.ctx, time.Time{})
		f.must(err)
		if lanes := must2(f.Lanes(f.ctx))(f); len(lanes) > 0 {
			t.Errorf("open again: %+v", lanes)
		}
		d := protocol.New(f.store, f.engine, f.clock)
		list, _, err := d.Updates(f.ctx, 0, 10_000)
		f.must(err)
		var told []fleet.Lane
		for _, u := range list {
			if u.Type == "lanes" {
				var lane fleet.Lane
				f.must(json.Unmarshal(u.Change, &lane))
				told = append(told, lane)
			}
		}
		if len(told) != 2 || !told[0].Until.Equal(until) || told[1].Name != "claude" || told[1].Until.After(f.clock()) {
			t.Errorf("told %+v", told)
		}
	})
}

// The test uses a store that fails the test if the events of all runs are read.
func TestThePastOfARunDoesNotLookAtOthers(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop())
	for range 50 {
		f.submit(shop())
	}
	f.must(f.store.Read(f.ctx, func(r store.Reader) error {
		_, _, err := protocol.UpdatesOf(onlyOf{r, f}, run.ID, 0, 100)
		return err
	}))
}

type onlyOf struct {
	store.Reader
	f *fixture
}

func (o onlyOf) Events(int64, int) ([]store.Event, error) {
	o.f.t.Error("the events of all runs are read")
	return nil, nil
}
