package protocol_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/internal/api/server"
)

// chain creates a chain of a channel.
func (f *fixture) chain(c coordinator.Channel, name string) coordinator.Chain {
	f.t.Helper()
	made, err := f.AddChain(f.ctx, operator, coordinator.Chain{Name: name, ChannelID: c.ID})
	f.must(err)
	return made
}

// inChain adds a task to a chain.
func (f *fixture) inChain(chain coordinator.Chain, title string, sequence int) coordinator.Task {
	f.t.Helper()
	t, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: chain.ID, Title: title, Sequence: sequence})
	f.must(err)
	return t
}

func (f *fixture) done(agent string, t coordinator.Task) {
	f.t.Helper()
	_, err := f.Complete(f.ctx, worker, coordinator.Report{TaskID: t.ID, AgentID: agent})
	f.must(err)
}

func TestATaskWithoutASequenceGoesToTheEndOfItsChain(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		chain := f.chain(f.channel("build"), "release")
		f.agent("dev")
		for _, c := range []struct {
			title     string
			ask, want int
		}{{"a", 0, 1}, {"b", 0, 2}, {"d", 7, 7}, {"c", 3, 3}, {"e", 0, 8}} {
			if got := f.inChain(chain, c.title, c.ask); got.Sequence != c.want {
				t.Errorf("%s: sequence %d, want %d", c.title, got.Sequence, c.want)
			}
		}
		for _, want := range []string{"a", "b", "c", "d"} {
			task := f.claim("dev", "build")
			if task.Title != want {
				t.Errorf("claimed %s, want %s", task.Title, want)
			}
			f.done("dev", task)
		}
		// A new task gets the next number even if all earlier tasks have ended.
		if got := f.inChain(chain, "f", 0); got.Sequence != 9 {
			t.Errorf("f: sequence %d, want 9", got.Sequence)
		}
		if task := f.claim("dev", "build"); task.Title != "e" {
			t.Errorf("claimed %s, want e", task.Title)
		}
	})
}

func TestEventsAreListedWithTheNewestFirst(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.agent("dev")
		for i := range 5 {
			_, _, err := f.AddEvent(f.ctx, worker, coordinator.NewEvent{AgentID: "dev", Type: fmt.Sprint("e", i)})
			f.must(err)
			f.pass(time.Second)
		}
		types := func(list []coordinator.Event, err error) (all []string) {
			f.must(err)
			for _, e := range list {
				all = append(all, e.Type)
			}
			return all
		}
		if diff := cmp.Diff([]string{"e4", "e3", "e2", "e1", "e0"}, types(f.Events(f.ctx, 0))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"e4", "e3"}, types(f.Events(f.ctx, 2))); diff != "" {
			t.Errorf("of two: %s", diff)
		}
		board, err := f.Dashboard(f.ctx)
		if diff := cmp.Diff([]string{"e4", "e3", "e2", "e1", "e0"}, types(board.Events, err)); diff != "" {
			t.Errorf("on the dashboard: %s", diff)
		}
	})
}

func TestAnUnknownClaudeStatusIsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.agent("dev")
	f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Running})
	for _, h := range []coordinator.Heartbeat{
		{AgentID: "dev", ClaudeStatus: "busy"}, {AgentID: "dev", ClaudeStatus: "Running"}, {AgentID: "dev", Status: "in_progress"}, {ClaudeStatus: "?"},
	} {
		_, err := f.Heartbeat(f.ctx, worker, h)
		f.refused(err, "invalid", "invalid_request")
	}
	a, err := f.Agent(f.ctx, "dev")
	if err != nil || a.ClaudeStatus != coordinator.Running {
		t.Errorf("the agent is %+v, %v", a, err)
	}
	for _, h := range []coordinator.Heartbeat{
		{AgentID: "dev", ClaudeStatus: coordinator.Waiting, Status: "old words"}, {AgentID: "dev", Status: coordinator.Idle}, {AgentID: "dev"},
	} {
		if _, err := f.Heartbeat(f.ctx, worker, h); err != nil {
			t.Errorf("%+v: %v", h, err)
		}
	}
	if list, err := f.Agents(f.ctx); err != nil || len(list) != 1 {
		t.Errorf("agents %v, %v", list, err)
	}
}

