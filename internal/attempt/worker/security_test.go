package worker_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
	"gaffer/internal/testkit/testenv"
)

const hush = "hush-hush-0123456789"

// begun waits until a task's agent has created the named file.
func (f *fleet) begun(name string) {
	f.t.Helper()
	testenv.Wait(f.t, name, func() error { _, err := os.Stat(filepath.Join(f.dir, name)); return err })
}

// holding lists all files below the fleet's folder that contain the secret's value.
func (f *fleet) holding() (list []string) {
	f.t.Helper()
	n := 0
	f.must(filepath.WalkDir(f.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if n++; bytes.Contains(data, []byte(hush)) {
			list = append(list, path)
		}
		return err
	}))
	if n == 0 {
		f.t.Error("no file was looked at")
	}
	return list
}

func (f *fleet) submitTask(task plan.Task) (run string) {
	f.t.Helper()
	run, err := f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{task}}})
	f.must(err)
	return run
}

func TestSecurityASecretIsInNoFileWhileItsAgentRuns(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, time.Minute)
	file := filepath.Join(t.TempDir(), "key")
	f.must(os.WriteFile(file, []byte(hush+"\n"), 0o600))
	run := f.submitTask(plan.Task{
		ID: "a", Env: map[string]secret.Value{"KEY": {From: secret.File, Path: file}},
		Argv:   []string{"sh", "-c", `test "$KEY" = "$(cat ` + file + `)" && touch right; touch begun; until [ -e go ]; do sleep 0.02; done`},
		Verify: []string{`test "$KEY" = "$(cat ` + file + `)" && touch checked`},
	})
	first := f.startWorker("w", 1)
	f.begun("begun")
	if list := f.holding(); len(list) > 0 {
		t.Errorf("the value is in %q", list)
	}

	// Stop the first worker: the next one adopts the agent, and resolves the reference for the
	// checks.
	first.stop()
	_ = first.ended(t) // ignore the error: the first worker leaves its agent running
	f.startWorker("w", 1, f.running(run)...)
	f.must(os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600))
	f.until(run, "a", store.Complete)
	f.begun("right")
	f.begun("checked")
	if list := f.holding(); len(list) > 0 {
		t.Errorf("in the end the value is in %q", list)
	}
}

func TestSecurityAReferenceWithoutAValueFailsTheTaskOnce(t *testing.T) {
	f := newFleet(t, time.Minute)
	for name, v := range map[string]secret.Value{
		"env": {From: secret.Env, Name: "GAFFER_TEST_NOT_SET"}, "file": {From: secret.File, Path: "/nowhere/key"},
		"command": {From: secret.Command, Argv: []string{"sh", "-c", "echo x; exit 7"}}, "program": {From: secret.Command, Argv: []string{"none-such"}},
	} {
		run := f.submitTask(plan.Task{ID: name, Limits: plan.Limits{Retries: 5}, Env: map[string]secret.Value{"KEY": v}, Argv: []string{"touch", "ran-" + name}})
		f.startWorker("w-"+name, 1)
		f.until(run, name, store.Failed)
		all := f.attempts(run, name)
		if len(all) != 1 || all[0].Class != failure.BadPlan || !strings.Contains(all[0].Summary, fmt.Sprintf("the environment variable KEY (%s)", v)) || !strings.Contains(all[0].Summary, "; ") {
			t.Errorf("%s: %+v", name, all)
		}
		if _, err := os.Stat(filepath.Join(f.dir, "ran-"+name)); err == nil {
			t.Errorf("%s: the agent has run", name)
		}
	}
}

func TestSecurityAWorkerDoesNotRunAnAgentThatItDoesNotAllow(t *testing.T) {
	f := newFleet(t, time.Minute)
	f.allow, f.older = []string{"claude", "codex"}, true
	run := f.submitTask(plan.Task{ID: "a", Limits: plan.Limits{Retries: 5}, Argv: []string{"touch", "ran"}})
	f.startWorker("w", 1)
	f.until(run, "a", store.Failed)
	all := f.attempts(run, "a")
	if len(all) != 1 || all[0].Summary != "this worker does not run agent command: it was started for claude, codex; the coordinator is of an older version than the worker: upgrade it, then retry" {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "ran")); err == nil {
		t.Error("the agent has run")
	}
}
