package protocol_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// updates returns the updates about all changes with numbers above after. It reads atOnce changes
// at a time.
func (f *fixture) updates(after int64, atOnce int) (all []server.Update) {
	f.t.Helper()
	for {
		list, last, err := f.Updates(f.ctx, after, atOnce)
		f.must(err)
		for _, u := range list {
			if u.Seq <= after || u.Seq > last {
				f.t.Errorf("update %d between %d and %d", u.Seq, after, last)
			}
		}
		all = append(all, list...)
		if last == after {
			return all
		}
		after = last
	}
}

func change[W any](f *fixture, u server.Update) (row W) {
	f.t.Helper()
	f.must(json.Unmarshal(u.Change, &row))
	return row
}

func TestEachChangeIsOneUpdateWithTheRowAsItWas(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		_, err := f.AddChain(f.ctx, operator, coordinator.Chain{Name: "c"})
		f.must(err)
		agent := f.agent("dev")
		f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Idle}) // changes nothing, so there is no update
		queued := f.task(c, "one")
		f.pass(time.Second)
		claimed := f.claim("dev", "build")
		event, _, err := f.AddEvent(f.ctx, worker, coordinator.NewEvent{AgentID: "dev", TaskID: queued.ID, Type: coordinator.TaskPrompt})
		f.must(err)
		given, err := f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: queued.ID, Text: "y"})
		f.must(err)
		taken, err := f.ClaimInput(f.ctx, worker, queued.ID, "dev")
		f.must(err)
		f.pass(time.Second)
		done, err := f.Complete(f.ctx, worker, coordinator.Report{TaskID: queued.ID, AgentID: "dev"})
		f.must(err)

		want := []any{c, nil, agent, queued, claimed, event, given, taken, done}
		types := "channels channels agents tasks tasks events inputs inputs tasks"
		for _, atOnce := range []int{1, 1000} {
			list := f.updates(0, atOnce)
			var got []string
			for _, u := range list {
				got = append(got, u.Type)
			}
			if strings.Join(got, " ") != types {
				t.Fatalf("updates are %v, want %s", got, types)
			}
			for i, row := range want {
				if row == nil {
					continue
				}
				text, err := json.Marshal(row)
				f.must(err)
				var a, b any
				f.must(json.Unmarshal(text, &a))
				f.must(json.Unmarshal(list[i].Change, &b))
				if diff := cmp.Diff(a, b); diff != "" {
					t.Errorf("update %d, %s (-want +got):\n%s", i, list[i].Type, diff)
				}
			}
			run, _, _ := strings.Cut(queued.ID, ".")
			for i := range list {
				if about := list[i].Type == "tasks" || list[i].Type == "inputs" || list[i].Type == "events"; about && list[i].Run != run {
					t.Errorf("update %d is of run %q", i, list[i].Run)
				}
			}
		}
		last, err := f.Last(f.ctx)
		f.must(err)
		if list := f.updates(last, 10); len(list) > 0 {
			t.Errorf("after the last: %v", list)
		}
		f.must(f.Ready(f.ctx))
	})
}

// The stored JSON has more levels than the request, and all readers must accept it. So a request
// with too many levels must be refused.
func TestJSONOfTooManyLevelsIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.agent("dev")
		for _, c := range []struct {
			payload string
			fits    bool
		}{
			{nested(1000), true},
			{`[` + nested(999) + `,` + nested(999) + `]`, true},
			{`"` + strings.Repeat(`[{`, 1000) + `"`, true},
			{`"\"` + strings.Repeat(`[`, 2000) + `"`, true},
			{nested(1001), false},
			{`["\\",` + nested(1000) + `]`, false},
			{nested(9999), false},
			{strings.Repeat(`{"a":`, 1001) + `1` + strings.Repeat(`}`, 1001), false},
		} {
			_, _, err := f.AddEvent(f.ctx, worker, coordinator.NewEvent{AgentID: "dev", Type: "x", Payload: json.RawMessage(c.payload)})
			_, err2 := f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{AgentID: "dev", Meta: json.RawMessage(c.payload)})
			if c.fits && (err != nil || err2 != nil) {
				t.Errorf("%.20s…: %v, %v", c.payload, err, err2)
			}
			if !c.fits {
				f.refused(err, "invalid", "invalid_request")
				f.refused(err2, "invalid", "invalid_request")
			}
		}
		f.updates(0, 100)
		_, err := f.Dashboard(f.ctx)
		f.must(err)
	})
}

func nested(levels int) string { return strings.Repeat(`[`, levels) + strings.Repeat(`]`, levels) }

func TestAnEventThatCannotBeReadIsPassedOver(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.channel("one")
	for _, row := range []string{nested(10_001), `[]`, `{"data":`} {
		f.must(f.store.Write(f.ctx, func(tx *store.Tx) error {
			tx.Append(store.Event{Kind: "note.added", At: f.clock(), Row: json.RawMessage(row)})
			return nil
		}))
	}
	f.channel("two")
	var got []string
	for _, u := range f.updates(0, 2) {
		got = append(got, change[coordinator.Channel](f, u).Name)
	}
	if strings.Join(got, " ") != "one two" {
		t.Errorf("told: %v", got)
	}
}

