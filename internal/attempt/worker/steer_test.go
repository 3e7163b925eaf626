package worker_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	seen "gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// steerTest is a running task of a fake agent, to which a test sends messages as a user.
type steerTest struct {
	*fleet
	t      *testing.T
	run    string
	worker *runningWorker
}

// eachSteerable runs a test twice: with the fake agent imitating Claude Code, and imitating Codex.
func eachSteerable(t *testing.T, test func(t *testing.T, like string)) {
	for _, like := range []string{"claude", "codex"} {
		t.Run(like, func(t *testing.T) {
			t.Parallel()
			test(t, like)
		})
	}
}

// gate has two steps of the fake agent. The first prints a text by which a test knows that the
// agent works. The second ends when the file go appears.
const gate = "fake: say started\nfake: tool while [ ! -e DIR/go ]; do sleep 0.02; done\n"

// newSteerTest starts a task and waits until its agent is at the gate.
func newSteerTest(t *testing.T, like, questions string) *steerTest {
	t.Helper()
	program := agent.Custom{Like: like, Argv: []string{testenv.Program(t), "fake-agent", "--protocol", like}}
	k := startSteerTest(t, program, plan.Task{Prompt: gate + "fake: say first", QuestionRules: plan.QuestionRules{Questions: plan.QuestionPolicy(questions)}})
	k.logHas("started")
	return k
}

// startSteerTest starts a task. In the task's prompt, DIR stands for the fleet's folder.
func startSteerTest(t *testing.T, program agent.Custom, task plan.Task) *steerTest {
	t.Helper()
	f := newFleet(t, time.Minute)
	f.agents = func(name string) (agent.Agent, error) {
		return agent.New(name, map[string]agent.Custom{"fake": program})
	}
	task.ID, task.Agent, task.Prompt = "a", "fake", strings.ReplaceAll(task.Prompt, "DIR", f.dir)
	run, err := f.Submit(t.Context(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{task}}})
	f.must(err)
	return &steerTest{fleet: f, t: t, run: run, worker: f.startWorker("w", 1)}
}

func (k *steerTest) logHas(text string) {
	k.t.Helper()
	testenv.WaitFor(k.t, "the log to have "+text, k.log, func(log string) bool { return strings.Contains(log, text) })
}

func (k *steerTest) log() string {
	data, _ := os.ReadFile(filepath.Join(k.dir, "a.log"))
	return string(data)
}

func (k *steerTest) key() store.TaskKey { return store.TaskKey{Run: k.run, Task: "a"} }

func (k *steerTest) send(text string) seen.Message {
	k.t.Helper()
	m, err := k.Send(context.Background(), seen.Message{Run: k.run, Task: "a", Text: text})
	k.must(err)
	k.worker.CheckOrders()
	k.worker.Wake()
	return m
}

// awaitWritten waits until a message was written to the agent's stdin.
func (k *steerTest) awaitWritten(m seen.Message) {
	k.t.Helper()
	testenv.WaitFor(k.t, "the message to be written", func() string {
		data, _ := os.ReadFile(filepath.Join(k.dir, "attempts-of-w", k.task(k.run, "a").RunningAttempt, "messages"))
		return string(data)
	}, func(ids string) bool { return strings.Contains(ids, m.ID) })
}

// checkDelivered fails the test unless attempt n has received a message. It returns all attempts of
// the task.
func (k *steerTest) checkDelivered(m seen.Message, n int) []store.Attempt {
	k.t.Helper()
	all, err := k.Messages(context.Background(), k.key())
	k.must(err)
	attempts := k.attempts(k.run, "a")
	for _, now := range all {
		if now.ID == m.ID && (now.Delivered.IsZero() || len(attempts) != n || now.Attempt != attempts[n-1].ID) {
			k.t.Errorf("message %+v of %d attempts, want it delivered by attempt %d", now, len(attempts), n)
		}
	}
	return attempts
}

func TestAMessageReachesARunningAgent(t *testing.T) {
	t.Parallel()
	eachSteerable(t, func(t *testing.T, like string) {
		k := newSteerTest(t, like, "")
		m := k.send("fake: say second")
		k.awaitWritten(m)
		k.write("go")
		k.until(k.run, "a", store.Complete)
		if a := k.checkDelivered(m, 1)[0]; a.Summary != "second" {
			t.Errorf("summary %q", a.Summary)
		}
	})
}

func TestAWorkerThatTakesOverDoesNotWriteAMessageTwice(t *testing.T) {
	t.Parallel()
	eachSteerable(t, func(t *testing.T, like string) {
		k := newSteerTest(t, like, "")
		m := k.send("Be kind.")
		k.awaitWritten(m)
		k.worker.stop() // has the effect of a kill: only the attempt's folder is left
		_ = k.worker.ended(t)
		k.worker = k.startWorker("w", 1, k.running(k.run)...)
		testenv.WaitFor(t, "heartbeats of the new worker", func() int64 {
			k.worker.CheckOrders()
			return k.worker.connection.beats.Load()
		}, func(n int64) bool { return n > 3 }) // after four heartbeats the worker knows that the message waits
		k.write("go")
		k.until(k.run, "a", store.Complete)
		k.checkDelivered(m, 1)
		want := map[string]int{"claude": 1, "codex": 3}[like] // Codex prints the message three times: in its response, and at the start and end of the item
		if n := strings.Count(k.log(), agent.MessageKey(m.ID)); n != want {
			t.Errorf("the message is %d times in the log:\n%s", n, k.log())
		}
	})
}

