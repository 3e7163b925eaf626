package protocol_test

import (
	"fmt"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/server"
)

// mixed creates tasks of every status in two channels and two chains. One chain has tasks of both
// channels. It returns filters that select different tasks.
func mixed(f *fixture) (filters []server.TaskFilter) {
	build, test := f.channel("build"), f.channel("test")
	var chains []string
	for _, c := range []coordinator.Chain{{Name: "bound", ChannelID: test.ID}, {Name: "free"}} {
		made, err := f.AddChain(f.ctx, operator, c)
		f.must(err)
		chains = append(chains, made.ID)
	}
	f.agent("a")
	f.agent("b")
	for i := range 24 {
		channel, name := build, "build"
		if i%2 == 1 {
			channel, name = test, "test"
		}
		t := coordinator.NewTask{ChannelID: channel.ID, Title: fmt.Sprint(i), Priority: i % 3}
		switch {
		case i%5 == 3:
			t.ChainID, t.Sequence = chains[1], i
		case i%6 == 5:
			t.ChainID, t.Sequence = chains[0], i
		}
		_, err := f.AddTask(f.ctx, operator, t)
		f.must(err)
		if i%3 == 0 {
			work(f, i, []string{"a", "b"}[i%2], name)
		}
	}
	f.pass(2 * time.Minute) // the running tasks are lost: one waits for its retry, one is claimed again
	f.sweep()
	f.agent("b")
	f.claim("b", "build")
	for _, channel := range []string{"", build.ID, test.ID, "none"} {
		for _, chain := range append(chains, "") {
			for _, agent := range []string{"", "a", "b"} {
				for _, status := range []coordinator.TaskStatus{"", coordinator.Queued, coordinator.InProgress, coordinator.Done, coordinator.Failed} {
					filters = append(filters, server.TaskFilter{Channel: channel, Chain: chain, Agent: agent, Status: status})
				}
			}
		}
	}
	return filters
}

// work claims a task. Depending on i, it completes the task, fails it or leaves it running.
func work(f *fixture, i int, agent, channel string) {
	task := f.claim(agent, channel)
	end := coordinator.Report{TaskID: task.ID, AgentID: agent}
	var err error
	switch i % 4 {
	case 0, 1:
		_, err = f.Complete(f.ctx, worker, end)
	case 2:
		_, err = f.Fail(f.ctx, worker, end)
	}
	f.must(err)
}

func TestAListHasWhatItsFilterSaysOfAllTasks(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		filters := mixed(f)
		all, err := f.Tasks(f.ctx, server.TaskFilter{})
		f.must(err)
		if len(all) != 24 {
			t.Fatalf("%d tasks: %s", len(all), titles(all))
		}
		seen := map[coordinator.TaskStatus]int{}
		for _, task := range all {
			seen[task.Status]++
		}
		if len(seen) != 4 {
			t.Fatalf("the statuses are %v, want every one", seen)
		}
		for _, filter := range filters {
			var want []coordinator.Task
			for _, task := range all {
				if fitsFilter(filter, task) {
					want = append(want, task)
				}
			}
			for _, filter.Limit = range []int{0, 1, 3, 100} {
				wanted := want
				if filter.Limit > 0 {
					wanted = want[max(0, len(want)-filter.Limit):]
				}
				got, err := f.Tasks(f.ctx, filter)
				if err != nil || titles(got) != titles(wanted) {
					t.Errorf("%+v: %s, %v; want %s", filter, titles(got), err, titles(wanted))
				}
			}
		}
	})
}

func fitsFilter(f server.TaskFilter, t coordinator.Task) bool {
	return (f.Channel == "" || f.Channel == t.ChannelID) && (f.Chain == "" || f.Chain == t.ChainID) &&
		(f.Agent == "" || f.Agent == t.AssignedAgentID) && (f.Status == "" || f.Status == t.Status)
}
