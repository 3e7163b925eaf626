package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
)

// childOf is the environment variable that makes the test program a child process. Its value is the
// path of the database. The child writes tasks until it is killed.
const childOf = "GAFFER_TEST_CHILD_OF"

func TestMain(m *testing.M) {
	if path := os.Getenv(childOf); path != "" {
		fmt.Fprintln(os.Stderr, beChild(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// beChild writes tasks. It first stores each task as ready and then as complete, and then prints
// the task's number.
func beChild(path string) error {
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range 4 {
		go func() {
			for {
				number, err := writeTask(s)
				if err != nil {
					failed <- err
					return
				}
				fmt.Println(number)
			}
		}()
	}
	return <-failed
}

func writeTask(s store.Store) (number int64, err error) {
	ctx := context.Background()
	var task store.Task
	err = s.Write(ctx, func(tx *store.Tx) error {
		number = tx.NextSeq()
		task = store.Task{TaskKey: taskKey(number), Seq: number, Status: store.Queued, Ready: true, Needs: []string{"x"}}
		tx.PutTask(task)
		tx.Append(store.Event{Kind: "task.queued", Task: task.Task})
		return nil
	})
	if err != nil {
		return 0, err
	}
	return number, s.Write(ctx, func(tx *store.Tx) error {
		task.Status, task.Ready = store.Complete, false
		tx.PutTask(task)
		tx.Append(store.Event{Kind: "task.complete", Task: task.Task})
		return nil
	})
}

func taskKey(number int64) store.TaskKey {
	return store.TaskKey{Run: "r", Task: strconv.FormatInt(number, 10)}
}

func TestNothingAcknowledgedIsLostWhenAProcessIsKilled(t *testing.T) {
	const databases, trials = 2, 20
	for range databases {
		t.Run("database", func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "gaffer.db")
			var all []int64
			for range trials {
				acknowledged := killOne(t, path, 1+rand.IntN(30))
				checkTasks(t, path, acknowledged)
				all = append(all, acknowledged...)
			}
			checkTasks(t, path, all)
		})
	}
}

// killOne starts a child process, kills it after it has printed the given number of tasks, and
// returns the numbers of all tasks that it has printed.
func killOne(t *testing.T, path string, after int) (acknowledged []int64) {
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
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		number, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatalf("the child said %q", lines.Text())
		}
		acknowledged = append(acknowledged, number)
		if len(acknowledged) == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	if len(acknowledged) < after {
		t.Fatalf("the child ended after %d tasks", len(acknowledged))
	}
	return acknowledged
}

func checkTasks(t *testing.T, path string, acknowledged []int64) {
	t.Helper()
	s := open(t, path)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	err := s.Read(t.Context(), func(r store.Reader) error {
		var errs []error
		for _, number := range acknowledged {
			task, err := r.Task(taskKey(number))
			if err != nil || task.Status != store.Complete {
				errs = append(errs, fmt.Errorf("task %d was acknowledged and is %q: %w", number, task.Status, err))
			}
		}
		last, err := r.LastSeq()
		events, err2 := r.Events(last-100, 1000)
		for i, e := range events {
			if e.Seq != events[0].Seq+int64(i) {
				errs = append(errs, fmt.Errorf("event %d follows %d", e.Seq, events[i-1].Seq))
			}
		}
		return errors.Join(append(errs, err, err2)...)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeveralProcessesCanBeginAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "gaffer.db")
	t.Run("all", func(t *testing.T) {
		for range 4 {
			t.Run("process", func(t *testing.T) {
				t.Parallel()
				checkTasks(t, path, killOne(t, path, 5))
			})
		}
	})
}
