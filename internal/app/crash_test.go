package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// workOn is an environment variable. It makes this test program work on the run that it names,
// until the run ends or the process is killed.
const workOn = "GAFFER_TEST_WORK_ON"

// beGaffer works on a run as 'gaffer run' and 'gaffer resume' do after the plan was submitted.
func beGaffer(t testProject, run string) error {
	a := t.open()
	_, err := a.Runs.Work(context.Background(), run)
	return errors.Join(err, a.Close())
}

// However often gaffer is killed, each agent must be started once, be adopted, and end normally.
// The process table must never show two agents of one task.
func TestOneLiveAgentPerTaskHoweverOftenGafferIsKilled(t *testing.T) {
	testenv.Integration(t)
	const atOnce = 3
	want := int64(testenv.Count(0, 25, 1000))
	var kills atomic.Int64
	t.Run("runs", func(t *testing.T) {
		for range atOnce {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for kills.Load() < want && !t.Failed() {
					kills.Add(killAndResume(t))
				}
			})
		}
	})
	t.Logf("%d kills of a working gaffer", kills.Load())
}

const agents = 20

// killAndResume kills the gaffer that works on a run at four random times, and lets a fifth gaffer
// finish the run. It returns how many of the killed processes were still running.
func killAndResume(t *testing.T) (kills int64) {
	p := newPlace(t)
	run := submitSleepers(p)
	watch := watchAgents(run)
	defer watch.stop()
	begun := time.Now()
	for range 4 {
		g := p.gaffer(run)
		time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond) // kill after a random time
		_ = g.Process.Kill()
		_ = g.Wait()
		if !g.ProcessState.Exited() {
			kills++
		}
	}
	if out, err := p.gaffer(run).output(); err != nil {
		t.Fatalf("resume: %v\n%s", err, out)
	}
	watch.stop()
	if len(watch.doubles) > 0 {
		t.Errorf("more than one live agent at once: %v", watch.doubles)
	}
	if left := marked(run); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	checkSleepers(t, p, run)
	if t.Failed() {
		t.Logf("took %s", time.Since(begun))
	}
	return kills
}

// submitSleepers submits a run whose agents record their start, sleep, and write a file. Every
// fourth task has a check.
func submitSleepers(p testProject) string {
	p.t.Helper()
	tasks := make([]plan.Task, agents)
	for i := range tasks {
		id := fmt.Sprintf("t%02d", i)
		tasks[i] = shell(id, fmt.Sprintf("echo $GAFFER_ATTEMPT >> %s.starts; sleep 0.%d; echo done > %s.done", id, 1+rand.IntN(4), id))
		if i%4 == 0 {
			tasks[i].Verify = []string{"sleep 0.05; test -f " + id + ".done"}
		}
		if i >= agents/2 {
			tasks[i].After = []string{fmt.Sprintf("t%02d", i-agents/2)}
		}
	}
	a := p.open()
	run, err := a.Submit(p.t.Context(), plan.Plan{Name: "sleepers", Source: plan.SourceOrchestrate, Parallel: agents, Tasks: tasks})
	if err = errors.Join(err, a.Close()); err != nil {
		p.t.Fatal(err)
	}
	return run
}

func checkSleepers(t *testing.T, p testProject, id string) {
	t.Helper()
	a := p.open()
	defer func() { _ = a.Close() }()
	run, err := a.Fleet.Run(t.Context(), id)
	if err != nil || run.Status != fleet.Complete {
		t.Errorf("the run is %s, %v", run.Status, err)
	}
	for _, task := range run.Tasks {
		starts, err := os.ReadFile(filepath.Join(p.root, task.ID+".starts"))
		if n := bytes.Count(starts, []byte("\n")); task.Status != fleet.Complete || task.Tries != 1 || n != 1 || err != nil {
			t.Errorf("task %s is %s after %d tries and %d starts: %+v, %v", task.ID, task.Status, task.Tries, n, task.Attempt, err)
		}
	}
}

// gaffer is a child process that works on a run.
type gaffer struct{ *exec.Cmd }

func (p testProject) gaffer(run string) gaffer {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workOn+"="+strings.Join([]string{run, p.root, p.home}, "\n"))
	cmd.Stdout, cmd.Stderr = new(bytes.Buffer), new(bytes.Buffer)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return gaffer{cmd}
}

func (g gaffer) output() (string, error) {
	err := g.Wait()
	return fmt.Sprint(g.Stdout, g.Stderr), err
}

// watcher checks the process table again and again for two agents of one task.
type watcher struct {
	run     string
	ending  chan struct{}
	ended   chan struct{}
	once    sync.Once
	doubles []string
}

func watchAgents(run string) *watcher {
	w := &watcher{run: run, ending: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		for {
			select {
			case <-w.ending:
				return
			case <-time.After(5 * time.Millisecond):
				w.look()
			}
		}
	}()
	return w
}

func (w *watcher) stop() {
	w.once.Do(func() { close(w.ending) })
	<-w.ended
}

// look records each task that has processes of more than one attempt now.
func (w *watcher) look() {
	attempts := map[string]string{}
	for _, env := range marked(w.run) {
		task, attempt := env["GAFFER_TASK"], env["GAFFER_ATTEMPT"]
		if other, seen := attempts[task]; seen && other != attempt {
			w.doubles = append(w.doubles, fmt.Sprintf("%s: %s and %s", task, other, attempt))
		}
		attempts[task] = attempt
	}
}

// marked returns the environment of each agent process of a run, by process id.
func marked(run string) map[int]map[string]string {
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	found := map[int]map[string]string{}
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte("GAFFER_RUN="+run)) {
			continue
		}
		env := map[string]string{}
		for _, pair := range strings.Split(string(data), "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if env["GAFFER_ATTEMPT"] != "" { // only agents have this variable, their supervisors do not
			found[pid] = env
		}
	}
	return found
}
