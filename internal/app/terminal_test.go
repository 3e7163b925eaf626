package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/attempt/terminal"
	"gaffer/internal/attempt/tmux"
	"gaffer/internal/flow/beadrun"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
	"gaffer/ledger"
	"gaffer/statefile/host"
)

// person is a user at a terminal. The terminal is a separate tmux server.
type person struct {
	t      *testing.T
	socket string
	server *tmux.Server
}

func newPerson(t *testing.T) person {
	t.Helper()
	dir, err := os.MkdirTemp("", "person-")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	p := person{t, socket, tmux.New(socket)}
	t.Cleanup(func() {
		_ = p.server.End(context.Background(), "person") // ignore the error: the server may have ended already
		_ = os.RemoveAll(dir)
	})
	return p
}

func (p person) runs(argv []string) {
	p.t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.server.Start(p.t.Context(), "person", append([]string{path}, argv[1:]...), os.Environ(), "/"); err != nil {
		p.t.Fatal(err)
	}
}

func (p person) sees(text string) {
	p.t.Helper()
	testenv.Wait(p.t, fmt.Sprintf("%q on the screen", text), func() error {
		screen, err := p.server.Capture(p.t.Context(), "person")
		if err == nil && !strings.Contains(screen, text) {
			err = fmt.Errorf("the screen shows %q", screen)
		}
		return err
	})
}

