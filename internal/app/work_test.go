package app_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/attempt/agent/fake"
	"gaffer/internal/attempt/pane"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/verify"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/config"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/flow/teammerge"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/plan"
	"gaffer/internal/project"
	"gaffer/internal/project/trust"
	"gaffer/internal/testkit/testenv"
)

// TestMain runs the test binary as one of gaffer's commands if the arguments name one. Otherwise it
// runs the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "supervise" {
		os.Exit(supervisor.Main(os.Args[2:]))
	}
	if len(os.Args) == 3 && os.Args[1] == "verify" {
		os.Exit(verify.Main(os.Args[2:], os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == workspace.MergeCommand {
		os.Exit(workspace.MergeMain(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) == 2 && os.Args[1] == teamrun.MergeCommand {
		os.Exit(teammerge.Main(context.Background(), os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == pane.Command {
		os.Exit(pane.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	if len(os.Args) == 5 && os.Args[1] == "answer" {
		os.Exit(beAnswer(os.Args[2], os.Args[4]))
	}
	if len(os.Args) > 1 && os.Args[1] == "fake-agent" {
		os.Exit(fake.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "resume" { // simulates a background gaffer that fails to start
		fmt.Fprintln(os.Stderr, "gaffer: no gaffer here\nhint: none")
		os.Exit(1)
	}
	if text := os.Getenv(workOn); text != "" {
		part := strings.Split(text, "\n")
		if err := beGaffer(testProject{root: part[1], home: part[2]}, part[0]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text := os.Getenv(serveSchedules); text != "" {
		if err := beServer(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if underRace {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // without this, each process that a test starts takes a second to exit
	}
	os.Exit(pgtest.Main(m))
}

// beAnswer answers a question as 'gaffer answer TASK --option N' does, and returns the exit code.
func beAnswer(task, option string) int {
	home := filepath.Dir(filepath.Dir(os.Getenv("GAFFER_DB")))
	a := testProject{root: os.Getenv(project.EnvVar), home: home}.open()
	defer a.Close()
	t, err := a.Fleet.FindTask(context.Background(), task)
	if n, bad := strconv.Atoi(option); err == nil && bad == nil && t.Question != nil {
		err = a.Fleet.Answer(context.Background(), t.Question.ID, fleet.Reply{Text: t.Question.Options[n-1]})
	}
	fmt.Println("answered", err)
	return 0
}

// testProject is a project for one test. It has its own home folder.
type testProject struct {
	t    *testing.T
	root string
	home string
	db   string // database; empty for the default one in the home folder

	notices *notices
}

// notices collects the messages that gaffer prints for the user.
type notices struct {
	each func(text string) // called with each message; may be nil

	mu   sync.Mutex
	text strings.Builder
}

func (n *notices) tell(text string) {
	fmt.Fprintln(os.Stderr, text)
	if n != nil {
		if n.each != nil {
			n.each(text)
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.text.WriteString(text + "\n")
	}
}

func (n *notices) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

func newPlace(t *testing.T) testProject {
	return testProject{t: t, root: t.TempDir(), home: t.TempDir(), notices: &notices{}}
}

func (p testProject) open() *app.App { return p.openWith(func(string) string { return "" }) }

// openWith opens an App. It calls fallback for environment variables that the testProject does not
// set.
func (p testProject) openWith(fallback func(string) string) *app.App {
	a, err := app.Open(context.Background(), p.options(fallback))
	if err != nil {
		panic(err)
	}
	return a
}

// options returns the options for opening an App. They call fallback for environment variables that
// the testProject does not set.
func (p testProject) options(fallback func(string) string) app.Options {
	getenv := func(name string) string {
		if text, here := map[string]string{"XDG_STATE_HOME": p.home, "XDG_CONFIG_HOME": p.home, "GAFFER_DB": p.db, trust.Variable: "all"}[name]; here {
			return text
		}
		return fallback(name)
	}
	root, err := project.At(p.root, "test")
	if err != nil {
		panic(err)
	}
	c, err := config.Load(config.Inputs{Root: root.Root, Getenv: getenv})
	if err != nil {
		panic(err)
	}
	return app.Options{Project: root, Config: c, Now: time.Now, Getenv: getenv, Notice: p.notices.tell}
}

func shell(id, script string, after ...string) plan.Task {
	return plan.Task{ID: id, Name: id, Agent: plan.CommandAgent, Argv: []string{"sh", "-c", script}, After: after}
}

func (p testProject) run(tasks ...plan.Task) fleet.Run {
	p.t.Helper()
	a := p.open()
	defer func() {
		if err := a.Close(); err != nil {
			p.t.Error(err)
		}
	}()
	id, err := a.Submit(p.t.Context(), plan.Plan{Name: "test", Source: plan.SourceOrchestrate, Tasks: tasks})
	if err != nil {
		p.t.Fatal(err)
	}
	run, err := a.Runs.Work(p.t.Context(), id)
	if err != nil {
		p.t.Fatal(err)
	}
	return run
}

func TestARunOfCommandsEndsWithTheirResults(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	run := p.run(shell("a", "echo one > a.txt"), shell("b", "cat a.txt; exit 3", "a"), shell("c", "true", "b"))
	want := map[string]fleet.Status{"a": fleet.Complete, "b": fleet.Failed, "c": fleet.Cancelled}
	for _, task := range run.Tasks {
		if task.Status != want[task.ID] {
			t.Errorf("%s is %s, want %s: %+v", task.ID, task.Status, want[task.ID], task.Attempt)
		}
	}
	if run.Status != fleet.Failed {
		t.Errorf("the run is %s", run.Status)
	}
	if b := run.Tasks[1].Attempt; b.Exit != 3 || b.Summary != "exit code 3: one" {
		t.Errorf("b ended with %+v", b)
	}
	if text, err := os.ReadFile(filepath.Join(p.root, "a.txt")); err != nil || string(text) != "one\n" {
		t.Errorf("a.txt is %q, %v", text, err)
	}
	for _, others := range []string{".fctry", "coordination"} {
		if _, err := os.Stat(filepath.Join(p.root, others)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a plan that is neither a build nor a team's has left %s: %v", others, err)
		}
	}
}

func TestARunIsTheSameOnPostgreSQL(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	p.db = pgtest.Database(t)
	run := p.run(shell("a", "true"), shell("b", "exit 3", "a"), faked("c", "say fine"))
	want := map[string]fleet.Status{"a": fleet.Complete, "b": fleet.Failed, "c": fleet.Complete}
	for _, task := range run.Tasks {
		if task.Status != want[task.ID] {
			t.Errorf("%s is %s, want %s: %+v", task.ID, task.Status, want[task.ID], task.Attempt)
		}
	}
}

func TestWorkThatFailsItsCheckIsTriedAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	task := shell("a", "echo x >> tries")
	task.Verify, task.Retries = []string{"test $(wc -l < tries) = 2"}, 1
	run := p.run(task)
	a := run.Tasks[0]
	if a.Status != fleet.Complete || a.Tries != 2 || len(a.Attempt.Checks) != 1 || !a.Attempt.Checks[0].OK {
		t.Errorf("task is %+v, %+v", a, a.Attempt)
	}
}

func TestATaskThatIsRetriedAsTheRunEndsHasOneAgentAtATime(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	const trials = 10
	early := 0 // how often Work returned before the run had ended
	for range trials {
		dir := t.TempDir()
		script := fmt.Sprintf("cd %s; exec 9>lock; flock -n 9 || echo two >both; echo x >>ran; sleep 0.05; [ $(wc -l <ran) -gt 1 ]", dir)
		id, err := a.Submit(t.Context(), plan.Plan{Name: "retried", Tasks: []plan.Task{shell("a", script)}})
		if err != nil {
			t.Fatal(err)
		}
		retried := make(chan struct{})
		go func() {
			defer close(retried)
			for a.Fleet.Retry(t.Context(), id, "a") != nil && t.Context().Err() == nil { // repeat until the task has failed
			}
		}()
		for {
			r, err := a.Runs.Work(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if r.Status == fleet.Complete {
				break
			}
			if r.Status == fleet.Running {
				early++
			}
			<-retried
			_ = a.Fleet.Retry(t.Context(), id, "a") // in case Work had already released the run at the first retry
		}
		if _, err := os.Stat(filepath.Join(dir, "both")); err == nil {
			t.Error("two were at work at once")
		}
	}
	if early > 0 {
		t.Errorf("Work returned %d times before the run had ended", early)
	}
}
