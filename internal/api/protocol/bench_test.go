package protocol_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
)

// BenchmarkService measures concurrent requests of many agents on SQLite and, for comparison, plain
// writes of a row.
func BenchmarkService(b *testing.B) {
	for _, queued := range []int{2_000, 100_000} {
		b.Run(fmt.Sprint(queued), func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "gaffer.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			var ids atomic.Int64
			e := engine.New(s, engine.Options{Now: time.Now, Rand: rand.Float64, NewID: func() string { return fmt.Sprint("id", ids.Add(1)) }})
			d := protocol.New(s, e, time.Now)
			c, err := d.AddChannel(b.Context(), admin, coordinator.Channel{Name: "build"})
			if err != nil {
				b.Fatal(err)
			}
			fill(b, e, c, queued)
			benchmark(b, d, s)
		})
	}
}

// fill adds n tasks to a channel, in a few transactions.
func fill(b *testing.B, e *engine.Engine, c coordinator.Channel, n int) {
	step := fmt.Sprintf(`{"channel":%q,"created":"2026-02-06T12:00:00Z"}`, c.ID)
	for n > 0 {
		var tasks []plan.Task
		for range min(n, 1000) {
			tasks = append(tasks, plan.Task{ID: fmt.Sprint("t", n), Name: "task", Prompt: "do it", Labels: []string{"channel:" + c.ID}, Limits: plan.Limits{Retries: 9}, Step: []byte(step)})
			n--
		}
		if err := e.Extend(b.Context(), engine.Extension{Run: "ch-" + c.ID, Tasks: tasks}); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmark(b *testing.B, d *protocol.Service, s store.Store) {
	const agents = 256
	agent := func(i int64) string { return fmt.Sprint("agent", i%agents) }
	beat := func(i int64) error {
		_, err := d.Heartbeat(b.Context(), worker, coordinator.Heartbeat{AgentID: agent(i), ClaudeStatus: "idle"})
		return err
	}
	for i := range int64(agents) {
		if err := beat(i); err != nil {
			b.Fatal(err)
		}
	}
	for name, do := range map[string]func(i int64) error{
		"bare write": func(i int64) error {
			return s.Write(b.Context(), func(tx *store.Tx) error {
				tx.PutCursor(store.Cursor{Name: agent(i), Seq: i})
				return nil
			})
		},
		"heartbeat": beat,
		"claim and complete": func(i int64) error {
			t, err := d.Claim(b.Context(), worker, coordinator.Claim{AgentID: agent(i), Channel: "build"})
			if err == nil {
				_, err = d.Complete(b.Context(), worker, coordinator.Report{TaskID: t.ID, AgentID: agent(i)})
			}
			return err
		},
	} {
		b.Run(name, func(b *testing.B) { together(b, do) })
	}
	b.Run("dashboard", func(b *testing.B) {
		for range min(b.N, 20) { // few iterations, because this request is slow
			if _, err := d.Dashboard(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func together(b *testing.B, do func(i int64) error) {
	var n atomic.Int64
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := do(n.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
