package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/coordinator"
	_ "gaffer/internal/cli" // go test runs this test again after a change of the program
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// fleet is a coordinator, its database and its workers. Coordinator and workers are processes of
// the gaffer program.
type fleet struct {
	t      *testing.T
	binary string
	dir    string // contains the state folders, the project, and the files that tasks write
	server string
	store  store.Store
	engine *engine.Engine
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	binary := testenv.Program(t)
	f := &fleet{t: t, binary: binary, dir: t.TempDir()}
	for _, sub := range []string{"project", "marks"} {
		if err := os.Mkdir(filepath.Join(f.dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.server = "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f.store, err = sqlite.Open(t.Context(), filepath.Join(f.dir, "fleet.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.store.Close() })
	t.Cleanup(f.endAll)
	ids := 0
	f.engine = engine.New(f.store, engine.Options{Now: time.Now, Rand: rand.Float64, NewID: func() string { ids++; return fmt.Sprintf("run-%d", ids) }})
	return f
}

// process is a started program with its output.
type process struct {
	*exec.Cmd
	t     *testing.T
	mu    sync.Mutex
	out   bytes.Buffer
	ended chan struct{}
	err   error
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

func (f *fleet) start(args ...string) *process {
	f.t.Helper()
	p := &process{Cmd: exec.Command(f.binary, args...), t: f.t, ended: make(chan struct{})}
	p.Dir, p.Stdout, p.Stderr = filepath.Join(f.dir, "project"), p, p
	p.Env = []string{
		"HOME=" + f.dir, "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + filepath.Join(f.dir, "state"), "MARKS=" + filepath.Join(f.dir, "marks"),
		"GAFFER_PROJECT=" + filepath.Join(f.dir, "project"), "GAFFER_DB=" + filepath.Join(f.dir, "fleet.db"),
	}
	if err := p.Start(); err != nil {
		f.t.Fatal(err)
	}
	go func() { defer close(p.ended); p.err = p.Wait() }()
	f.t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.Process.Kill() // ignore the error: the process may have ended
	<-p.ended
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatalf("%v\n%s", err, p.said())
	}
}

// ends waits until the process ends, and fails the test if it did not succeed.
func (p *process) ends() {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.t.Fatalf("%v goes on\n%s", p.Args[1:], p.said())
	}
	if p.err != nil {
		p.t.Fatalf("%v: %v\n%s", p.Args[1:], p.err, p.said())
	}
}

func (p *process) says(pattern string) {
	p.t.Helper()
	want := regexp.MustCompile(pattern)
	until(p.t, "'"+pattern+"' in what "+p.Args[1]+" says", func() (string, bool) { said := p.said(); return said, want.MatchString(said) })
}

func until(t *testing.T, what string, is func() (string, bool)) {
	t.Helper()
	testenv.Wait(t, what, func() error {
		if now, ok := is(); !ok {
			return errors.New(now)
		}
		return nil
	})
}

func (f *fleet) serve(args ...string) *process {
	f.t.Helper()
	p := f.start(append([]string{"serve", "--listen", strings.TrimPrefix(f.server, "http://")}, args...)...)
	until(f.t, "coordinator", func() (string, bool) {
		res, err := http.Get(f.server + "/health")
		if err != nil {
			return p.said(), false
		}
		_ = res.Body.Close()
		return p.said(), res.StatusCode == http.StatusOK
	})
	return p
}

func (f *fleet) worker(name string, args ...string) *process {
	f.t.Helper()
	return f.start(append([]string{"worker", "--server", f.server, "--name", name}, args...)...)
}

// submit submits tasks with these ids. Each records its start, runs the shell command between, and
// records its end. submit returns the id of the run.
func (f *fleet) submit(between string, ids ...string) string {
	f.t.Helper()
	var tasks []plan.Task
	for _, id := range ids {
		script := `echo working on $GAFFER_TASK; echo start >> $MARKS/$GAFFER_TASK; ` + between + `; echo end >> $MARKS/$GAFFER_TASK`
		tasks = append(tasks, plan.Task{ID: id, Agent: plan.CommandAgent, Argv: []string{"sh", "-c", script}})
	}
	return f.submitAt("", plan.Plan{Name: "p", Tasks: tasks})
}

