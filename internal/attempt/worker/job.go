package worker

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strconv"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// jobOf returns the job of an attempt, without its folders and environment.
func jobOf(a engine.Assignment, spec plan.Task) runner.Job {
	return runner.Job{
		Attempt: a.Attempt.ID, Agent: engine.AgentOf(spec), Request: requestOf(a, spec),
		Deadline: a.Attempt.Deadline, Stall: spec.StallTimeout, Verify: spec.Verify,
	}
}

// requestOf returns the agent's request. It continues the conversation of the previous
// attempt if that ran on the same worker, because conversations are stored on their
// machine.
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

// newThread returns the id of an attempt's new conversation, for agents that accept
// one. It is a UUID derived from the attempt's id.
func newThread(attempt string) string {
	sum := sha256.Sum256([]byte(attempt))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // UUID version 8: custom content
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// environ returns the variables that identify the attempt, and the task's plain
// variables.
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

// secretsOf returns the variables of a task whose values are references.
func secretsOf(spec plan.Task) map[string]secret.Value {
	refs := maps.Clone(spec.Env)
	maps.DeleteFunc(refs, func(_ string, v secret.Value) bool { return !v.IsReference() })
	return refs
}

// finishOf converts a result to the engine's report. keep says whether to include the
// agent's complete last message.
func finishOf(r runner.Result, keep bool) engine.Finish {
	f := engine.Finish{Progress: r.Progress, Ending: r.Ending, Reset: r.Reset}
	if !keep {
		f.Answer = ""
	}
	return f
}

// answerOf converts an answer of the user, or the default after a timeout.
func answerOf(q store.Question) agent.Answer {
	return agent.Answer{Text: q.Answer, Deny: q.Denied}
}
