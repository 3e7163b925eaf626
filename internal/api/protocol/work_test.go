package protocol_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/internal/api/protocol"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/plan"
)

func titles(tasks []coordinator.Task) string {
	var list []string
	for _, t := range tasks {
		list = append(list, t.Title)
	}
	return strings.Join(list, " ")
}

func (f *fixture) noTasks(agent, channel string) {
	f.t.Helper()
	task, err := f.Claim(f.ctx, worker, coordinator.Claim{AgentID: agent, Channel: channel})
	if err == nil {
		f.t.Errorf("claimed %s", task.Title)
		return
	}
	f.refused(err, "not found", "no_tasks")
}

func TestATaskGoesFromQueuedToDone(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		f.agent("dev")
		made, err := f.AddTask(f.ctx, operator, coordinator.NewTask{
			ChannelID: c.ID, Title: "One", Description: "Do <it>\nnow", Type: "code", Priority: 7, ExecutionMode: "auto",
		})
		f.must(err)
		at := f.clock()
		want := coordinator.Task{
			ID: made.ID, ChannelID: c.ID, Title: "One", Description: "Do <it>\nnow", Type: "code", Status: coordinator.Queued,
			Priority: 7, ExecutionMode: "auto", CreatedAt: at, UpdatedAt: at,
		}
		is := func(got coordinator.Task) {
			t.Helper()
			for what, one := range map[string]func() (coordinator.Task, error){
				"returned":  func() (coordinator.Task, error) { return got, nil },
				"looked up": func() (coordinator.Task, error) { return f.Task(f.ctx, made.ID) },
				"listed": func() (coordinator.Task, error) {
					list, err := f.Tasks(f.ctx, server.TaskFilter{Status: want.Status})
					if len(list) != 1 {
						return coordinator.Task{}, fmt.Errorf("%d tasks: %w", len(list), err)
					}
					return list[0], err
				},
			} {
				task, err := one()
				if diff := cmp.Diff(want, task); err != nil || diff != "" {
					t.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
				}
			}
		}
		is(made)
		f.pass(3 * time.Second)
		claimed := f.clock()
		task := f.claim("dev", "build")
		want.Status, want.AssignedAgentID, want.ClaimedAt, want.UpdatedAt = coordinator.InProgress, "dev", &claimed, claimed
		is(task)
		if now, err := f.CurrentTask(f.ctx, "dev"); err != nil || now.ID != made.ID {
			t.Errorf("the current task is %s, %v", now.ID, err)
		}
		f.noTasks("dev", "build")
		f.pass(4 * time.Second)
		done := f.clock()
		task, err = f.Complete(f.ctx, worker, coordinator.Report{TaskID: made.ID, AgentID: "dev"})
		f.must(err)
		want.Status, want.DoneAt, want.UpdatedAt = coordinator.Done, &done, done
		is(task)
		f.pass(time.Second)
		for _, again := range []func() (coordinator.Task, error){
			func() (coordinator.Task, error) {
				return f.Complete(f.ctx, worker, coordinator.Report{TaskID: made.ID, AgentID: "dev"})
			},
			func() (coordinator.Task, error) {
				return f.Fail(f.ctx, worker, coordinator.Report{TaskID: made.ID, AgentID: "dev", Reason: "late"})
			},
		} {
			task, err = again()
			f.must(err)
			is(task)
		}
		_, err = f.CurrentTask(f.ctx, "dev")
		f.refused(err, "not found", "no_current_task")
	})
}

func TestAFailureIsFinal(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.task(f.channel("build"), "one")
		f.agent("dev")
		task := f.claim("dev", "build")
		failed, err := f.Fail(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "dev", Reason: "no"})
		f.must(err)
		if failed.Status != coordinator.Failed || failed.DoneAt == nil || failed.AssignedAgentID != "dev" {
			t.Errorf("the task is %+v", failed)
		}
		f.pass(time.Hour)
		f.sweep()
		f.noTasks("dev", "build")
	})
}

func TestTheHighestPriorityGoesFirstAndChannelsAreApart(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		build, test := f.channel("build"), f.channel("test")
		add := func(c coordinator.Channel, title string, priority int) {
			_, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChannelID: c.ID, Title: title, Priority: priority})
			f.must(err)
		}
		add(build, "low", -5)
		add(test, "other", 100)
		add(build, "first", 0)
		add(build, "second", 0)
		add(build, "high", 9)
		// Clients that claim from a channel must not get tasks of a plan that a user submitted.
		_, err := f.engine.Submit(f.ctx, engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{{ID: "own", Priority: 1000}}}})
		f.must(err)
		f.agent("dev")
		for _, want := range []string{"high", "first", "second", "low"} {
			task, err := f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "dev", ChannelID: build.ID})
			f.must(err)
			if task.Title != want {
				t.Errorf("claimed %s, want %s", task.Title, want)
			}
		}
		f.noTasks("dev", "build")
	})
}

