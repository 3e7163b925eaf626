package recorder_test

import (
	"context"
	"encoding/json"
	"time"

	"gaffer/fleet"

	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// stories are the scenarios on which the recorder is tested, by name.
var stories = map[string]story{
	"three waves":         threeWaves,
	"stop on failure":     stopOnFailure,
	"end on failure":      endOnFailure,
	"retry after the end": retryAfterTheEnd,
	"cancelled":           cancelledRun,
	"messages":            messages,
	"trouble":             trouble,
	"no tasks":            func(w *world, _ func(string)) { w.submit(plan.Plan{Source: "orchestrate"}) },
	"layers":              layers,
	"handed back":         handedBack,
	"late exit code":      lateExitCode,
	"at once":             atOnce,
}

// messages is a story with three messages: one comes while an agent is running, one continues the
// ended run, and one is withdrawn.
func messages(w *world, at func(string)) {
	send := func(text string) fleet.Message {
		m, err := w.Send(context.Background(), fleet.Message{Run: runID, Task: "a", Text: text})
		w.must(err)
		return m
	}
	w.submit(plan.Plan{Tasks: []plan.Task{task("a", 0)}})
	first := w.start(1)
	m := send("faster")
	w.end(first, engine.Finish{Ending: fleet.Ending{Summary: "a is done"}})
	at("a continues with a message")
	w.end(w.start(2), engine.Finish{Delivered: []string{m.ID}, Ending: fleet.Ending{Summary: "it is faster"}})
	at("complete")
	w.forward(time.Hour)
	m = send("and smaller")
	at("continued after the end")
	w.must(w.WithdrawMessage(context.Background(), m.ID, "sam"))
	at("withdrawn")
	m = send("and simpler")
	w.end(w.start(3), engine.Finish{Delivered: []string{m.ID}, Ending: fleet.Ending{Summary: "it is simpler"}})
	at("complete again")
}

// lateExitCode is a story with two agents that report success. Then one fails, and one is killed
// because it does not exit. Their reports must decide the result.
func lateExitCode(w *world, at func(string)) {
	w.submit(plan.Plan{Tasks: []plan.Task{task("a", 0), task("b", 0)}})
	w.end(w.start(1), engine.Finish{Ending: fleet.Ending{Summary: "a is done", Exit: 3}})
	w.end(w.start(2), engine.Finish{Ending: fleet.Ending{Summary: "b is done", Exit: 143}})
	at("ended")
}

// atOnce is a story with an agent that takes less than a second.
func atOnce(w *world, at func(string)) {
	w.submit(plan.Plan{Tasks: []plan.Task{task("a", 0)}})
	a, err := w.Claim(context.Background(), engine.Claim{Worker: "w"})
	w.must(err)
	w.forward(100 * time.Millisecond)
	_, err = w.Finish(context.Background(), engine.Finish{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Ending: fleet.Ending{Summary: "done"}})
	w.must(err)
	at("ended")
}

// threeWaves is a story with a retry after a failed check, a question, and a running task that a
// user cancels, with the effects on other tasks.
func threeWaves(w *world, at func(string)) {
	a, b, d := task("a", 1), task("b", 1), task("d", 2)
	a.Retries, b.Agent, b.Model, d.Agent, d.Argv, d.Prompt = 1, "codex", "gpt", "", []string{"make", "docs"}, ""
	w.submit(plan.Plan{
		Name: "shop", Source: "orchestrate", SourceFile: "plan.yaml",
		Tasks: []plan.Task{a, b, task("c", 2), d, task("e", 3)},
	})
	at("submitted")
	first, second := w.start(101), w.start(102)
	at("wave 1 runs")
	failed, _ := json.Marshal([]map[string]any{{"command": "go vet", "ok": true}, {"command": "go test", "ok": false, "exit": 1}})
	w.end(first, engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed, Summary: "2 tests fail", Checks: failed}})
	w.end(second, engine.Finish{Ending: fleet.Ending{Summary: "b is done"}})
	at("a waits to be tried again")
	again := w.start(103)
	at("a runs again")
	passed, _ := json.Marshal([]map[string]any{{"command": "go test", "ok": true}})
	w.end(again, engine.Finish{Ending: fleet.Ending{Summary: "a is done", Checks: passed}})
	asks, runs := w.start(104), w.start(105)
	q, err := w.Ask(context.Background(), engine.Ask{Attempt: asks.Attempt.ID, Token: asks.Attempt.Token, Text: "Sure?"})
	w.must(err)
	w.must(w.Answer(context.Background(), engine.Answer{Question: q, Text: "yes", Who: "sam"}))
	w.must(w.Cancel(context.Background(), engine.Target{Run: runID, Task: runs.Task.Task}, "sam", "not needed"))
	w.end(runs, engine.Finish{Ending: fleet.Ending{Class: failure.Cancelled, Exit: -1}})
	at("d is cancelled")
	w.end(asks, engine.Finish{Ending: fleet.Ending{Summary: "c is done"}})
	at("ended")
}