// submitAt submits a plan for the worker called place, or for any worker if place is "". It returns
// the id of the run.
func (f *fleet) submitAt(place string, p plan.Plan) string {
	f.t.Helper()
	for i := range p.Tasks {
		p.Tasks[i].Labels = append(p.Tasks[i].Labels, "project:project")
	}
	run, err := f.engine.Submit(f.t.Context(), engine.Submission{Plan: p, Project: "project", OnlyWorker: place})
	if err != nil {
		f.t.Fatal(err)
	}
	return run
}

func (f *fleet) marks(task string) string {
	data, err := os.ReadFile(filepath.Join(f.dir, "marks", task))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	return string(data)
}

// begun returns the number of tasks that have recorded their start.
func (f *fleet) begun() int {
	f.t.Helper()
	entries, err := os.ReadDir(filepath.Join(f.dir, "marks"))
	if err != nil {
		f.t.Fatal(err)
	}
	return len(entries)
}

func (f *fleet) read(look func(r store.Reader) error) {
	f.t.Helper()
	if err := f.store.Read(context.Background(), look); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fleet) task(run, id string) (t store.Task) {
	f.t.Helper()
	f.read(func(r store.Reader) (err error) {
		t, err = r.Task(store.TaskKey{Run: run, Task: id})
		return err
	})
	return t
}

// lastSeen returns the time of the last heartbeat of the worker with this name.
func (f *fleet) lastSeen(name string) (seen time.Time) {
	f.t.Helper()
	f.read(func(r store.Reader) error {
		all, err := r.Workers()
		for _, w := range all {
			if w.Name == name {
				seen = w.Seen
			}
		}
		return err
	})
	return seen
}

func (f *fleet) completes(run string) {
	f.t.Helper()
	until(f.t, "end of the run", func() (string, bool) {
		var row store.Run
		f.read(func(r store.Reader) (err error) { row, err = r.Run(run); return err })
		return fmt.Sprintf("%d open, %d active", row.Open, row.Active), row.Status == store.Complete
	})
}

// once checks that each task was done exactly once, by the files that the tasks wrote and by the
// database.
func (f *fleet) once(run string, ids ...string) {
	f.t.Helper()
	for _, id := range ids {
		if got := f.marks(id); got != "start\nend\n" {
			f.t.Errorf("task %s has done %q", id, got)
		}
		t := f.task(run, id)
		if t.Tries != 1 || t.Status != store.Complete {
			f.t.Errorf("task %s: %+v", id, t)
		}
		until(f.t, "log of "+id, func() (text string, done bool) {
			f.read(func(r store.Reader) error {
				data, err := logstore.Read(r, t.LastAttempt, 0, 1000)
				if err == nil {
					done, err = logstore.Done(r, t.LastAttempt)
				}
				text = string(data)
				return err
			})
			return fmt.Sprintf("%q, done %v", text, done), done && text == "working on "+id+"\n"
		})
	}
	if left := f.processesOf(run); len(left) > 0 {
		f.t.Errorf("processes of the run are left: %v", left)
	}
}

// processesOf returns the ids of the processes that work on a run.
func (f *fleet) processesOf(run string) []int { return f.processes("GAFFER_RUN=" + run) }

// processes returns the ids of this fleet's processes whose environment contains variable, such as
// "GAFFER_RUN=1".
func (f *fleet) processes(variable string) (list []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ") // the only error is an invalid pattern
	for _, file := range all {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended or belongs to another user
		}
		has := func(v string) bool { return bytes.Contains(append([]byte{0}, data...), []byte("\x00"+v+"\x00")) }
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && has(variable) && has("HOME="+f.dir) {
			list = append(list, pid)
		}
	}
	return list
}

