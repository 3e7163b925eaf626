package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
)

// BenchmarkHeartbeats measures concurrent heartbeats of a thousand clients. Each client holds one
// attempt. For comparison, the benchmark also writes the same rows without the engine.
func BenchmarkHeartbeats(b *testing.B) {
	const agents = 1000
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "gaffer.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var ids atomic.Int64
	e := engine.New(s, engine.Options{Now: time.Now, Rand: rand.Float64, NewID: func() string { return fmt.Sprint("id", ids.Add(1)) }})
	var tasks []plan.Task
	for i := range agents {
		tasks = append(tasks, plan.Task{ID: fmt.Sprint("t", i)})
	}
	if _, err := e.Submit(b.Context(), engine.Submission{Plan: plan.Plan{Tasks: tasks}}); err != nil {
		b.Fatal(err)
	}
	said := func(i int64) store.Worker {
		return store.Worker{ID: fmt.Sprint("agent-", i%agents), Name: "dev", Status: "running", Task: "r.t", Owner: "token"}
	}
	beat := func(i int64) error {
		w := said(i)
		return e.Do(b.Context(), "", func(s *engine.Tx) error {
			_, err := s.ClientHeartbeat(w)
			return err
		})
	}
	for i := range int64(agents) {
		if err := beat(i); err != nil {
			b.Fatal(err)
		}
	}
	bare := func(i int64) error {
		return s.Write(b.Context(), func(tx *store.Tx) error {
			w := said(i)
			w.Seen = time.Now()
			tx.PutWorker(w)
			return nil
		})
	}
	b.Run("bare write", func(b *testing.B) { together(b, bare) })
	b.Run("idle agent", func(b *testing.B) { together(b, beat) })
	for i := range int64(agents) {
		w := said(i).ID
		err := e.Do(context.Background(), w, func(s *engine.Tx) error {
			if _, err := s.ClientHeartbeat(said(i)); err != nil {
				return err
			}
			_, err := s.ClaimForClient(engine.Claim{Worker: w})
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("agent with a task", func(b *testing.B) { together(b, beat) })
}

func together(b *testing.B, do func(i int64) error) {
	var n atomic.Int64
	b.SetParallelism(128)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := do(n.Add(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
}
