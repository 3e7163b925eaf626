package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine"
	"gaffer/internal/flow/beadrun"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
	"gaffer/ledger"
	"gaffer/statefile"
)

func listMarked(t *testing.T) []supervisor.Marked {
	t.Helper()
	list, err := supervisor.ListMarked()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// beadOf returns a bead whose fake agent performs these steps.
func beadOf(id string, steps ...string) plan.Task {
	t := faked(id, steps...)
	t.Dispatch = &plan.Dispatch{Bead: id}
	return t
}

// shiftOf is a run of beads while it is being worked on.
type shiftOf struct {
	testProject
	app  *app.App
	run  string
	done chan fleet.Run
}

// dispatch starts a run of beads in the background.
func (p testProject) dispatch(way beadrun.TerminalMode, beads ...plan.Task) *shiftOf {
	p.t.Helper()
	a := p.open()
	id, err := a.Beads.Dispatch(p.t.Context(), beadrun.Request{
		Plan: plan.Plan{Name: "beads", Source: plan.SourceRunPrompt, Parallel: len(beads), Tasks: beads}, Terminal: way,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	s := &shiftOf{p, a, id, make(chan fleet.Run, 1)}
	go func() {
		defer close(s.done)
		run, err := a.Runs.Work(context.Background(), id)
		if err != nil {
			p.t.Error(err)
		}
		s.done <- run
	}()
	p.t.Cleanup(func() {
		_ = a.Fleet.Cancel(context.Background(), id, "", "the test is over") // ignore the error: the run may have ended already
		for range s.done {
		}
		_ = a.Close()
	})
	return s
}

// end waits until the run has ended, and returns it.
func (s *shiftOf) end() fleet.Run {
	s.t.Helper()
	select {
	case run := <-s.done:
		return run
	case <-time.After(2 * time.Minute):
		s.t.Fatal("the run does not end")
		return fleet.Run{}
	}
}

// task waits until match returns true for a task, and returns the task.
func (s *shiftOf) task(id string, match func(fleet.Task) bool) fleet.Task {
	s.t.Helper()
	return testenv.WaitFor(s.t, "a change of task "+id, func() (found fleet.Task) {
		run, err := s.app.Fleet.Run(s.t.Context(), s.run)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, t := range run.Tasks {
			if t.ID == id {
				found = t
			}
		}
		return found
	}, match)
}

// says waits until the agent of a task has printed a message that begins with text, and returns the
// task.
func (s *shiftOf) says(id, text string) fleet.Task {
	s.t.Helper()
	return s.task(id, func(t fleet.Task) bool {
		if t.Attempt == nil || t.Attempt.PID == 0 {
			return false
		}
		log, err := os.ReadFile(t.Attempt.Log)
		return err == nil && strings.Contains(string(log), `"text":"`+text) // the prompt in the log contains the text too
	})
}

// recorded has the fields of an attempt's run record and result record that tests compare.
type recorded struct {
	Status   ledger.Status
	Reason   string
	Exit     int // exit code; -1 if the record has null
	Retry    bool
	Summary  string
	Template string
	Verified string
}

// records returns what the ledger has about each attempt at a bead, in order.
func (p testProject) records(bead string) (list []recorded) {
	p.t.Helper()
	var last ledger.Run
	p.read("runs", bead, &last)
	for n := 1; n <= last.Attempt; n++ {
		name := bead
		if n < last.Attempt {
			name = fmt.Sprintf("%s.attempt-%d", bead, n)
		}
		var run ledger.Run
		var result ledger.Result
		p.read("runs", name, &run)
		p.read("results", name, &result)
		if run.Attempt != n || result.Attempt != n || run.Status != result.Status || run.PromptHash != ledger.Hash(run.PromptFull) {
			p.t.Errorf("%s: run %+v and result %+v of attempt %d", bead, run, result, n)
		}
		r := recorded{Status: result.Status, Reason: result.Reason, Exit: -1, Retry: result.WillRetry}
		if result.ExitCode != nil {
			r.Exit = *result.ExitCode
		}
		if result.OutputSummary != nil {
			r.Summary = *result.OutputSummary
		}
		if run.TemplateName != nil {
			r.Template = *run.TemplateName
		}
		if run.Verification != nil {
			r.Verified = run.Verification.Overall
		}
		list = append(list, r)
	}
	return list
}

func (p testProject) read(kind, name string, into any) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.root, "state", kind, name+".json"))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		p.t.Error(err)
	}
}