func TestAnOldUpdateDoesNotMakeAnAgentOffline(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.agent("dev")
	for range 10 {
		f.pass(15 * time.Second)
		f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Idle})
	}
	list := f.updates(0, 10)
	if a := change[coordinator.Agent](f, list[0]); len(list) != 1 || a.WorkerStatus != coordinator.Online || !a.LastSeen.Equal(f.clock()) {
		t.Errorf("%d updates, the first %+v", len(list), a)
	}
}

func TestUsersRunsAreStreamedAsFleetTypesWithoutPrompts(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run, err := f.engine.Submit(f.ctx, engine.Submission{Project: "p", Plan: plan.Plan{Name: "n", Tasks: []plan.Task{{ID: "a", Prompt: "a secret", Model: "m"}}}})
		f.must(err)
		a, err := f.engine.Claim(f.ctx, engine.Claim{Worker: "w"})
		f.must(err)
		question, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "may I?", Options: []string{"yes"}})
		f.must(err)
		f.must(f.engine.Answer(f.ctx, engine.Answer{Question: question, Text: "yes", Who: "olga"}))
		f.must(f.engine.Cancel(f.ctx, engine.Target{Run: run, Task: "a"}, "", "because"))
		_, err = f.engine.Finish(f.ctx, engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Class: failure.Cancelled}})
		f.must(err)
		list := f.updates(0, 10)
		var types []string
		for _, u := range list {
			types = append(types, u.Type)
			if u.Run != run || u.Project != "p" || strings.Contains(string(u.Change), "secret") {
				t.Errorf("update of run %q and project %q: %s", u.Run, u.Project, u.Change)
			}
		}
		if got := strings.Join(types, " "); got != "runs tasks tasks questions attempts questions attempts tasks runs" {
			t.Fatalf("updates are %s", got)
		}
		if v := change[fleet.Run](f, list[8]); v.ID != run || v.Status != fleet.Cancelled || v.Counts.Cancelled != 1 {
			t.Errorf("the run is %+v", v)
		}
		if v := change[fleet.Task](f, list[2]); v.Run != run || v.ID != "a" || v.Status != fleet.Running || v.Model != "m" || v.Attempt.Worker != "w" {
			t.Errorf("the task is %+v", v)
		}
		if v := change[coordinator.QuestionChange](f, list[5]); v.ID != question || v.Task != "a" || !v.Closed || v.By != "olga" || v.Answer != "yes" {
			t.Errorf("the question is %+v", v)
		}
		if v := change[coordinator.AttemptChange](f, list[4]); v.ID != a.Attempt.ID || v.WaitingSince.IsZero() {
			t.Errorf("the attempt that waits is %+v", v)
		}
		if v := change[coordinator.AttemptChange](f, list[6]); v.ID != a.Attempt.ID || v.Run != run || v.Task != "a" || v.Worker != "w" {
			t.Errorf("the attempt is %+v", v)
		}
		if board, err := f.Dashboard(f.ctx); err != nil || len(board.Tasks) > 0 {
			t.Errorf("the dashboard has %v, %v", board.Tasks, err)
		}
	})
}

func TestReviewsAndMessagesAreUpdatesOfTheirRun(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run, err := f.engine.Submit(f.ctx, engine.Submission{Project: "p", Plan: plan.Plan{Tasks: []plan.Task{{ID: "a"}}}})
		f.must(err)
		m, err := f.engine.Send(f.ctx, fleet.Message{Run: run, Task: "a", Text: "hello"})
		f.must(err)
		_, err = f.engine.ActOnReview(f.ctx, store.TaskKey{Run: run, Task: "a"}, "olga", fleet.ReviewAction{Action: "comment", Comment: fleet.Comment{Text: "why?"}})
		f.must(err)
		a, err := f.engine.Claim(f.ctx, engine.Claim{Worker: "w"})
		f.must(err)
		_, err = f.engine.Finish(f.ctx, engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Delivered: []string{m.ID}})
		f.must(err)
		var types []string
		list := f.updates(0, 20)
		for _, u := range list {
			types = append(types, u.Type)
			if u.Run != run || u.Project != "p" {
				t.Errorf("update of run %q and project %q: %s", u.Run, u.Project, u.Change)
			}
		}
		if got := strings.Join(types, " "); got != "runs tasks messages reviews tasks messages tasks runs" {
			t.Fatalf("updates are %s", got)
		}
		if v := change[fleet.Message](f, list[5]); v.ID != m.ID || v.Task != "a" || v.Attempt != a.Attempt.ID || v.Text != "hello" {
			t.Errorf("the message is %+v", v)
		}
		if v := change[fleet.Review](f, list[3]); v.Task != "a" || v.State != fleet.ReviewCommented || v.By != "olga" || v.Comments != nil {
			t.Errorf("the review is %+v", v)
		}
	})
}