func TestATaskIsAssignedToOneAgent(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		f.task(c, "one")
		second := f.task(c, "two")
		f.agent("a")
		f.agent("b")
		assign := func(task, agent string) (coordinator.Task, error) {
			return f.Assign(f.ctx, worker, coordinator.Assignment{TaskID: task, AgentID: agent, IdempotencyKey: "k"})
		}
		for range 2 { // the second time changes nothing
			got, err := assign(second.ID, "a")
			f.must(err)
			if got.Status != coordinator.InProgress || got.AssignedAgentID != "a" || got.ClaimedAt == nil {
				t.Errorf("assigned %+v", got)
			}
		}
		if now, err := f.CurrentTask(f.ctx, "a"); err != nil || now.ID != second.ID {
			t.Errorf("the current task is %v, %v", now, err)
		}
		_, err := assign(second.ID, "b")
		f.refused(err, "conflict", "not_owner")
		// The agent keeps the task as long as it sends heartbeats. Then it ends the task.
		for range 4 {
			f.pass(30 * time.Second)
			f.beat(coordinator.Heartbeat{AgentID: "a"})
			f.sweep()
		}
		f.done("a", second)
		_, err = assign(second.ID, "a")
		f.refused(err, "conflict", "task_ended")
		_, err = assign("ch-none.x", "a")
		f.refused(err, "not found", "task_not_found")
		_, err = f.Assign(f.ctx, stranger, coordinator.Assignment{TaskID: second.ID, AgentID: "a"})
		f.refused(err, "denied", "forbidden")
		if task := f.claim("b", "build"); task.Title != "one" {
			t.Errorf("claimed %s", task.Title)
		}
		// A task of a chain cannot be assigned before the tasks in front of it have ended.
		chain := f.chain(c, "row")
		first, next := f.inChain(chain, "first", 0), f.inChain(chain, "next", 0)
		_, err = assign(next.ID, "a")
		f.refused(err, "conflict", "conflict")
		_, err = assign(first.ID, "a")
		f.must(err)
	})
}

func TestAUserSetsTheStatusOfATask(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		f.agent("dev")
		f.agent("other")
		for _, to := range []coordinator.TaskStatus{coordinator.Done, coordinator.Failed, coordinator.Queued} {
			f.task(c, string(to))
			task := f.claim("dev", "build")
			for range 2 {
				got, err := f.SetStatus(f.ctx, operator, task.ID, to)
				f.must(err)
				if got.Status != to {
					t.Errorf("set to %s it is %s", to, got.Status)
				}
			}
		}
		// Another agent gets the requeued task, and the late report of the first agent is refused.
		task := f.claim("other", "build")
		if task.Title != "queued" {
			t.Errorf("claimed %s", task.Title)
		}
		_, err := f.Complete(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "dev"})
		f.refused(err, "conflict", "not_owner")
		f.done("other", task)
		_, err = f.SetStatus(f.ctx, operator, task.ID, coordinator.Queued)
		f.refused(err, "conflict", "conflict")
		waits := f.task(c, "waits")
		_, err = f.SetStatus(f.ctx, operator, waits.ID, coordinator.Done)
		f.refused(err, "conflict", "conflict")
		_, err = f.SetStatus(f.ctx, operator, waits.ID, "locked")
		f.refused(err, "invalid", "invalid_request")
		_, err = f.SetStatus(f.ctx, worker, waits.ID, coordinator.Failed)
		f.refused(err, "denied", "forbidden")
	})
}

