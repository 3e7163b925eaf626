package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/supervisor"
)

// BenchmarkTrue compares the cost of an attempt whose program does nothing with the cost of running
// that program alone. GAFFER_BENCH_SUPERVISOR may name a gaffer program to use as the supervisor,
// because the test program is larger.
func BenchmarkTrue(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		before := cpu(b)
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	})
	b.Run("supervised", func(b *testing.B) {
		opts := benched()
		benchTrue(b, func(dir string, spec supervisor.Spec) (*supervisor.Process, error) {
			return supervisor.Start(b.Context(), dir, spec, opts)
		}, func() {})
	})
	b.Run("pooled", func(b *testing.B) {
		pool := supervisor.NewPool(benched(), 1)
		benchTrue(b, func(dir string, spec supervisor.Spec) (*supervisor.Process, error) {
			return pool.Start(b.Context(), dir, spec)
		}, pool.Close)
	})
}

func benched() supervisor.Options {
	if program := os.Getenv("GAFFER_BENCH_SUPERVISOR"); program != "" {
		return supervisor.Options{Command: []string{program}}
	}
	return self()
}

// benchTrue reports the total processor time, including agent and supervisor, and the
// duration of each part of an attempt.
func benchTrue(b *testing.B, start starts, end func()) {
	b.Helper()
	dir, parts := b.TempDir(), map[string][]time.Duration{}
	before := cpu(b)
	for n := 0; b.Loop(); n++ {
		runTrue(b, filepath.Join(dir, fmt.Sprint(n)), start, parts)
	}
	end() // end the supervisor first: the CPU usage of a child is counted only after the child has ended
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	for name, all := range parts {
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-p50-µs")
	}
}

// cpu returns the processor time of this process and of the children that it has
// waited for.
func cpu(b *testing.B) (sum time.Duration) {
	b.Helper()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return sum
}

type starts func(dir string, spec supervisor.Spec) (*supervisor.Process, error)

// runTrue runs one attempt and appends the duration of each of its parts.
func runTrue(b *testing.B, dir string, start starts, parts map[string][]time.Duration) {
	b.Helper()
	spec := supervisor.Spec{Attempt: "bench " + dir, Log: dir + ".log", Argv: []string{"/bin/true"}}
	begin := time.Now()
	p, err := start(dir, spec)
	if err != nil {
		b.Fatal(err)
	}
	e, err := p.Wait(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	told := time.Now()
	_ = p.Close() // always returns nil
	for name, d := range map[string]time.Duration{
		"launch": e.Started.Sub(begin), "agent": e.Ended.Sub(e.Started), "record": told.Sub(e.Ended), "leave": time.Since(told), "whole": told.Sub(begin),
	} {
		parts[name] = append(parts[name], d)
	}
}