// The agent dies while a message is in its queue. The next attempt continues the conversation with
// that message.
func TestAMessageThatAKilledAgentHadQueuedIsSentAgain(t *testing.T) {
	t.Parallel()
	eachSteerable(t, func(t *testing.T, like string) {
		k := newSteerTest(t, like, "")
		m := k.send("Be kind.")
		k.awaitWritten(m)
		k.sweep()
		pid := testenv.WaitFor(t, "the agent's process id", func() int { return k.attempts(k.run, "a")[0].PID }, func(pid int) bool { return pid != 0 })
		testenv.Signal(t, pid, syscall.SIGKILL)
		k.write("go")
		testenv.WaitFor(t, "the task to be complete", func() store.Status {
			k.worker.Wake() // wake the worker: the pause before the retry is over
			return k.task(k.run, "a").Status
		}, func(s store.Status) bool { return s == store.Complete })
		attempts := k.checkDelivered(m, 2)
		if attempts[0].Class != failure.Crashed || attempts[1].Thread != attempts[0].Thread {
			t.Errorf("attempts %+v", attempts)
		}
		if like == "claude" && !strings.Contains(k.log(), `The user has said since:\nBe kind.\n`) { // Claude Code repeats its prompt in the output
			t.Errorf("the prompt lacks the message:\n%s", k.log())
		}
	})
}

func TestAnInterruptedConversationContinuesWithAMessage(t *testing.T) {
	t.Parallel()
	for like, questions := range map[string]string{"claude": "", "codex": "", "codex exec": "deny"} {
		t.Run(like, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(like, " ")
			k := newSteerTest(t, name, questions)
			k.must(k.Interrupt(t.Context(), k.key(), "ann"))
			k.worker.CheckOrders()
			k.until(k.run, "a", store.Cancelled)
			if task := k.task(k.run, "a"); task.Outcome != string(failure.Interrupted) {
				t.Errorf("outcome %q", task.Outcome)
			}
			m := k.send("Be kind.")
			k.until(k.run, "a", store.Complete)
			attempts := k.checkDelivered(m, 2)
			if attempts[0].Thread == "" || attempts[1].Thread != attempts[0].Thread || attempts[1].Summary != "Done: Be kind." {
				t.Errorf("attempts %+v", attempts)
			}
		})
	}
}

// "codex exec" accepts no messages while it runs, so the next attempt gets them.
func TestAMessageToAnAgentThatAcceptsNoneContinuesItsConversation(t *testing.T) {
	t.Parallel()
	k := newSteerTest(t, "codex", "deny")
	m := k.send("Be kind.")
	k.write("go")
	k.until(k.run, "a", store.Complete)
	attempts := k.checkDelivered(m, 2)
	if attempts[0].Summary != "first" || attempts[1].Summary != "Done: Be kind." || attempts[1].Thread != attempts[0].Thread {
		t.Errorf("attempts %+v", attempts)
	}
}

func TestAWithdrawnMessageIsRemovedFromTheQueue(t *testing.T) {
	t.Parallel()
	k := newSteerTest(t, "claude", "")
	m := k.send("Be kind.")
	k.awaitWritten(m)
	k.must(k.WithdrawMessage(t.Context(), m.ID, "ann"))
	k.worker.CheckOrders()
	k.logHas(`"cancelled":true`)
	k.write("go")
	k.until(k.run, "a", store.Complete)
	if a := k.attempts(k.run, "a"); len(a) != 1 || a[0].Summary != "first" {
		t.Errorf("attempts %+v", a)
	}
}

// An agent that cannot resume its conversation gets the task's prompt, its last result and the
// message in a new prompt.
func TestAMessageToAProgramWithoutConversationsFollowsThePromptAndTheResult(t *testing.T) {
	t.Parallel()
	prompts := t.TempDir()
	script := "cat >" + prompts + "/$GAFFER_ATTEMPT_NUMBER; echo done by $GAFFER_ATTEMPT_NUMBER"
	k := startSteerTest(t, agent.Custom{Argv: []string{"sh", "-c", script}}, plan.Task{Prompt: "Do it."})
	k.until(k.run, "a", store.Complete)
	for n, text := range []string{"Be kind.", "And brief."} {
		m := k.send(text)
		testenv.WaitFor(t, "the message to be delivered", func() []seen.Message {
			all, err := k.Messages(t.Context(), k.key())
			k.must(err)
			return all
		}, func(all []seen.Message) bool { return !all[n].Delivered.IsZero() })
		k.until(k.run, "a", store.Complete)
		k.checkDelivered(m, n+2)
	}
	got, err := os.ReadFile(filepath.Join(prompts, "3"))
	want := "Do it.\n\n---\nThis was worked on before. The result of attempt 2 was:\ndone by 2\n\n---\nThe user has said since:\nBe kind.\n\nAnd brief.\n"
	if err != nil || string(got) != want {
		t.Errorf("the prompt of the third attempt is %q, %v, want %q", got, err, want)
	}
}

func TestAnAgentThatDoesNotEndItsTurnIsStopped(t *testing.T) {
	t.Parallel()
	deaf := `echo '{"type":"system","subtype":"init","session_id":"s"}'; sleep 600`
	k := startSteerTest(t, agent.Custom{Like: "claude", Argv: []string{"sh", "-c", deaf}}, plan.Task{Prompt: "go"})
	k.logHas("init")
	k.must(k.Interrupt(t.Context(), k.key(), "ann"))
	k.worker.CheckOrders()
	k.until(k.run, "a", store.Cancelled)
	if a := k.attempts(k.run, "a")[0]; a.Class != failure.Interrupted || a.Thread != "s" {
		t.Errorf("attempt %+v", a)
	}
}
