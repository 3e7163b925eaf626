package supervisor_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gaffer/internal/supervisor"
)

// BenchmarkTrue is a whole attempt of a program that does nothing, beside that
// program alone. GAFFER_BENCH_SUPERVISOR may name a gaffer to be the supervisor:
// the test program is larger.
func BenchmarkTrue(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("supervised", func(b *testing.B) {
		opts := self()
		if program := os.Getenv("GAFFER_BENCH_SUPERVISOR"); program != "" {
			opts.Command = []string{program}
		}
		dir, parts := b.TempDir(), map[string][]time.Duration{}
		for n := 0; b.Loop(); n++ {
			runTrue(b, filepath.Join(dir, fmt.Sprint(n)), opts, parts)
		}
		for name, all := range parts {
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-p50-µs")
		}
	})
}

// runTrue adds how long each part of an attempt took.
func runTrue(b *testing.B, dir string, opts supervisor.Options, parts map[string][]time.Duration) {
	b.Helper()
	spec := supervisor.Spec{Attempt: "bench " + dir, Log: dir + ".log", Argv: []string{"/bin/true"}}
	begin := time.Now()
	p, err := supervisor.Start(b.Context(), dir, spec, opts)
	if err != nil {
		b.Fatal(err)
	}
	e, err := p.Wait(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	told := time.Now()
	_ = p.Close() // it never fails
	for name, d := range map[string]time.Duration{
		"launch": e.Started.Sub(begin), "agent": e.Ended.Sub(e.Started), "record": told.Sub(e.Ended), "leave": time.Since(told), "whole": told.Sub(begin),
	} {
		parts[name] = append(parts[name], d)
	}
}
