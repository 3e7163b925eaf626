package app_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// Two processes must not work on one run: each would treat the agents of the other process as lost,
// and start them again.
func TestSecurityARunHasOneOwnerAlsoWhenItsLockWasDeleted(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	run, err := a.Submit(t.Context(), plan.Plan{Name: "test", Source: plan.SourceOrchestrate, Tasks: []plan.Task{
		shell("waits", "touch begun; n=0; until test -e go || test $n -gt 600; do sleep 0.1; n=$((n+1)); done"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	first := p.gaffer(run)
	testenv.Wait(t, "the task to begin", func() error {
		_, err := os.Stat(filepath.Join(p.root, "begun"))
		return err
	})
	locks, err := filepath.Glob(filepath.Join(p.home, "gaffer", "runs", run+".owner.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("locks of the run: %v, %v", locks, err)
	}
	if err := os.Remove(locks[0]); err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var owned *runlock.OwnedError
	if _, err := a.Runs.Work(within, run); !errors.As(err, &owned) || owned.PID != first.Process.Pid {
		t.Errorf("the second process gets %v, want an OwnedError with pid %d", err, first.Process.Pid)
	}
	if err := os.WriteFile(filepath.Join(p.root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := first.output(); err != nil {
		t.Errorf("the first process: %v\n%s", err, out)
	}
}