func (p person) types(keys ...string) {
	p.t.Helper()
	args := append([]string{"-S", p.socket, "send-keys", "-t", "=person:"}, keys...)
	if out, err := exec.Command("tmux", args...).CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

// isGone waits until the user's own tmux session has ended.
func (p person) isGone() {
	p.t.Helper()
	testenv.Wait(p.t, "the end of the person's tmux session", func() error {
		there, err := p.server.Has(p.t.Context(), "person")
		if there {
			err = errors.New("tmux still has it")
		}
		return err
	})
}

func TestAttachingAndDetachingDoesNotChangeTheOutcome(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	task := beadOf("bd-1", "say working on it", "unless-attempt 2 hang", "say fine")
	task.Retries = 1
	s := p.dispatch(beadrun.RequireTmux, task)
	s.says("bd-1", "working on it")
	at, err := s.app.Terminals.Attach(t.Context(), "bd-1", false)
	if err != nil {
		t.Fatal(err)
	}
	someone := newPerson(t)
	someone.runs(at.Argv)
	someone.sees("working on it")
	someone.types("C-c", "C-z", "C-\\") // the agent must get none of these keys
	someone.types("hello", "Enter")
	someone.sees("the agent asks nothing")
	someone.types("C-b", "d")
	someone.isGone()
	someone.runs(at.Argv)
	someone.sees("working on it")
	if now := s.task("bd-1", func(fleet.Task) bool { return true }); now.Status != fleet.Running || now.Tries != 1 {
		t.Errorf("it is %s after %d tries", now.Status, now.Tries)
	}
	testenv.Signal(t, s.says("bd-1", "working").Attempt.PID, syscall.SIGKILL)
	someone.isGone()
	s.end()
	got := p.records("bd-1")
	if len(got) != 2 || got[0].Status != ledger.Failed || got[0].Exit != -1 || !got[0].Retry || got[1].Status != ledger.Done {
		t.Errorf("recorded as %+v", got)
	}
	testenv.Wait(t, "an attach that finds no terminal", func() error { // the terminal may take a moment to end
		_, err := s.app.Terminals.Attach(t.Context(), "bd-1", false)
		if none := (*terminal.NoTerminalError)(nil); !errors.As(err, &none) {
			return fmt.Errorf("another error: %w", err)
		}
		return nil
	})
}

func TestTheUserAnswersInTheTerminal(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	task := beadOf("bd-1", "ask Which port? | 8080 | 9090", "say thanks")
	task.Questions = plan.Ask
	s := p.dispatch(beadrun.RequireTmux, task)
	s.task("bd-1", func(t fleet.Task) bool { return t.Question != nil })
	at, err := s.app.Terminals.Attach(t.Context(), "bd-1", false)
	if err != nil {
		t.Fatal(err)
	}
	someone := newPerson(t)
	someone.runs(at.Argv)
	someone.sees("Which port?")
	someone.types("2", "Enter")
	if run := s.end(); run.Status != fleet.Complete {
		t.Errorf("it is %s", run.Status)
	}
	log, err := os.ReadFile(s.task("bd-1", func(fleet.Task) bool { return true }).Attempt.Log)
	if err != nil || !strings.Contains(string(log), `9090`) {
		t.Errorf("the agent heard %s, %v", log, err)
	}
}

func TestAgentsGoOnWhenTheTmuxServerIsKilled(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	gate := filepath.Join(t.TempDir(), "go")
	wait := "tool until [ -e " + gate + " ]; do sleep 0.05; done"
	s := p.dispatch(beadrun.RequireTmux,
		beadOf("bd-1", "say working", wait, "work 3s", "say fine"),
		beadOf("bd-2", "say working", wait, "work 3s", "fail it broke"),
	)
	s.says("bd-1", "working")
	s.says("bd-2", "working")
	at, err := s.app.Terminals.Attach(t.Context(), "bd-1", false)
	if err != nil {
		t.Fatal(err)
	}
	socket := at.Argv[2]
	out, err := exec.Command("tmux", "-S", socket, "display-message", "-p", "#{pid}").Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("kill", "-9", strings.TrimSpace(string(out))).Run(); err != nil {
		t.Fatal(err)
	}
	gone := (*terminal.NoTerminalError)(nil)
	if _, err := s.app.Terminals.Attach(t.Context(), "bd-1", false); !errors.As(err, &gone) || !strings.Contains(err.Error(), "the agent goes on without it") {
		t.Errorf("%v", err)
	}
	const told = "tmux or its session has ended; the agent goes on"
	testenv.WaitFor(t, "a notice about tmux", p.notices.String, func(text string) bool { return strings.Contains(text, told) })
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.end()
	for bead, want := range map[string]recorded{
		"bd-1": {Status: ledger.Done, Reason: "fine", Summary: "fine"},
		"bd-2": {Status: ledger.Failed, Reason: "failed", Exit: 1, Summary: "it broke"},
	} {
		got := p.records(bead)
		if got[0].Summary, _, _ = strings.Cut(got[0].Summary, ";"); len(got) != 1 || got[0] != want {
			t.Errorf("%s is recorded as %+v, want %+v", bead, got, want)
		}
	}
	p.valid()
	if notices := p.notices.String(); strings.Count(notices, told) != 1 {
		t.Errorf("a person was told %q", notices)
	}
}

func TestAfterARebootWhatWasLostIsNamedAndRecorded(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	again := beadOf("bd-again", "say working", "hang")
	again.Retries = 1
	a := p.open()
	id, err := a.Beads.Dispatch(t.Context(), beadrun.Request{Plan: plan.Plan{Tasks: []plan.Task{again, beadOf("bd-once", "say working", "hang")}}, Terminal: beadrun.RequireTmux})
	if err != nil {
		t.Fatal(err)
	}
	working, crash := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := a.Runs.Work(working, id); left <- err }()
	s := &shiftOf{testProject: p, app: a, run: id}
	for _, bead := range []string{"bd-again", "bd-once"} {
		s.says(bead, "working")
	}
	if list, err := a.Beads.Poll(t.Context(), false); err != nil || len(list) != 2 || list[0].State != "running" || list[1].State != "running" {
		t.Errorf("while they run: %+v, %v", list, err)
	}
	crash()
	<-left
	if list, err := a.Beads.Poll(t.Context(), true); err != nil || len(list) != 2 || list[0].State != beadrun.Unattended || list[1].State != beadrun.Unattended {
		t.Errorf("while nobody looks after them: %+v, %v", list, err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	reboot(t, p)
	p.foreign("bd-old") // a record of another tool that has no end

	a = p.open()
	defer a.Close()
	list, err := a.Beads.Poll(t.Context(), false)
	stale(t, list, err, "")
	list, err = a.Beads.Poll(t.Context(), true)
	stale(t, list, err, "lost")
	want := recorded{Status: ledger.Failed, Reason: "lost", Exit: -1, Retry: true} // Retry is true even for a bead without retries
	var old ledger.Result
	if p.read("results", "bd-old", &old); old.Status != ledger.Failed || old.Reason != "lost" || old.ExitCode != nil {
		t.Errorf("bd-old ended as %+v", old)
	}
	for _, bead := range []string{"bd-again", "bd-once"} {
		got := p.records(bead)
		if got[0].Summary = ""; len(got) != 1 || got[0] != want {
			t.Errorf("%s is recorded as %+v, want %+v", bead, got, want)
		}
	}
	p.valid()
	if list, err := a.Beads.Poll(t.Context(), false); err != nil || len(list) != 0 {
		t.Errorf("after the repair: %+v, %v", list, err)
	}
	report, err := ledger.Open(filepath.Join(p.root, "state"), ledger.Options{}).Report(t.Context(), ledger.Query{}, func(ledger.Attempt) error { return nil })
	if err != nil || report.Statistics.Failed != 3 || len(report.Statistics.FailureReasons) != 1 || report.Statistics.FailureReasons[0] != (ledger.Reason{Reason: "lost", Count: 3}) {
		t.Errorf("the report says %+v, %v", report.Statistics, err)
	}
}

func stale(t *testing.T, list []beadrun.Polled, err error, repaired string) {
	t.Helper()
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, p := range list {
		if p.State != beadrun.Stale || p.Repaired != repaired {
			t.Errorf("%+v, want stale and repaired %q", p, repaired)
		}
	}
}

// foreign writes a record of an attempt that another tool started and never ended.
func (p testProject) foreign(bead string) {
	p.t.Helper()
	run := `{"bead": "` + bead + `", "agent": "claude", "model": "sonnet", "repo": "/r", "started_at": "2026-02-12T17:08:00Z", "attempt": 1, "prompt": "Do it"}`
	if err := os.WriteFile(filepath.Join(p.root, "state", "runs", bead+".json"), []byte(run), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// reboot changes the state to the one after a reboot: the files name another boot, and there are no
// processes and no sockets.
func reboot(t *testing.T, p testProject) {
	t.Helper()
	boot := []byte(host.OS().Self().Boot)
	other := bytes.Map(func(r rune) rune {
		if r == '-' {
			return r
		}
		return '0'
	}, boot)
	environ := func(pid int) []byte { // nil if the process has ended
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return env
	}
	for _, m := range listMarked(t) {
		if !bytes.Contains(environ(m.PID), []byte("GAFFER_LEDGER="+p.root+"/")) {
			continue
		}
		for _, pid := range []int{parentOf(t, m.PID), m.PID} {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			testenv.WaitFor(t, fmt.Sprintf("the end of process %d", pid), func() string { return string(environ(pid)) }, func(env string) bool { return env == "" })
		}
	}
	named := 0
	err := filepath.WalkDir(p.home, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type()&fs.ModeSocket != 0:
			return os.Remove(path)
		case !d.Type().IsRegular() || strings.Contains(path, "gaffer.db"):
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, boot) {
			return err
		}
		named++
		return os.WriteFile(path, bytes.ReplaceAll(data, boot, other), 0o600)
	})
	if err != nil || named == 0 {
		t.Fatalf("%d files name the boot, %v", named, err)
	}
}

func TestAPageShowsTheTerminalOfADispatchedAgent(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	task := beadOf("bd-1", "ask Which port? | 8080 | 9090", "say thanks")
	task.Questions = plan.Ask
	s := p.dispatch(beadrun.RequireTmux, task)
	c, err := s.app.ServeRun()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	view, err := c.Terminals.Open(t.Context(), credential.Identity{Name: "ann"}, s.run, "bd-1", fleet.TerminalSize{Columns: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var text strings.Builder
	var state fleet.TerminalState
	read := func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("%+v %s", state, text.String())
	}
	sees := func(want string) {
		t.Helper()
		testenv.WaitFor(t, want, read, func(all string) bool { return strings.Contains(all, want) })
	}
	ended := make(chan error, 1)
	go func() {
		ended <- view.Run(t.Context(), func(data []byte) error {
			mu.Lock()
			defer mu.Unlock()
			text.Write(data)
			return nil
		}, func(s fleet.TerminalState) error {
			mu.Lock()
			defer mu.Unlock()
			state = s
			return nil
		})
	}()
	sees("Which port?")
	view.TakeKeyboard()
	sees("Typist:ann Mine:true")
	view.Type([]byte("2\r"))
	if run := s.end(); run.Status != fleet.Complete {
		t.Errorf("it is %s", run.Status)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if mu.Lock(); state.Phase != fleet.TerminalEnded || state.Status != fleet.Complete || state.Attempt != 1 || state.Summary != "thanks" {
		t.Errorf("%+v", state)
	}
	mu.Unlock()
}

func TestAPageSaysWhyItShowsNoTerminal(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	s := p.dispatch(beadrun.Headless, beadOf("bd-1", "say fine"))
	s.end()
	c, err := s.app.ServeRun()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused := func(run, task, want string) {
		t.Helper()
		_, err := c.Terminals.Open(t.Context(), credential.Identity{Name: "ann"}, run, task, fleet.TerminalSize{})
		if missing, ok := errors.AsType[interface {
			error
			NotFound() bool
		}](err); !ok || !missing.NotFound() || !strings.Contains(err.Error(), want) {
			t.Errorf("%s/%s: %v, want %q", run, task, err, want)
		}
	}
	refused(s.run, "bd-1", "bd-1 has no terminal")
	refused(s.run, "bd-9", "bd-9")
	refused("none", "bd-1", "none")

	s = p.dispatch(beadrun.RequireTmux, beadOf("bd-2", "say working", "hang"))
	s.says("bd-2", "working")
	locks, err := filepath.Glob(filepath.Join(c.State, "runs", s.run+"*"))
	if err != nil || len(locks) == 0 {
		t.Fatalf("%q, %v", locks, err)
	}
	for _, file := range locks { // another machine that shares the database does not have these files
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	refused(s.run, "bd-2", "this server is on "+machine)
	refused(s.run, "bd-2", "'gaffer attach bd-2' on "+machine) // the worker of the run has reported its machine
}
