package app_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/app"
	"gaffer/internal/config"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/plan"
	"gaffer/internal/project"
)

// The command lines that the error suggests for a PostgreSQL database must work.
func TestTheSuggestedCommandsBackUpAndRestoreADatabaseServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.db = pgtest.Database(t)
	run := p.run(shell("one", "true"))
	file := filepath.Join(t.TempDir(), "dump")
	opts := app.Options{Now: time.Now, Getenv: func(string) string { return "/" }, Notice: func(string) {}}
	c, err := config.Load(config.Inputs{Root: p.root, Getenv: func(name string) string { return map[string]string{"GAFFER_DB": p.db}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	opts.Project, opts.Config = project.Project{Root: p.root}, c
	_, err = app.Backup(t.Context(), opts, file, false, nil)
	do(t, err)
	after := p.run(shell("two", "true"))
	_, err = app.Restore(t.Context(), opts, file, nil)
	do(t, err)
	a := p.open()
	defer a.Close()
	if _, err := a.Fleet.Run(t.Context(), run.ID); err != nil {
		t.Errorf("what was backed up: %v", err)
	}
	if _, err := a.Fleet.Run(t.Context(), after.ID); err == nil {
		t.Error("what came later is still there")
	}
	id, err := a.Submit(t.Context(), plan.Plan{Tasks: []plan.Task{shell("three", "true")}})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := a.Runs.Work(t.Context(), id); err != nil || !done.Status.Final() {
		t.Errorf("it does not go on: %v", err)
	}
}

// do runs the command line that the error suggests.
func do(t *testing.T, err error) {
	t.Helper()
	server := (*app.DatabaseServerError)(nil)
	if !errors.As(err, &server) {
		t.Fatalf("error is %v", err)
	}
	if slices.ContainsFunc(server.Argv, func(arg string) bool { return strings.Contains(arg, "password") }) {
		t.Errorf("it tells a password: %q", server.Argv)
	}
	if out, err := exec.Command(server.Argv[0], server.Argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", server.Argv, err, out)
	}
}