func TestAChainIsReadChangedAndDeleted(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		chain := f.chain(c, "row")
		f.agent("dev")
		status := func() coordinator.TaskStatus {
			one, err := f.Chain(f.ctx, chain.ID)
			f.must(err)
			all, err := f.Chains(f.ctx)
			if err != nil || len(all) != 1 || all[0] != one {
				t.Errorf("the list has %+v, %v; want %+v", all, err, one)
			}
			return one.Status
		}
		want := func(is coordinator.TaskStatus) {
			t.Helper()
			if got := status(); got != is {
				t.Errorf("the chain is %s, want %s", got, is)
			}
		}
		want(coordinator.Queued)
		f.inChain(chain, "one", 0)
		f.inChain(chain, "two", 0)
		want(coordinator.Queued)
		task := f.claim("dev", "build")
		want(coordinator.InProgress)
		f.refused(f.DropChain(f.ctx, operator, chain.ID), "conflict", "chain_busy")
		f.done("dev", task)
		want(coordinator.Queued)
		f.pass(time.Second)
		changed, err := f.ChangeChain(f.ctx, operator, chain.ID, coordinator.ChainChange{Name: "line", Status: coordinator.Done})
		f.must(err)
		if changed.Name != "line" || changed.Status != coordinator.Queued || !changed.UpdatedAt.After(changed.CreatedAt) {
			t.Errorf("changed to %+v", changed)
		}
		_, err = f.ChangeChain(f.ctx, operator, chain.ID, coordinator.ChainChange{Status: "locked"})
		f.refused(err, "invalid", "invalid_request")
		f.refused(f.DropChain(f.ctx, worker, chain.ID), "denied", "forbidden")

		f.must(f.DropChain(f.ctx, operator, chain.ID))
		_, err = f.Chain(f.ctx, chain.ID)
		f.refused(err, "not found", "chain_not_found")
		f.refused(f.DropChain(f.ctx, operator, chain.ID), "not found", "chain_not_found")
		if all, err := f.Chains(f.ctx); err != nil || len(all) != 0 {
			t.Errorf("chains %v, %v", all, err)
		}
		f.noTasks("dev", "build")
		_, err = f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: chain.ID, ChannelID: c.ID, Title: "late"})
		f.refused(err, "not found", "chain_not_found")
		// Completed tasks can still be read.
		if list, err := f.Tasks(f.ctx, server.TaskFilter{Status: coordinator.Done}); err != nil || titles(list) != "one" {
			t.Errorf("done are %q, %v", titles(list), err)
		}
	})
}

func TestAChainWithAnOwnerIsForItsOwnerAlone(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		chain := f.chain(c, "row")
		one := f.inChain(chain, "one", 0)
		f.agent("owner")
		f.agent("other")
		owned, err := f.AssignChain(f.ctx, operator, chain.ID, "owner")
		f.must(err)
		if owned.OwnerAgentID != "owner" {
			t.Errorf("owned %+v", owned)
		}
		f.noTasks("other", "build")
		_, err = f.Assign(f.ctx, worker, coordinator.Assignment{TaskID: one.ID, AgentID: "other"})
		f.refused(err, "conflict", "not_owner")
		first := f.task(c, "free")
		if task := f.claim("other", "build"); task.ID != first.ID {
			t.Errorf("claimed %s", task.Title)
		}
		task := f.claim("owner", "build")
		if task.Title != "one" {
			t.Errorf("claimed %s", task.Title)
		}
		f.refused(f.DetachChain(f.ctx, operator, chain.ID, "other"), "conflict", "not_owner")
		f.must(f.DetachChain(f.ctx, operator, chain.ID, "owner"))
		again, err := f.Task(f.ctx, task.ID)
		if err != nil || again.Status != coordinator.Queued || again.AssignedAgentID != "" {
			t.Errorf("detached it is %+v, %v", again, err)
		}
		if task := f.claim("other", "build"); task.Title != "one" {
			t.Errorf("the other claimed %s", task.Title)
		}
		// If the chain is assigned to no agent, DetachChain requeues the task that the agent has.
		f.must(f.DetachChain(f.ctx, operator, chain.ID, "other"))
		_, err = f.AssignChain(f.ctx, operator, chain.ID, "nobody")
		f.refused(err, "not found", "agent_not_found")
	})
}