// valid fails if a record of the project is invalid.
func (p testProject) valid() {
	p.t.Helper()
	s := ledger.Open(filepath.Join(p.root, "state"), ledger.Options{})
	err := s.Validate(p.t.Context(), ledger.ValidateOptions{}, func(c ledger.ValidatedFile) error {
		for _, f := range c.Found {
			if f.Severity == statefile.Invalid {
				p.t.Errorf("%s: %s", c.Path, f)
			}
		}
		return nil
	})
	if err != nil {
		p.t.Error(err)
	}
}

func TestTenBeadsInTmuxAreRecordedAsTheyEnded(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	retried := beadOf("bd-retried", "unless-attempt 1 tool touch there", "say second time lucky")
	retried.Verify, retried.Retries, retried.Dispatch.Template = []string{"test -f there"}, 1, "bug-fix"
	used := beadOf("bd-used-up", "say I tried")
	used.Verify, used.Retries = []string{"echo no such file; false"}, 1
	late := beadOf("bd-late", "say half of it", "hang")
	late.Timeout = 45 * time.Second // long enough for the agent to print its text while nine other agents run
	asks := beadOf("bd-asks", "ask Which port? | 8080 | 9090", "say thanks")
	asks.Questions, asks.AnswerTimeout, asks.AnswerDefault = plan.Ask, time.Second, "9090"
	s := p.dispatch(beadrun.RequireTmux,
		beadOf("bd-done", "say fine"),
		beadOf("bd-failed", "fail it broke"),
		retried, used, late,
		beadOf("bd-killed", "say about to die", "hang"),
		beadOf("bd-lost", "say lost soon", "unless-attempt 2 hang", "say found again"),
		beadOf("bd-words", "say Größe 日本語 🚀"),
		beadOf("bd-percent", "say at 50%", "exit 3"),
		asks,
	)
	killed := s.says("bd-killed", "about to die")
	testenv.Signal(t, killed.Attempt.PID, syscall.SIGKILL)
	lost := s.says("bd-lost", "lost soon")
	testenv.Signal(t, parentOf(t, lost.Attempt.PID), syscall.SIGKILL)
	s.end()
	for bead, want := range map[string][]recorded{
		"bd-done":   {{Status: ledger.Done, Reason: "fine", Summary: "fine"}},
		"bd-failed": {{Status: ledger.Failed, Reason: "failed", Exit: 1, Summary: "it broke"}},
		"bd-retried": {
			{Status: ledger.Failed, Reason: "verify_failed", Retry: true, Template: "bug-fix", Verified: "fail", Summary: "test -f there: exit 1\n"},
			{Status: ledger.Done, Reason: "second time lucky", Summary: "second time lucky", Template: "bug-fix", Verified: "pass"},
		},
		"bd-used-up": {
			{Status: ledger.Failed, Reason: "verify_failed", Retry: true, Verified: "fail", Summary: "echo no such file; false: exit 1\nno such file"},
			{Status: ledger.Failed, Reason: "verify_failed", Verified: "fail", Summary: "echo no such file; false: exit 1\nno such file"},
		},
		"bd-late":   {{Status: ledger.TimedOut, Reason: "timeout", Exit: -1, Summary: "half of it"}},
		"bd-killed": {{Status: ledger.Failed, Reason: "failed", Exit: -1, Summary: "died of SIGKILL without a last word; its last words:\nabout to die"}},
		"bd-lost": {
			{Status: ledger.Failed, Reason: "lost", Retry: true, Exit: -1, Summary: "the supervisor was killed; its last words:\nlost soon"},
			{Status: ledger.Done, Reason: "found again", Summary: "found again"},
		},
		"bd-words":   {{Status: ledger.Done, Reason: "Größe 日本語 🚀", Summary: "Größe 日本語 🚀"}},
		"bd-percent": {{Status: ledger.Failed, Reason: "failed", Exit: 3, Summary: "died without a last word, exit code 3; its last words:\nat 50%"}},
		"bd-asks":    {{Status: ledger.Done, Reason: "thanks", Summary: "thanks"}},
	} {
		if diff := cmp.Diff(want, p.records(bead)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", bead, diff)
		}
	}
	var again ledger.Run
	p.read("runs", "bd-retried", &again)
	if !strings.Contains(again.PromptFull, "Attempt 1 failed (verify_failed)") || again.SessionName != "agent-bd-retried" || again.Repo != p.root {
		t.Errorf("the second attempt was told %q in %s at %s", again.PromptFull, again.SessionName, again.Repo)
	}
	p.valid()
}