// stopOnFailure is a story in which a task fails and the run stops: running tasks continue, no more
// tasks start, and the failed task is not retried.
func stopOnFailure(w *world, at func(string)) {
	retried := task("b", 0)
	retried.Retries = 3
	w.submit(plan.Plan{Parallel: 3, OnFailure: plan.Stop, Tasks: []plan.Task{task("a", 0), retried, task("c", 0), task("d", 0)}})
	a, b, c := w.start(1), w.start(2), w.start(0)
	w.end(a, crashed("Missing required input"))
	w.end(b, crashed("no luck"))
	w.end(c, engine.Finish{Ending: fleet.Ending{Summary: "done"}})
	at("ended")
}

func endOnFailure(w *world, _ func(string)) {
	w.submit(plan.Plan{OnFailure: plan.StopNow, Tasks: []plan.Task{task("a", 0), task("b", 0)}})
	a, b := w.start(1), w.start(2)
	w.end(a, engine.Finish{Ending: fleet.Ending{Class: failure.Denied, Exit: 1, Summary: "may not write"}})
	w.end(b, engine.Finish{Ending: fleet.Ending{Class: failure.Cancelled, Exit: 130}})
}

// retryAfterTheEnd is a story in which a user retries a failed task after the run's end. The tasks
// that were cancelled because of the failure start again too.
func retryAfterTheEnd(w *world, at func(string)) {
	w.submit(plan.Plan{Tasks: []plan.Task{task("a", 1), task("b", 1), task("c", 2)}})
	first := w.start(1)
	w.complete(2)
	w.end(first, crashed("no luck"))
	at("failed")
	w.forward(time.Hour)
	w.must(w.Retry(context.Background(), store.TaskKey{Run: runID, Task: "a"}, "sam", "try again"))
	at("retried")
	w.complete(3)
	w.complete(4)
	at("complete")
}

func cancelledRun(w *world, at func(string)) {
	w.submit(plan.Plan{Source: "run-prompt", Tasks: []plan.Task{task("a", 1), task("b", 2)}})
	a := w.start(1)
	w.must(w.Cancel(context.Background(), engine.Target{Run: runID}, "sam", "enough"))
	w.end(a, engine.Finish{Ending: fleet.Ending{Class: failure.Cancelled, Exit: -1, Summary: "ended by a signal"}})
	at("ended")
}

// trouble is a story with the other ways in which an attempt can end.
func trouble(w *world, at func(string)) {
	limited, lost, slow, dear := task("limited", 0), task("lost", 0), task("slow", 0), task("dear", 0)
	slow.Timeout, dear.Budget.USD = 5*time.Minute, 5
	w.submit(plan.Plan{Parallel: 1, Budget: plan.Budget{USD: 1}, Tasks: []plan.Task{limited, lost, slow, dear}})
	w.end(w.start(1), engine.Finish{Ending: fleet.Ending{Class: failure.RateLimited, Exit: 1, Summary: "usage limit"}, Reset: w.now.Add(time.Minute)})
	at("rate limited")
	w.sweep(2 * time.Minute)
	w.complete(2)
	w.start(3)
	w.sweep(2 * time.Hour)
	at("lost")
	s := w.start(4)
	w.sweep(10 * time.Minute)
	w.end(s, engine.Finish{Ending: fleet.Ending{Class: failure.Crashed, Exit: 143, Summary: "ended by a signal"}})
	w.end(w.start(0), engine.Finish{Ending: fleet.Ending{Class: failure.Crashed, Exit: -1}})
	_, _ = w.Claim(context.Background(), engine.Claim{Worker: "w"}) // not claimed, because the budget is too small for the last task
	at("ended")
}

// handedBack is a story with a worker that stops and returns its task to the queue.
func handedBack(w *world, at func(string)) {
	w.submit(plan.Plan{Tasks: []plan.Task{task("a", 1)}})
	a := w.start(1)
	w.forward(10 * time.Second)
	w.must(w.Release(context.Background(), "w", []engine.HeldAttempt{{Attempt: a.Attempt.ID, Token: a.Attempt.Token}}))
	at("handed back")
	w.complete(2)
	at("complete")
}

// layers is a story with tasks that have no waves in the plan.
func layers(w *world, at func(string)) {
	c, b := task("c", 0), task("b", 0)
	c.After, b.After = []string{"b"}, []string{"a"}
	w.submit(plan.Plan{Tasks: []plan.Task{c, b, task("a", 0), task("d", 0)}})
	w.complete(1)
	at("one is done")
	w.complete(2)
	w.complete(3)
	w.complete(4)
}
