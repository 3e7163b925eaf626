package protocol_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/internal/api/server"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func TestFiguresCountAgentsTasksRunsAndQuestions(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		mixed(f)
		f.pass(time.Hour) // now agents a and b are offline
		f.beat(coordinator.Heartbeat{AgentID: "asks", ClaudeStatus: coordinator.Waiting})
		since := f.clock()
		f.pass(10 * time.Second)
		f.beat(coordinator.Heartbeat{AgentID: "works", ClaudeStatus: coordinator.Running})
		_, err := f.engine.Submit(f.ctx, engine.Submission{Plan: plan.Plan{Name: "p", Tasks: []plan.Task{{ID: "x", Prompt: "y"}}}})
		f.must(err)
		f.must(f.store.Write(f.ctx, func(tx *store.Tx) error {
			tx.PutAccount(store.Account{Name: "open"})
			tx.PutAccount(store.Account{Name: "paused", Until: f.clock().Add(time.Hour)})
			return nil
		}))
		all, err := f.Tasks(f.ctx, server.TaskFilter{})
		f.must(err)
		want := server.ServiceMetrics{AgentsOnline: 2, Runs: 1, LanesPaused: 1, Tasks: map[coordinator.TaskStatus]int{coordinator.Queued: 1}}
		for _, task := range all {
			want.Tasks[task.Status]++
		}
		got, err := f.Metrics(f.ctx)
		f.must(err)
		if !got.Waiting.Equal(since) || got.Writes == nil {
			t.Errorf("the oldest question is of %v, want %v; writes %v", got.Waiting, since, got.Writes)
		}
		got.Waiting, got.Writes = time.Time{}, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("figures (-want +got):\n%s", diff)
		}
	})
}