// parentOf returns the process id of an agent's supervisor.
func parentOf(t *testing.T, pid int) (parent int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(data[strings.LastIndexByte(string(data), ')')+2:])
	var state string
	if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}

func TestOfTwoDispatchesOfABeadOneIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.dispatch(beadrun.Headless, beadOf("bd-1", "orphan 10m", "say working", "hang"))
	first := s.says("bd-1", "working")
	other := p.open()
	defer other.Close()
	again := beadrun.Request{Plan: plan.Plan{Tasks: []plan.Task{beadOf("bd-1", "say mine")}}, Terminal: beadrun.Headless}
	_, err := other.Beads.Dispatch(t.Context(), again)
	if held := (*engine.BeadHeldError)(nil); !errors.As(err, &held) || held.By.Run != s.run {
		t.Fatalf("%v, want it held by %s", err, s.run)
	}
	again.Force = true
	id, err := other.Beads.Dispatch(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range listMarked(t) {
		if m.Attempt == first.Attempt.ID {
			t.Errorf("process %d of the first, %s, is alive when the second may start", m.PID, m.Command)
		}
	}
	if run := s.end(); run.Status != fleet.Cancelled {
		t.Errorf("the first is %s", run.Status)
	}
	run, err := other.Runs.Work(t.Context(), id)
	if err != nil || run.Status != fleet.Complete {
		t.Errorf("the second is %s, %v", run.Status, err)
	}
	want := []recorded{
		{Status: ledger.Failed, Reason: "cancelled", Exit: -1, Summary: "working"},
		{Status: ledger.Done, Reason: "mine", Summary: "mine"},
	}
	if diff := cmp.Diff(want, p.records("bd-1")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	p.valid()
}

func TestForceEndsAnAgentWhoseRunHasNoProcess(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer a.Close()
	id, err := a.Beads.Dispatch(t.Context(), beadrun.Request{Plan: plan.Plan{Tasks: []plan.Task{beadOf("bd-1", "say working", "hang")}}, Terminal: beadrun.Headless})
	if err != nil {
		t.Fatal(err)
	}
	working, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := a.Runs.Work(working, id); left <- err }()
	s := &shiftOf{testProject: p, app: a, run: id}
	first := s.says("bd-1", "working")
	leave()
	<-left
	second, err := a.Beads.Dispatch(t.Context(), beadrun.Request{Plan: plan.Plan{Tasks: []plan.Task{beadOf("bd-1", "say mine")}}, Terminal: beadrun.Headless, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range listMarked(t) {
		if m.Attempt == first.Attempt.ID {
			t.Errorf("process %d of the first is alive when the second may start", m.PID)
		}
	}
	if run, err := a.Runs.Work(t.Context(), second); err != nil || run.Status != fleet.Complete {
		t.Errorf("the second is %s, %v", run.Status, err)
	}
}
