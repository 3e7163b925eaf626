package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// faked returns a task for the fake agent. Its prompt is a script with these steps.
func faked(id string, steps ...string) plan.Task {
	script := ""
	for _, step := range steps {
		script += "fake: " + step + "\n"
	}
	return plan.Task{ID: id, Name: id, Agent: "fake", Prompt: "Do the work.\n" + script, QuestionRules: plan.QuestionRules{Questions: plan.Deny}}
}

// one runs a plan with one task and returns the task at the end.
func (p testProject) one(task plan.Task) fleet.Task {
	p.t.Helper()
	return p.run(task).Tasks[0]
}

// Whatever an agent prints or does, its task must be complete only if the work was done.
func TestWhatIsNotDoneIsNeverComplete(t *testing.T) {
	for _, c := range []struct {
		name  string
		task  plan.Task
		class string
	}{
		{"a denied tool with exit 0 and success", faked("a", "permission Bash touch x"), "denied"},
		{"an API error that calls itself success", faked("a", "api-error 529"), "api_error"},
		{"a bad key", faked("a", "api-error 401"), "auth"},
		{"too long a conversation", faked("a", "overflow"), "context_overflow"},
		{"an error", faked("a", "fail it broke"), "failed"},
		{"exit 0 without a last word", faked("a", "exit 0"), "failed"},
		{"half a line of success", faked("a", "torn", "exit 0"), "failed"},
		{"a timeout that makes it say success", slow(faked("a", "success-on-term", "hang"), 300*time.Millisecond, 0), "timeout"},
		{"silence", slow(faked("a", "hang"), 0, 300*time.Millisecond), "stalled"},
		{"output without progress", slow(faked("a", "loop"), 0, 300*time.Millisecond), "stalled"},
		{"a program that is not there", plan.Task{ID: "a", Agent: plan.CommandAgent, Argv: []string{"no-such-program"}}, "not_started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := newPlace(t).one(c.task)
			if got.Status != fleet.Failed || got.Outcome != c.class {
				t.Errorf("it is %s, %s, want failed, %s: %+v", got.Status, got.Outcome, c.class, got.Attempt)
			}
		})
	}
}

func slow(t plan.Task, timeout, stall time.Duration) plan.Task {
	t.Timeout, t.StallTimeout = timeout, stall
	return t
}

func TestWhatIsDoneIsCompleteHoweverItEnds(t *testing.T) {
	for name, task := range map[string]plan.Task{
		"a result and then no exit":      faked("a", "say the answer", "result-then-hang"),
		"a process left behind":          faked("a", "say the answer", "orphan 1h"),
		"many processes left behind":     faked("a", "say the answer", "forks 40 1h"),
		"a line of 50 MB":                faked("a", "line 50MB", "say the answer"),
		"broken UTF-8 and escape codes":  faked("a", "binary", "say the answer"),
		"a permission that policy gives": allowed(faked("a", "permission Bash ls", "say the answer")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newPlace(t).run(task)
			got := run.Tasks[0]
			if got.Status != fleet.Complete || !strings.Contains(got.Attempt.Summary, "the answer") {
				t.Errorf("it is %s, %s: %+v", got.Status, got.Outcome, got.Attempt)
			}
			if left := marked(run.ID); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

func allowed(t plan.Task) plan.Task {
	t.Questions = plan.Allow
	return t
}

func TestCancelEndsAnAgentThatIgnoresItAndWhatItLeftInItsOwnSession(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	task := faked("a", "ignore-term", "orphan 1h", "say ready", "hang")
	id, err := a.Submit(t.Context(), plan.Plan{Name: "stubborn", Source: plan.SourceRunPrompt, Tasks: []plan.Task{task}})
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan fleet.Run, 1)
	go func() {
		run, err := a.Runs.Work(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		result <- run
	}()
	testenv.Wait(t, "the agent and its child", func() error {
		if pids, log := marked(id), p.log(id, "a"); len(pids) < 2 || !strings.Contains(log, "ready") {
			return fmt.Errorf("processes %v, log %q", pids, log)
		}
		return nil
	})
	began := time.Now()
	if err := a.Fleet.Cancel(t.Context(), id, "a", "enough"); err != nil {
		t.Fatal(err)
	}
	run := <-result
	if took := time.Since(began); took > testenv.Patience { // without a time limit the agent would never end
		t.Errorf("it took %s", took)
	}
	if got := run.Tasks[0].Status; got != fleet.Cancelled {
		t.Errorf("the task is %s", got)
	}
	if left := marked(id); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
}

func (p testProject) log(run, task string) string {
	text, _ := os.ReadFile(filepath.Join(p.root, ".founder-mode/status/sessions", run, task+".log"))
	return string(text)
}

func TestARateLimitPausesTheAccountAndUsesNoAttempt(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	tasks := []plan.Task{faked("a", "file-once limited limit 2", "say done"), faked("b", "say done")}
	tasks[1].After = []string{"a"}
	id, err := a.Submit(t.Context(), plan.Plan{Name: "limits", Source: plan.SourceOrchestrate, Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	paused := make(chan []fleet.Lane, 1)
	go func() {
		_ = a.Fleet.Follow(t.Context(), id, 0, func(run fleet.Run) error {
			if len(run.Lanes) > 0 {
				select {
				case paused <- run.Lanes:
				default:
				}
			}
			return nil
		})
	}()
	run, err := a.Runs.Work(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	first := run.Tasks[0]
	if run.Status != fleet.Complete || first.Tries != 2 || first.Retries != 0 {
		t.Errorf("the run is %s, its first task had %d tries with %d retries", run.Status, first.Tries, first.Retries)
	}
	select {
	case lanes := <-paused:
		if lanes[0].Name != "fake" || lanes[0].Until.IsZero() {
			t.Errorf("paused are %+v", lanes)
		}
	default:
		t.Error("no lane was seen paused")
	}
}

func TestAQuestionIsAnsweredByTheUserOrByItsDefault(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer func() { _ = a.Close() }()
	asked := faked("asked", "ask Which colour? | red | blue")
	asked.Questions = plan.Ask
	alone := faked("alone", "ask Which shape? | round | square")
	alone.Questions, alone.AnswerTimeout, alone.AnswerDefault = plan.Ask, time.Second, "square"
	id, err := a.Submit(t.Context(), plan.Plan{Name: "questions", Source: plan.SourceOrchestrate, Tasks: []plan.Task{asked, alone}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = a.Fleet.Follow(t.Context(), id, 0, func(run fleet.Run) error {
			if q := run.Tasks[0].Question; q != nil {
				if fmt.Sprint(q.Options) != "[red blue]" {
					t.Errorf("options are %v", q.Options)
				}
				return a.Fleet.Answer(t.Context(), q.ID, fleet.Reply{Text: "blue"})
			}
			return nil
		})
	}()
	run, err := a.Runs.Work(t.Context(), id)
	if err != nil || run.Status != fleet.Complete {
		t.Fatalf("the run is %s, %v: %+v", run.Status, err, run.Tasks)
	}
	for i, want := range []string{"blue", "square"} {
		if got := run.Tasks[i].Attempt.Summary; !strings.Contains(got, want) {
			t.Errorf("%s ended with %q, want the answer %s", run.Tasks[i].ID, got, want)
		}
	}
}