func TestAChannelsNameIsItsOwn(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		one := f.channel("build")
		again, err := f.AddChannel(f.ctx, admin, coordinator.Channel{Name: "build", Description: "other"})
		f.must(err)
		if diff := cmp.Diff(one, again); diff != "" {
			t.Errorf("the second is another:\n%s", diff)
		}
		two := f.channel("Build")
		list, err := f.Channels(f.ctx)
		f.must(err)
		if diff := cmp.Diff([]coordinator.Channel{one, two}, list); diff != "" {
			t.Errorf("channels:\n%s", diff)
		}
		if found, err := f.Channel(f.ctx, "Build"); err != nil || found != two {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

func TestAChainIsDoneInItsOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		chain, err := f.AddChain(f.ctx, operator, coordinator.Chain{Name: "release", ChannelID: c.ID})
		f.must(err)
		for _, n := range []int{3, 1, 2} {
			task, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: chain.ID, Title: fmt.Sprint("step", n), Sequence: n, Priority: n})
			f.must(err)
			if task.ChannelID != c.ID || task.ChainID != chain.ID || task.Sequence != n || task.Priority != n {
				t.Errorf("added %+v", task)
			}
		}
		for _, agent := range []string{"a", "b"} {
			f.agent(agent)
		}
		for n := 1; n <= 3; n++ {
			task := f.claim("a", "build")
			if want := fmt.Sprint("step", n); task.Title != want {
				t.Errorf("claimed %s, want %s", task.Title, want)
			}
			f.noTasks("b", "build") // no other agent gets a task of the chain while one is in progress
			if n == 2 {             // the agent is lost: its task is claimed again before the next one
				f.pass(2 * time.Minute)
				f.sweep()
				f.beat(coordinator.Heartbeat{AgentID: "b"})
				if task = f.claim("b", "build"); task.Title != "step2" {
					t.Errorf("after the loss %s was claimed", task.Title)
				}
				_, err = f.Fail(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "b"})
			} else {
				_, err = f.Complete(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "a"})
			}
			f.must(err)
		}
		chains, err := f.Chains(f.ctx)
		f.must(err)
		chain.Status = coordinator.Failed // because its second task failed
		if diff := cmp.Diff([]coordinator.Chain{chain}, chains); diff != "" {
			t.Errorf("chains:\n%s", diff)
		}
	})
}

func TestATaskOfAChainNeedsAChannel(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	one, two := f.channel("one"), f.channel("two")
	bound, err := f.AddChain(f.ctx, operator, coordinator.Chain{Name: "bound", ChannelID: one.ID})
	f.must(err)
	free, err := f.AddChain(f.ctx, operator, coordinator.Chain{Name: "free"})
	f.must(err)
	_, err = f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: bound.ID, ChannelID: two.ID, Title: "x"})
	f.refused(err, "invalid", "invalid_request")
	_, err = f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: free.ID, Title: "x"})
	f.refused(err, "invalid", "invalid_request")
	task, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: free.ID, ChannelID: two.ID, Title: "x"})
	f.must(err)
	if task.ChannelID != two.ID {
		t.Errorf("added to %s", task.ChannelID)
	}
}

func TestTasksAreFiltered(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		build, test := f.channel("build"), f.channel("test")
		chain, err := f.AddChain(f.ctx, operator, coordinator.Chain{Name: "c", ChannelID: test.ID})
		f.must(err)
		f.task(build, "b1")
		f.task(test, "t1")
		_, err = f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: chain.ID, Title: "c1"})
		f.must(err)
		f.task(build, "b2")
		f.agent("dev")
		f.claim("dev", "build")
		for want, filter := range map[string]server.TaskFilter{
			"b1 t1 c1 b2": {},
			"c1 b2":       {Limit: 2},
			"b1 b2":       {Channel: build.ID},
			"t1 c1":       {Channel: test.ID},
			"c1":          {Chain: chain.ID},
			"b1":          {Agent: "dev"},
			"t1 c1 b2":    {Status: coordinator.Queued},
			"":            {Channel: "none", Status: coordinator.Done},
		} {
			list, err := f.Tasks(f.ctx, filter)
			if got := titles(list); err != nil || got != want {
				t.Errorf("%+v: %q, %v; want %q", filter, got, err, want)
			}
		}
	})
}