// endAll kills all processes of the fleet, also after a failed test.
func (f *fleet) endAll() {
	for _, pid := range f.processes("HOME=" + f.dir) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended
	}
}

func TestEveryTaskIsDoneOnceDespiteKills(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	f := newFleet(t)
	server := f.serve()
	ids := []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9"}
	run := f.submit("until [ -e $MARKS/../go ]; do sleep 0.05; done; sleep 3", ids...)
	a, b := f.worker("alpha", "--slots", "3"), f.worker("beta", "--slots", "2")
	until(t, "tasks", func() (string, bool) { return a.said() + b.said(), f.begun() >= 4 })

	a.kill()
	a = f.worker("alpha", "--slots", "3")
	a.says(`t\d goes on`)
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	until(t, "more tasks", func() (string, bool) { return a.said() + b.said(), f.begun() >= 6 })
	server.kill()
	b.says("the coordinator is away")
	server = f.serve()
	b.says("the coordinator is back")

	f.completes(run)
	f.once(run, ids...)
	for _, p := range []*process{a, b, server} {
		p.signal(syscall.SIGTERM)
		p.ends()
	}
}

func TestAnotherWorkerTakesATaskAfterTheFirstWorkersProcessesStopped(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	f := newFleet(t)
	f.serve("--lease", "10s")
	script := "for i in $(seq 150); do echo $GAFFER_ATTEMPT_NUMBER >> $MARKS/one; sleep 0.1; done"
	ticks := plan.Task{ID: "one", Limits: plan.Limits{Retries: 5}, Agent: plan.CommandAgent, Argv: []string{"sh", "-c", script}}
	run := f.submitAt("", plan.Plan{Tasks: []plan.Task{ticks}})
	a := f.worker("alpha")
	until(t, "task", func() (string, bool) { return a.said(), f.marks("one") != "" })
	a.kill()
	b := f.worker("beta")
	f.completes(run)
	done := f.marks("one")
	if first := strings.Index(done, "2\n"); first < 0 || strings.Contains(done[first:], "1") {
		t.Errorf("both worked at once, or one did not:\n%s\n%s", strings.ReplaceAll(done, "\n", " "), b.said())
	}
	a = f.worker("alpha", "--once")
	a.ends()
	if left := f.processesOf(run); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if task := f.task(run, "one"); task.Tries != 2 {
		t.Errorf("%+v", task)
	}
}

func TestAStoppedWorkerFinishesItsTasks(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.serve()
	run := f.submit("until [ -e $MARKS/../go ]; do sleep 0.05; done", "one")
	w := f.worker("alpha")
	until(t, "task", func() (string, bool) { return w.said(), f.marks("one") != "" })
	w.signal(syscall.SIGTERM)
	w.says(`waits for 1 task: ` + run + `/one`)
	later := f.submit("true", "two")
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.ends()
	if seen := f.lastSeen("alpha"); time.Since(seen) < coordinator.OfflineAfter {
		t.Errorf("a worker that has stopped was last seen %s ago, and is online", time.Since(seen))
	}
	f.once(run, "one")
	if task := f.task(later, "two"); task.Status != store.Queued {
		t.Errorf("%+v", task)
	}
	last := f.worker("beta", "--once")
	last.ends()
	f.once(later, "two")
}

func TestASecondSignalReturnsTheTasksToTheQueue(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.serve()
	run := f.submit("until [ -e $MARKS/../go ]; do sleep 0.05; done", "one")
	w := f.worker("alpha", "--json")
	until(t, "task", func() (string, bool) { return w.said(), f.marks("one") != "" })
	w.signal(syscall.SIGINT)
	w.says("waits for")
	w.signal(syscall.SIGINT)
	w.ends()
	w.says(`"event":"released"`)
	if task := f.task(run, "one"); task.Status != store.Queued || task.CountedAttempts != 0 || len(f.processesOf(run)) > 0 {
		t.Errorf("%+v, processes %v", task, f.processesOf(run))
	}
	if err := os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.worker("beta", "--once").ends()
	if task := f.task(run, "one"); task.Status != store.Complete || f.marks("one") != "start\nstart\nend\n" {
		t.Errorf("%+v has done %q", task, f.marks("one"))
	}
}