func TestALostTaskIsStreamedAsQueuedAgain(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.task(f.channel("build"), "one")
	f.agent("dev")
	f.claim("dev", "build")
	last, err := f.Last(f.ctx)
	f.must(err)
	f.pass(2 * time.Minute)
	f.sweep()
	list := f.updates(last, 100)
	if task := change[coordinator.Task](f, list[0]); len(list) != 1 || task.Status != coordinator.Queued || task.AssignedAgentID != "" || task.Title != "one" {
		t.Errorf("%d updates, the first %+v", len(list), task)
	}
}

// Several clients of two coordinators must see the same changes while other clients write.
func TestEveryStreamClientGetsEveryChangeOnceAndInOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		const writers, each = 4, 10
		other := f.another()
		ctx, stop := context.WithTimeout(f.ctx, time.Minute)
		defer stop()
		var wg, writing sync.WaitGroup
		seen := make([][]int64, 4)
		for i := range seen {
			d := []*protocol.Service{f.Service, other}[i%2]
			wg.Go(func() {
				for after := int64(0); len(seen[i]) < writers*each; {
					if err := d.Wait(ctx, after); err != nil {
						t.Error(err)
						return
					}
					list, last, err := d.Updates(ctx, after, 7)
					if err != nil {
						t.Error(err)
						return
					}
					for _, u := range list {
						seen[i] = append(seen[i], u.Seq)
					}
					after = last
				}
			})
		}
		for i := range writers {
			d := []*protocol.Service{f.Service, other}[i%2]
			writing.Go(func() {
				for n := range each {
					_, err := d.Heartbeat(ctx, worker, coordinator.Heartbeat{AgentID: fmt.Sprint("agent", i), Name: fmt.Sprint("s", n)})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writing.Wait()
		wg.Wait()
		for _, seqs := range seen {
			if len(seqs) != writers*each || !slices.IsSorted(seqs) || len(slices.Compact(slices.Clone(seqs))) != len(seqs) {
				t.Errorf("saw %v", seqs)
			}
		}
	})
}

func TestADashboardOfManyTasksShowsThoseThatMatter(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	c := f.channel("build")
	f.agent("dev")
	for i := range 900 {
		f.task(c, fmt.Sprint(i))
		if i < 450 {
			task := f.claim("dev", "build")
			if i%45 == 0 {
				continue // leave the task in progress
			}
			_, err := f.Complete(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "dev"})
			f.must(err)
		}
	}
	board, err := f.Dashboard(f.ctx)
	f.must(err)
	count := map[coordinator.TaskStatus]int{}
	for _, task := range board.Tasks {
		count[task.Status]++
	}
	want := map[coordinator.TaskStatus]int{coordinator.InProgress: 10, coordinator.Queued: 450, coordinator.Done: 40}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("the dashboard shows (-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(board.Tasks, func(a, b coordinator.Task) int { return strings.Compare(pad(a.Title), pad(b.Title)) }) {
		t.Errorf("in the order %s", titles(board.Tasks))
	}
}

func pad(n string) string { return fmt.Sprintf("%4s", n) }

func TestAnEmptyDashboardHasListsAndNoNulls(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		board, err := f.Dashboard(f.ctx)
		f.must(err)
		text, err := json.Marshal(board)
		f.must(err)
		if string(text) != `{"agents":[],"channels":[],"chains":[],"tasks":[],"events":[]}` {
			t.Errorf("it is %s", text)
		}
		for what, list := range map[string]func() (any, error){
			"agents":   func() (any, error) { return f.Agents(f.ctx) },
			"channels": func() (any, error) { return f.Channels(f.ctx) },
			"chains":   func() (any, error) { return f.Chains(f.ctx) },
			"tasks":    func() (any, error) { return f.Tasks(f.ctx, server.TaskFilter{}) },
			"events":   func() (any, error) { return f.Events(f.ctx, 0) },
		} {
			rows, err := list()
			text, err2 := json.Marshal(rows)
			if err != nil || err2 != nil || string(text) != "[]" {
				t.Errorf("%s are %s, %v", what, text, err)
			}
		}
	})
}

// A commit may fail although the database has stored it, or its answer may be lost. In both cases
// either the whole request is stored or nothing of it.
func TestARequestIsDoneAsAWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	c := f.channel("build")
	f.agent("dev")
	broken := fmt.Errorf("no power")
	memoryOf(f).FailCommit = func() (bool, error) { return true, broken }
	if _, err := f.AddChannel(f.ctx, operator, coordinator.Channel{Name: "other"}); err == nil {
		t.Error("a lost commit is no error")
	}
	if _, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChannelID: c.ID, Title: "x"}); err == nil {
		t.Error("a lost commit is no error")
	}
	memoryOf(f).FailCommit = nil
	board, err := f.Dashboard(f.ctx)
	f.must(err)
	if len(board.Channels) != 1 || len(board.Tasks) > 0 {
		t.Errorf("left: %+v", board)
	}
	f.must(f.store.Read(f.ctx, func(r store.Reader) error {
		runs, err := r.Runs()
		if len(runs) != 1 {
			t.Errorf("%d runs", len(runs))
		}
		return err
	}))
}