func TestASessionIsRequestedAndStarted(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		f.task(c, "other")
		task, err := f.RequestSession(f.ctx, operator, coordinator.NewSession{ChannelName: "build"})
		f.must(err)
		if task.Type != coordinator.SessionRequest || task.ChannelID != c.ID || task.SessionToken == "" || task.Status != coordinator.Queued {
			t.Errorf("requested %+v", task)
		}
		again, err := f.RequestSession(f.ctx, operator, coordinator.NewSession{ChannelID: c.ID})
		f.must(err)
		if again.SessionToken == task.SessionToken {
			t.Error("both have the same token")
		}
		_, err = f.RequestSession(f.ctx, operator, coordinator.NewSession{ChannelName: "none"})
		f.refused(err, "not found", "channel_not_found")
		_, err = f.RequestSession(f.ctx, operator, coordinator.NewSession{})
		f.refused(err, "invalid", "invalid_request")

		started := func(agent, secret string) error {
			payload, _ := json.Marshal(map[string]string{"task_id": task.ID, "agent_session_request_token": secret})
			_, _, err := f.AddEvent(f.ctx, worker, coordinator.NewEvent{AgentID: agent, Type: coordinator.SessionStarted, Payload: payload})
			return err
		}
		f.agent("setup")
		_, err = f.Assign(f.ctx, worker, coordinator.Assignment{TaskID: task.ID, AgentID: "setup"})
		f.must(err)
		// In its session the agent has a new id, for which there was no heartbeat yet.
		_, _, err = f.AddEvent(f.ctx, worker, coordinator.NewEvent{AgentID: "in-session", Type: "agent.automation.target_set"})
		f.must(err)
		f.refused(started("in-session", "asr_wrong"), "conflict", "wrong_token")
		f.refused(started("in-session", ""), "invalid", "invalid_request")
		for range 2 {
			f.must(started("in-session", task.SessionToken))
		}
		if now, err := f.Task(f.ctx, task.ID); err != nil || now.Status != coordinator.Done {
			t.Errorf("the request is %+v, %v", now, err)
		}
	})
}

func TestAnAgentThatWaitsForASessionIsNotified(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	wait := func(state string) {
		f.beat(coordinator.Heartbeat{AgentID: "dev", Name: "Dev", Meta: json.RawMessage(`{"state":"` + state + `","subscriptions":["build"]}`)})
	}
	shown := func(want int) {
		t.Helper()
		list, err := f.Notifications(f.ctx)
		f.must(err)
		if len(list) != want {
			t.Errorf("%d notifications, want %d: %+v", len(list), want, list)
		}
		if len(list) == 1 && (list[0].Key != "dev:setup_waiting" || list[0].AgentName != "Dev" || list[0].Channel != "build" || list[0].Message == "") {
			t.Errorf("it says %+v", list[0])
		}
	}
	wait("ready")
	shown(0)
	wait("setup_waiting")
	shown(1)
	f.refused(f.Dismiss(f.ctx, worker, "dev", "setup_waiting"), "denied", "forbidden")
	f.must(f.Dismiss(f.ctx, operator, "dev", "setup_waiting"))
	f.must(f.Dismiss(f.ctx, operator, "dev", "other"))
	f.must(f.Dismiss(f.ctx, operator, "nobody", "setup_waiting"))
	f.pass(time.Second)
	wait("setup_waiting") // the agent reports the same state again
	shown(0)
	f.pass(time.Second)
	wait("ready")
	f.pass(time.Second)
	wait("setup_waiting") // the agent waits for a session again
	shown(1)
	f.pass(time.Minute) // now the agent is offline
	shown(0)
}
