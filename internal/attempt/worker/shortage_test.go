package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/testkit/testenv"
)

// scarce makes the start of agents fail with err as long as condition returns true.
func (f *fleet) scarce(err error, condition func() bool) {
	agents := f.agents
	f.agents = func(name string) (agent.Agent, error) {
		if condition() {
			return nil, &os.PathError{Op: "open", Path: "/dev/null", Err: err}
		}
		return agents(name)
	}
}

// startedOnce fails the test unless the task is complete after exactly one attempt.
func (f *fleet) startedOnce(run, id string) {
	f.t.Helper()
	f.until(run, id, store.Complete)
	if task := f.task(run, id); task.Tries != 1 || task.CountedAttempts != 1 {
		f.t.Errorf("%s took %d attempts, of which %d count", id, task.Tries, task.CountedAttempts)
	}
}

func TestFaultAStartThatFailsForLackOfResourcesIsNotAFailedAttempt(t *testing.T) {
	testenv.Integration(t)
	for _, lack := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT} {
		t.Run(lack.Error(), func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, time.Minute)
			var tries atomic.Int32
			f.scarce(lack, func() bool { return tries.Add(1) == 1 })
			run := f.submit(0, "true")
			h := f.startWorker("w", 1)
			f.startedOnce(run, "a")
			if told := strings.Join(h.noticesSoFar(), "\n"); !strings.Contains(told, lack.Error()) || !strings.Contains(told, "tasks can be started again") {
				t.Errorf("told %q", told)
			}
		})
	}
}

func TestFaultASupervisorThatDiesForLackOfResourcesIsNotAFailedAttempt(t *testing.T) {
	testenv.Integration(t)
	for _, words := range []string{
		"runtime: failed to create new OS thread (have 4 already; errno=11)",
		"fork/exec /bin/sh: resource temporarily unavailable",
	} {
		f := newFleet(t, time.Minute)
		f.supervisor = []string{"/bin/sh", "-c", fmt.Sprintf(`mkdir "$1" 2>/dev/null && { echo "%s" >&2; kill -9 $$; }; shift; exec "$@"`, words), "sh", filepath.Join(f.dir, "once"), testenv.Program(t)}
		run := f.submit(0, "true")
		f.startWorker("w", 1)
		f.startedOnce(run, "a")
	}
}

func TestFaultAMachineWithFewResourcesRunsAllTasksFewAtOnce(t *testing.T) {
	testenv.Integration(t)
	const bears, tasks = 2, 6
	f := newFleet(t, time.Minute)
	running := func() int {
		names, err := filepath.Glob(filepath.Join(f.dir, "runs-*"))
		f.must(err)
		return len(names)
	}
	f.scarce(syscall.EAGAIN, func() bool { return running() >= bears })
	var scripts []string
	for i := range tasks {
		scripts = append(scripts, fmt.Sprintf("touch runs-%d; sleep 0.5; rm runs-%[1]d", i))
	}
	run := f.submit(0, scripts...)
	h := f.startWorker("w", tasks)
	for i := range tasks {
		f.startedOnce(run, string(rune('a'+i)))
	}
	if told := h.noticesSoFar(); len(told) > 2*tasks {
		t.Errorf("told %d times: %q", len(told), told)
	}
}

func TestFaultATaskThatCannotBeStartedNowCanBeCancelled(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, time.Minute)
	f.scarce(syscall.ENOSPC, func() bool { return true })
	run := f.submit(0, "true")
	h := f.startWorker("w", 1)
	testenv.Wait(t, "the notice", func() error {
		if told := h.noticesSoFar(); len(told) == 0 {
			return fmt.Errorf("told %q", told)
		}
		return nil
	})
	f.must(f.Cancel(context.Background(), engine.Target{Run: run}, "", "enough"))
	f.until(run, "a", store.Cancelled)
}

func TestFaultTheNextWorkerStartsATaskThatWaitedForResources(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, time.Minute)
	var full atomic.Bool
	full.Store(true)
	f.scarce(syscall.ENOSPC, full.Load)
	run := f.submit(0, "true")
	h := f.startWorker("w", 1)
	testenv.Wait(t, "the notice", func() error {
		if told := h.noticesSoFar(); len(told) == 0 {
			return fmt.Errorf("told %q", told)
		}
		return nil
	})
	h.stop()
	_ = h.ended(t)
	full.Store(false)
	f.startWorker("w", 1, f.running(run)...)
	f.startedOnce(run, "a")
}
