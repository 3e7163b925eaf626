package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
)

// childOf is the environment variable that makes the test program a child process. Its value is the
// path of the database. The child submits and finishes tasks until it is killed.
const childOf = "GAFFER_TEST_CHILD_OF"

func TestMain(m *testing.M) {
	if path := os.Getenv(childOf); path != "" {
		fmt.Fprintln(os.Stderr, beChild(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// beChild submits runs and finishes tasks. It prints the id of each run and task after the engine
// has stored it.
func beChild(path string) error {
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return err
	}
	e := engine.New(s, engine.Options{
		Now: time.Now, Rand: rand.Float64,
		NewID: func() string { return fmt.Sprintf("%d-%d", os.Getpid(), rand.Int64()) },
	})
	failed := make(chan error)
	for range 4 {
		go func() {
			for {
				if err := submitAndFinish(e); err != nil {
					failed <- err
				}
			}
		}()
	}
	return <-failed
}

// submitAndFinish submits a run of two tasks, the second of which depends on the first. Then it
// claims and finishes two tasks, which may belong to the run of another process.
func submitAndFinish(e *engine.Engine) error {
	ctx := context.Background()
	run, err := e.Submit(ctx, engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{{ID: "a"}, {ID: "b", After: []string{"a"}}}}})
	if err != nil {
		return err
	}
	fmt.Println(run)
	for range 2 {
		a, err := e.Claim(ctx, engine.Claim{Worker: "child"})
		if errors.Is(err, engine.ErrNothing) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err := e.Finish(ctx, engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token}); err != nil {
			return err
		}
		fmt.Println(a.Task.Run, a.Task.Task)
	}
	return nil
}

func TestNothingAcknowledgedIsLostWhenTheEngineIsKilled(t *testing.T) {
	const databases, kills = 2, 100
	for range databases {
		t.Run("database", func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "gaffer.db")
			var all []string
			for range kills {
				acknowledged := killOne(t, path, 1+rand.IntN(20))
				checkAcknowledged(t, path, acknowledged)
				all = append(all, acknowledged...)
			}
			checkAcknowledged(t, path, all)
		})
	}
}

// killOne starts a child process, kills it after it has printed the given number of lines, and
// returns the lines that it has printed.
func killOne(t *testing.T, path string, after int) (said []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childOf+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said = append(said, lines.Text())
		if len(said) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if len(said) < after {
		t.Fatalf("the child ended after %d lines", len(said))
	}
	return said
}

// checkAcknowledged checks that the database can be opened at once after a kill, and contains all
// runs and tasks whose ids the child has printed.
func checkAcknowledged(t *testing.T, path string, said []string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	err = s.Read(t.Context(), func(r store.Reader) error {
		for _, line := range said {
			run, task, finished := strings.Cut(line, " ")
			if !finished {
				if _, err := r.Run(run); err != nil {
					return fmt.Errorf("run %s was acknowledged: %w", run, err)
				}
				continue
			}
			got, err := r.Task(store.TaskKey{Run: run, Task: task})
			if err != nil || got.Status != store.Complete {
				return fmt.Errorf("task %s was acknowledged and is %q: %w", line, got.Status, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
