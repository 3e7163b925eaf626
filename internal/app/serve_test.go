package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
	"gaffer/internal/app"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// coordinate starts a coordinator as 'gaffer serve' does. It opens the database again, as a
// separate process would.
func (p testProject) coordinate() *app.Coordinator {
	p.t.Helper()
	a := p.open()
	c, err := a.Serve(app.ServerOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		c.Close()
		if err := a.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return c
}

// until calls get again and again until ok returns true for the value, and returns the value.
func until[V any](t *testing.T, what string, get func() (V, error), ok func(V) bool) (v V) {
	t.Helper()
	testenv.Wait(t, what, func() (err error) {
		if v, err = get(); err == nil && !ok(v) {
			err = fmt.Errorf("%+v", v)
		}
		return err
	})
	return v
}

func onBoth(t *testing.T, test func(p testProject)) {
	t.Run("sqlite", func(t *testing.T) { test(newPlace(t)) })
	t.Run("postgres", func(t *testing.T) {
		p := newPlace(t)
		p.db = pgtest.Database(t)
		test(p)
	})
}

func TestACoordinatorShowsTheWorkerAndTheLogOfALocalRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(p testProject) {
		t, ctx := p.t, p.t.Context()
		c := p.coordinate()
		a := p.open()
		defer a.Close()
		gate := filepath.Join(p.root, "gate")
		id, err := a.Submit(ctx, plan.Plan{Name: "n", Source: plan.SourceOrchestrate, Parallel: 3, Tasks: []plan.Task{
			shell("first", "echo begun; while [ ! -e "+gate+" ]; do sleep 0.05; done; echo over"),
		}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := a.Runs.Work(ctx, id)
			ended <- err
		}()
		agents := func() ([]coordinator.Agent, error) { return c.Protocol.Agents(ctx) }
		running := func(list []coordinator.Agent) bool {
			return len(list) == 1 && list[0].ClaudeStatus == coordinator.Running
		}
		w := until(t, "it runs", agents, running)[0]
		var meta fleet.WorkerMeta
		if err := json.Unmarshal(w.Meta, &meta); err != nil {
			t.Fatal(err)
		}
		host, _ := os.Hostname()
		if w.ID != id || w.Name != host+":"+filepath.Base(p.root) || w.WorkerStatus != coordinator.Online || w.CurrentTaskID != id+".first" ||
			meta.Slots != 3 || meta.Held != 1 || meta.Source != "output" || meta.Run != id || meta.Host != host {
			t.Errorf("the worker is %+v, %+v", w, meta)
		}
		read := func(q coordinator.LogQuery) func() (string, error) {
			return func() (string, error) { return readAll(ctx, c, id, q) }
		}
		until(t, "the log", read(coordinator.LogQuery{}), func(s string) bool { return s == "begun\n" })
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if log, err := read(coordinator.LogQuery{Follow: true})(); err != nil || log != "begun\nover\n" {
			t.Errorf("followed: %q, %v", log, err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		until(t, "it is gone", agents, func(list []coordinator.Agent) bool { return len(list) == 0 })
		if log, err := read(coordinator.LogQuery{Tail: 5})(); err != nil || log != "over\n" {
			t.Errorf("later: %q, %v", log, err)
		}
		list, _, err := c.Protocol.Updates(ctx, 0, 10_000)
		gone := slices.ContainsFunc(list, func(u server.Update) bool {
			return u.Type == "agents" && strings.Contains(string(u.Change), `"gone":true`)
		})
		if err != nil || !gone {
			t.Errorf("nobody was told that the worker is gone: %v", err)
		}
	})
}

func readAll(ctx context.Context, c *app.Coordinator, run string, q coordinator.LogQuery) (string, error) {
	log, _, err := c.Runs.Log(ctx, run, "first", q)
	var text strings.Builder
	for err == nil {
		var data []byte
		if data, err = log.Next(ctx); err == nil && len(data) == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		text.Write(data)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return text.String(), err
}

func TestNoFileIsReadBecauseAWorkerElsewhereNamesIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, c := t.Context(), p.coordinate()
	admin := credential.Identity{ID: "a", Name: "a", Role: credential.Admin}
	run, err := c.Runs.Submit(ctx, admin, coordinator.NewRun{Project: "web", On: "den", Plan: []byte(`{"Name":"n","Tasks":[{"ID":"first","Prompt":"p"}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), run.ID, "first.log")
	if err := errors.Join(os.Mkdir(filepath.Dir(secret), 0o700), os.WriteFile(secret, []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	worker := coordinator.WorkerInfo{ID: "w1", Name: "den", Labels: []string{"project:web", "@den"}, Slots: 1}
	if _, err := c.Workers.Beat(ctx, admin, coordinator.WorkBeat{Worker: worker}); err != nil {
		t.Fatal(err)
	}
	given, err := c.Workers.Claim(ctx, admin, coordinator.WorkClaim{Worker: "w1", Labels: worker.Labels, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	key := coordinator.WorkKey{Attempt: given.Work.Attempt.ID, Token: given.Work.Attempt.Token}
	held := coordinator.HeldWork{WorkKey: key, Now: coordinator.WorkNow{Progress: fleet.Progress{Activity: fleet.Activity{State: "running"}, Process: fleet.Process{Log: secret}}}}
	if _, err := c.Workers.Beat(ctx, admin, coordinator.WorkBeat{Worker: worker, Held: []coordinator.HeldWork{held}}); err != nil {
		t.Fatal(err)
	}
	attempts, err := c.Runs.RunAttempts(ctx, run.ID)
	if err != nil || len(attempts) != 1 || attempts[0].Log != secret {
		t.Fatalf("attempts are %+v, %v", attempts, err)
	}
	if log, err := readAll(ctx, c, run.ID, coordinator.LogQuery{}); err != nil || log != "" {
		t.Errorf("the log is %q, %v", log, err)
	}
}
