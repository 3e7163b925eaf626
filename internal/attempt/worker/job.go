package worker

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// jobOf says what an attempt is to do.
func jobOf(a engine.Assignment, spec plan.Task) runner.Job {
	return runner.Job{
		Attempt: a.Attempt.ID, Agent: engine.AgentOf(spec), Request: requestOf(a, spec),
		Deadline: a.Attempt.Deadline, Stall: spec.StallTimeout, Verify: spec.Verify,
	}
}

// requestOf asks the agent for the task, in the conversation of the attempt
// before it if that can be gone on with: conversations stay on their machine.
func requestOf(a engine.Assignment, spec plan.Task) agent.Request {
	r := agent.Request{
		Prompt: engine.Prompt(spec, a.Before), Model: spec.Model, Argv: spec.Argv, Policy: agent.Policy(spec.Questions),
		Thread: newThread(a.Attempt.ID), Begin: true,
	}
	if before := a.Before; before != nil && before.Thread != "" && before.Worker == a.Attempt.Worker && !a.Task.Fresh {
		r.Thread, r.Begin = before.Thread, false
		r.Used = agent.Usage{Input: a.Attempt.Carried.Tokens, USD: float64(a.Attempt.Carried.MicroUSD) / 1e6}
	}
	return r
}

// newThread is the id of the conversation that an attempt begins, where the
// agent lets us choose: a UUID, always the same for an attempt.
func newThread(attempt string) string {
	sum := sha256.Sum256([]byte(attempt))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // of version 8: as its maker likes
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// environ tells an agent which attempt it is.
func environ(a engine.Assignment, spec plan.Task) []string {
	env := []string{
		"GAFFER_RUN=" + a.Task.Run, "GAFFER_TASK=" + a.Task.Task,
		"GAFFER_ATTEMPT_NUMBER=" + strconv.Itoa(a.Attempt.Number),
	}
	if d := spec.Dispatch; d != nil {
		env = append(env, "GAFFER_BEAD="+d.Bead, "GAFFER_LEDGER="+d.Ledger)
	}
	for name, value := range spec.Env {
		if !value.IsReference() {
			env = append(env, name+"="+value.Text)
		}
	}
	return env
}

// secretsOf are the variables of a task whose values are elsewhere.
func secretsOf(spec plan.Task) map[string]secret.Value {
	refs := maps.Clone(spec.Env)
	maps.DeleteFunc(refs, func(_ string, v secret.Value) bool { return !v.IsReference() })
	return refs
}

// finishOf is the report of a result. All that was said last is in it if keep
// says so.
func finishOf(r runner.Result, keep bool) engine.Finish {
	f := engine.Finish{
		Class: r.Class, Summary: r.Summary, Thread: r.Thread, Exit: r.Exit, Spent: amountOf(r.Usage), Reset: r.Reset, Denied: r.Denied,
		Compacted: r.Compacted, Compactions: r.Compactions, LogFrom: r.LogFrom,
	}
	if keep {
		f.Answer = r.Answer
	}
	if len(r.Checks) > 0 {
		f.Checks, _ = json.Marshal(r.Checks) // texts and numbers can always be JSON
	}
	return f
}

// amountOf is what an agent says that it has used, within what can be added up.
func amountOf(u agent.Usage) store.Amount {
	const most = 1e15
	bound := func(n int64) int64 { return min(max(n, 0), most) }
	return store.Amount{MicroUSD: int64(min(max(math.Round(u.USD*1e6), 0), most)), Tokens: bound(u.Input) + bound(u.Output)}
}

// answerOf is what a person, or the time, has answered.
func answerOf(q store.Question) agent.Answer {
	return agent.Answer{Text: q.Answer, Deny: q.Denied}
}
