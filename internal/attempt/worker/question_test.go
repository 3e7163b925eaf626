package worker_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/testkit/testenv"
)

// askingAgent is the script of an agent that asks for permission to use a tool, and withdraws the
// question when a file appears.
const askingAgent = `
echo '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t1"}}'
while [ ! -e %[1]s/withdraw ]; do sleep 0.01; done
echo '{"type":"control_cancel_request","request_id":"r1"}'
while [ ! -e %[1]s/end ]; do sleep 0.01; done
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
`

// doubt submits a run with one task, whose agent asks a question. It returns the run's id.
func (f *fleet) doubt() (run string) {
	f.agents = func(name string) (agent.Agent, error) {
		return agent.New(name, map[string]agent.Custom{"doubter": {Like: "claude", Argv: []string{"sh", "-c", fmt.Sprintf(askingAgent, f.dir)}}})
	}
	run, err := f.Submit(context.Background(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "doubter", Prompt: "go"}}}})
	f.must(err)
	return run
}

func (f *fleet) write(name string) {
	f.t.Helper()
	f.must(os.WriteFile(filepath.Join(f.dir, name), nil, 0o600))
}

// question waits until the store has one question that is open, or closed if open is false. It
// returns the question.
func (f *fleet) question(open bool) store.Question {
	f.t.Helper()
	return testenv.WaitFor(f.t, fmt.Sprintf("one question that is open: %v", open), func() (all []store.Question) {
		f.must(f.store.Read(context.Background(), func(r store.Reader) (err error) {
			all, err = r.Questions(false)
			return err
		}))
		return all
	}, func(all []store.Question) bool { return len(all) == 1 && all[0].Closed != open })[0]
}

func TestAQuestionThatTheAgentWithdrawsIsClosed(t *testing.T) {
	f := newFleet(t, time.Minute)
	run := f.doubt()
	f.startWorker("w", 1)
	q := f.question(true)
	f.write("withdraw")
	f.question(false)
	if err := f.Answer(t.Context(), engine.Answer{Question: q.ID, Text: "yes"}); err == nil {
		t.Error("an answer that reaches nobody was taken")
	}
	f.write("end")
	f.until(run, "a", store.Complete)
}

// silentAgent is the script of an agent that prints nothing until a file appears.
const silentAgent = `
while [ ! -e %[1]s/end ]; do sleep 0.01; done
echo '{"type":"result","subtype":"success","is_error":false,"result":"done"}'
`

func TestAnAgentIsNeitherTimedOutNorStalledWhileItsToolAsksTheUser(t *testing.T) {
	testenv.Integration(t)
	f := newFleet(t, time.Minute)
	f.agents = func(name string) (agent.Agent, error) {
		return agent.New(name, map[string]agent.Custom{"patient": {Like: "claude", Argv: []string{"sh", "-c", fmt.Sprintf(silentAgent, f.dir)}}})
	}
	const limit = 4 * time.Second
	run, err := f.Submit(t.Context(), engine.Submission{Plan: plan.Plan{Tasks: []plan.Task{{ID: "a", Agent: "patient", Prompt: "go", Limits: plan.Limits{Timeout: limit, StallTimeout: limit}}}}})
	f.must(err)
	h := f.startWorker("w", 1)
	f.until(run, "a", store.Running)
	held := f.running(run)[0]
	q, err := f.AskStandalone(t.Context(), engine.StandaloneQuestion{From: run + "/a", Text: "may I?", Within: time.Hour, Attempt: held.Attempt.ID})
	f.must(err)
	h.CheckOrders()
	testenv.Wait(t, "the limit has passed", func() error {
		if left := limit + time.Second - time.Since(held.Attempt.Started); left > 0 {
			return fmt.Errorf("%s left", left)
		}
		return nil
	})
	f.until(run, "a", store.Running)
	f.must(f.Answer(t.Context(), engine.Answer{Question: q, Text: "yes"}))
	f.write("end")
	f.until(run, "a", store.Complete)
}

func TestAQuestionThatIsWithdrawnWhileTheWorkerIsAwayIsClosed(t *testing.T) {
	f := newFleet(t, time.Minute)
	run := f.doubt()
	h := f.startWorker("w", 1)
	f.question(true)
	h.stop()
	_ = h.ended(t)
	f.write("withdraw")
	f.startWorker("w", 1, f.running(run)...)
	f.question(false)
	f.write("end")
	f.until(run, "a", store.Complete)
}