func TestAQuestionIsAnsweredOnAnotherMachine(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.serve()
	run := f.submitAt("", plan.Plan{Tasks: []plan.Task{{ID: "port", Agent: plan.FakeAgent, Prompt: "fake: ask Which? | 80 | 8080", QuestionRules: plan.QuestionRules{Questions: plan.Ask}}}})
	w := f.worker("alpha", "--once")
	var question string
	until(t, "question", func() (string, bool) {
		f.read(func(r store.Reader) error {
			open, err := r.Questions(true)
			if len(open) > 0 {
				question = open[0].ID
			}
			return err
		})
		return w.said(), question != ""
	})
	w.says("port asks: Which")
	until(t, "waiting worker", func() (status string, ok bool) {
		f.read(func(r store.Reader) error {
			all, err := r.Workers()
			if len(all) == 1 {
				status = all[0].Status
			}
			return err
		})
		return status, status == "waiting"
	})
	if err := f.engine.Answer(t.Context(), engine.Answer{Question: question, Text: "8080", Who: "ada"}); err != nil {
		t.Fatal(err)
	}
	w.ends()
	if task := f.task(run, "port"); task.Status != store.Complete {
		t.Errorf("%+v\n%s", task, w.said())
	}
	f.read(func(r store.Reader) error {
		text, err := logstore.Read(r, f.task(run, "port").LastAttempt, 0, 1<<20)
		if !bytes.Contains(text, []byte("8080")) {
			t.Errorf("the log has no answer:\n%s", text)
		}
		return err
	})
}

func (f *fleet) git(args ...string) {
	f.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
	cmd.Dir = filepath.Join(f.dir, "project")
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestOnlyARunOfOneWorkerHasWorktreesThere(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.git("init", "-q", "-b", "main")
	f.git("commit", "-q", "--allow-empty", "-m", "first")
	f.serve()
	tree := func(id string) plan.Plan {
		return plan.Plan{Tasks: []plan.Task{{ID: id, Agent: plan.CommandAgent, Argv: []string{"sh", "-c", "pwd > $MARKS/" + id}, Isolation: plan.Isolation{Worktree: true}}}}
	}
	placed, other, loose := f.submitAt("alpha", tree("placed")), f.submitAt("beta", tree("other")), f.submitAt("", tree("loose"))
	flow := tree("flow")
	flow.Workflow = &plan.Workflow{ID: "flow", Base: "main", Branch: "flow-branch"}
	flow.Tasks[0].Worktree = false
	shared := f.submitAt("alpha", flow)
	w := f.worker("alpha", "--once")
	w.ends()
	if task := f.task(placed, "placed"); task.Status != store.Complete || !strings.Contains(f.marks("placed"), filepath.Join("gaffer", "worktrees")) {
		t.Errorf("%+v worked in %q\n%s", task, f.marks("placed"), w.said())
	}
	if task := f.task(shared, "flow"); task.Status != store.Complete || !strings.Contains(f.marks("flow"), filepath.Join("gaffer", "worktrees")) {
		t.Errorf("%+v worked in %q\n%s", task, f.marks("flow"), w.said())
	}
	f.git("rev-parse", "--verify", "flow-branch")
	if task := f.task(other, "other"); task.Status != store.Queued {
		t.Errorf("what another worker is to do: %+v", task)
	}
	if task := f.task(loose, "loose"); task.Status != store.Failed || f.marks("loose") != "" {
		t.Errorf("%+v", task)
	}
	w.says("run the plan with --on WORKER")
}