func TestTheSameKeyReturnsTheSameTask(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		for i := range 10 {
			f.task(c, fmt.Sprint(i))
		}
		f.agent("a")
		f.agent("b")
		claim := func(agent, key string) string {
			task, err := f.Claim(f.ctx, worker, coordinator.Claim{AgentID: agent, Channel: "build", IdempotencyKey: key})
			f.must(err)
			return task.ID
		}
		one := claim("a", "k")
		if again, other, theirs := claim("a", "k"), claim("a", "l"), claim("b", "k"); again != one || other == one || theirs == one || theirs == other {
			t.Errorf("%s again %s; with another key %s, of another agent %s", one, again, other, theirs)
		}
		// Several clients claim with the same key at the same time.
		ids := make([]string, 8)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() { ids[i] = claim("a", "at once") })
		}
		wg.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Fatalf("the same key gave %v", ids)
			}
		}
		// A key may be used again if no task was found with it.
		f.channel("later")
		_, err := f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "a", Channel: "later", IdempotencyKey: "z"})
		f.refused(err, "not found", "no_tasks")
		f.task(f.channel("later"), "x")
		_, err = f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "a", Channel: "later", IdempotencyKey: "z"})
		f.must(err)
		// The key is useless for another token.
		_, err = f.Claim(f.ctx, stranger, coordinator.Claim{AgentID: "a", Channel: "build", IdempotencyKey: "k"})
		f.refused(err, "denied", "forbidden")
	})
}

func TestManyWhoClaimAtOnceGetEachTaskOnce(t *testing.T) {
	t.Parallel()
	const agents, tasks = 32, 200
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		for i := range tasks {
			f.task(c, fmt.Sprint(i))
		}
		other := f.another()
		var mu sync.Mutex
		times := map[string]int{}
		var wg sync.WaitGroup
		for i := range agents {
			id := fmt.Sprint("agent", i)
			f.agent(id)
			d := f.Service
			if i%2 == 0 {
				d = other
			}
			wg.Go(func() {
				for {
					task, err := d.Claim(f.ctx, worker, coordinator.Claim{AgentID: id, Channel: "build"})
					var none *protocol.NotFoundError
					if errors.As(err, &none) {
						return
					}
					if err == nil {
						_, err = d.Complete(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: id})
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					times[task.ID]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for id, n := range times {
			if n != 1 {
				t.Errorf("task %s was claimed %d times", id, n)
			}
		}
		if len(times) != tasks {
			t.Errorf("%d tasks were claimed, want %d", len(times), tasks)
		}
		if list, err := f.Tasks(f.ctx, server.TaskFilter{Status: coordinator.Done}); err != nil || len(list) != tasks {
			t.Errorf("%d tasks are done, %v", len(list), err)
		}
	})
}

func TestATaskOfAnAgentThatIsGoneGoesToAnotherAndTheLateWordIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.task(f.channel("build"), "one")
		f.agent("gone")
		f.agent("next")
		task := f.claim("gone", "build")
		// The agent keeps the task as long as it sends heartbeats.
		for range 6 {
			f.pass(30 * time.Second)
			f.beat(coordinator.Heartbeat{AgentID: "gone", ClaudeStatus: coordinator.Running, CurrentTaskID: task.ID})
			f.sweep()
			f.noTasks("next", "build")
		}
		f.pass(59 * time.Second)
		f.sweep()
		f.noTasks("next", "build")
		f.pass(2 * time.Second)
		f.sweep() // the agent loses the attempt
		late := coordinator.Report{TaskID: task.ID, AgentID: "gone"}
		_, err := f.Complete(f.ctx, worker, late)
		f.refused(err, "conflict", "not_claimed")
		if now, err := f.Task(f.ctx, task.ID); err != nil || now.Status != coordinator.Queued || now.AssignedAgentID != "" || now.ClaimedAt != nil {
			t.Errorf("given up it is %+v, %v", now, err)
		}
		f.pass(10 * time.Second)
		f.sweep() // the delay before the retry is over, so the task is ready again
		if again := f.claim("next", "build"); again.ID != task.ID || again.AssignedAgentID != "next" {
			t.Errorf("the other claimed %+v", again)
		}
		_, err = f.Complete(f.ctx, worker, late)
		f.refused(err, "conflict", "not_owner")
		_, err = f.ClaimInput(f.ctx, worker, task.ID, "gone")
		f.refused(err, "conflict", "not_owner")
		f.beat(coordinator.Heartbeat{AgentID: "gone", CurrentTaskID: task.ID})
		_, err = f.CurrentTask(f.ctx, "gone")
		f.refused(err, "not found", "no_current_task")
		_, err = f.Complete(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "next"})
		f.must(err)
		_, err = f.Complete(f.ctx, worker, late)
		f.refused(err, "conflict", "not_owner")
	})
}

func TestAnAgentCannotHaveVeryManyTasks(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	c := f.channel("build")
	for i := range 101 {
		f.task(c, fmt.Sprint(i))
	}
	f.agent("dev")
	first := f.claim("dev", "build")
	for range 99 {
		f.claim("dev", "build")
	}
	_, err := f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "dev", Channel: "build"})
	f.refused(err, "conflict", "too_many_tasks")
	_, err = f.Complete(f.ctx, worker, coordinator.Report{TaskID: first.ID, AgentID: "dev"})
	f.must(err)
	f.claim("dev", "build")
}
