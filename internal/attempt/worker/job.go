package worker

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// jobOf returns the job of an attempt, which tells package runner how to run it. The caller must
// set the job's folders and environment. c says which conversation the agent continues.
func jobOf(a engine.Assignment, spec plan.Task, c conversation) runner.Job {
	name, _ := engine.AgentOfAttempt(spec, a.Attempt.Fallback)
	job := runner.Job{
		Attempt: a.Attempt.ID, Agent: name, Request: requestOf(a, spec, c),
		Deadline: a.Attempt.Deadline, Stall: spec.StallTimeout, Verify: spec.Verify, Limit: a.Attempt.Limit,
	}
	for _, m := range a.Messages {
		job.Messages = append(job.Messages, m.ID)
	}
	return job
}

// setSandbox tells gaffer's adapter for the agent program how the program is sandboxed. There are
// three cases:
//   - The program runs inside a sandbox of gaffer, and cannot make a sandbox of its own in there:
//     setSandbox sets [agent.InAnOuter].
//   - The program must make its own sandbox: setSandbox sets [agent.OwnSandbox] or, without
//     network, [agent.OwnOffline].
//   - Otherwise, for example if the program can make its own sandbox inside that of gaffer,
//     setSandbox sets nothing. The adapter then launches the program as if gaffer had no sandbox.
func setSandbox(r *agent.Request, s sandbox.Spec, work string) {
	switch {
	case s.Outside() && s.Nested:
	case s.Outside():
		r.Sandbox = agent.InAnOuter
	case s.Mode == plan.SandboxProgram:
		r.Sandbox, r.Writable = agent.OwnSandbox, append(sandbox.Writable(work), s.Write...)
		if s.Network == plan.NetworkOff {
			r.Sandbox = agent.OwnOffline
		}
	}
}

// conversation says how the agent of an attempt learns what happened in the previous attempt.
type conversation struct {
	thread string // id of the conversation to continue; empty means a new one
	// handover tells an agent that begins a new conversation what the previous agent has done. It
	// may be empty.
	handover string
}

// earlierThread returns the id of the previous attempt's conversation, or "" if this attempt cannot
// continue it. To continue it, the same worker must have run the previous attempt with the same
// agent, and nobody must have requested a new conversation. It must be the same worker because
// conversations are stored on the machine on which they took place.
func earlierThread(a engine.Assignment, spec plan.Task) string {
	before := a.Before
	if before == nil || before.Worker != a.Attempt.Worker || a.Task.NewConversation || !sameAgent(a, spec) {
		return ""
	}
	return before.Thread
}

// sameAgent reports whether the previous attempt, a.Before, had the same agent as this one. The
// caller must make sure that a.Before is not nil.
func sameAgent(a engine.Assignment, spec plan.Task) bool {
	was, _ := engine.AgentOfAttempt(spec, a.Before.Fallback)
	is, _ := engine.AgentOfAttempt(spec, a.Attempt.Fallback)
	return was == is
}

// requestOf returns the request that starts the agent. The request contains the model, the prompt,
// the rules for the agent's permissions, and the conversation, which the agent continues, begins,
// or copies from another task.
func requestOf(a engine.Assignment, spec plan.Task, c conversation) agent.Request {
	_, model := engine.AgentOfAttempt(spec, a.Attempt.Fallback)
	r := agent.Request{
		Model: model, Argv: spec.Argv, Policy: agent.Policy(spec.Questions), Permissions: permissionsOf(a, spec),
		Thread: newThread(a.Attempt.ID), Begin: true,
	}
	before, fork := a.Before, spec.Fork
	continues := c.thread != ""
	if continues {
		r.Thread, r.Begin = c.thread, false
		r.Used = usedEarlier(a.Attempt.SpentEarlier)
	}
	if fork != nil && fork.Thread != "" && a.Attempt.Fallback == "" &&
		(continues || (before == nil || before.Thread == "") && !a.Task.NewConversation) {
		// The agent already knows the copied conversation. So its prompt is only the user's next
		// message.
		spec.Prompt = fork.Prompt
		r.Used.Input, r.Used.Output, r.Used.Cached = r.Used.Input+fork.Input, r.Used.Output+fork.Output, r.Used.Cached+fork.Cached
		if !continues {
			r.Fork = &agent.Fork{Thread: fork.Thread, Point: fork.Point}
		}
	}
	r.Prompt = engine.Prompt(spec, before) + c.handover
	r.Prompt = withMessages(r, a)
	return r
}

// permissionsOf returns the permission rules for an attempt: the rules of the task, and the rules
// that users have made by answering questions before the attempt started.
func permissionsOf(a engine.Assignment, spec plan.Task) agent.Permissions {
	p := agent.Permissions{
		Allow: slices.Clone(spec.Permissions.Allow), Deny: slices.Clone(spec.Permissions.Deny), Ask: slices.Clone(spec.Permissions.Ask),
	}
	for _, g := range a.Grants {
		if g.Deny {
			p.Deny = append(p.Deny, g.Rule)
		} else {
			p.Allow = append(p.Allow, g.Rule)
		}
	}
	return p
}

// usedEarlier returns what the earlier attempts in the same conversation have used. All tokens that
// are not output count as input.
func usedEarlier(a fleet.Amount) agent.Usage {
	return agent.Usage{Input: a.Tokens - a.Output, Output: a.Output, Cached: a.Cached, USD: float64(a.MicroUSD) / 1e6}
}

// withMessages returns the prompt of the request r with the user's messages. If there are no
// messages, it returns the prompt unchanged. Otherwise there are three cases:
//   - The attempt continues a conversation, and the previous attempt succeeded, was interrupted or
//     was cancelled: the result consists of the messages alone.
//   - The attempt continues a conversation after any other failure: the messages are appended to
//     the prompt.
//   - The attempt begins a conversation: all messages are appended to the prompt, also those that
//     earlier attempts have received. If the previous attempt succeeded, its result is inserted
//     before the messages.
func withMessages(r agent.Request, a engine.Assignment) string {
	var parts []string
	add := func(list []fleet.Message) {
		for _, m := range list {
			parts = append(parts, m.Text)
		}
	}
	if !r.Begin {
		switch add(a.Messages); {
		case len(parts) == 0:
			return r.Prompt
		case a.Before.Class == failure.None || a.Before.Class == failure.Interrupted || a.Before.Class == failure.Cancelled:
			return strings.Join(parts, "\n\n")
		}
	} else {
		add(a.Earlier)
		add(a.Messages)
		if len(parts) == 0 {
			return r.Prompt
		}
		if before := a.Before; before != nil && before.Class == failure.None && before.Summary != "" {
			r.Prompt += fmt.Sprintf("\n\n---\nThis was worked on before. The result of attempt %d was:\n%s\n", before.Number, before.Summary)
		}
	}
	return engine.WithMessages(r.Prompt, parts)
}

// newThread returns the id for an attempt's new conversation, for agents that let the caller choose
// the id. It is a UUID derived from the attempt's id.
func newThread(attempt string) string {
	return agent.UUID(attempt)
}

// environ returns two kinds of environment variables: those that identify the attempt, and those of
// the task whose values are not references to secrets.
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

// secretsOf returns the environment variables of a task whose values are references to secrets.
func secretsOf(spec plan.Task) map[string]secret.Value {
	refs := maps.Clone(spec.Env)
	maps.DeleteFunc(refs, func(_ string, v secret.Value) bool { return !v.IsReference() })
	return refs
}

// finishOf converts the result of an attempt to the report for the engine. The parameter
// withMessage says whether the report includes the agent's complete last message.
func finishOf(r runner.Result, withMessage bool) engine.Finish {
	f := engine.Finish{Progress: r.Progress, Ending: r.Ending, Reset: r.Reset, Delivered: r.Delivered}
	if !withMessage {
		f.Answer = ""
	}
	return f
}

// answerOf returns what the agent gets as the answer to its question q. That is the user's answer
// or, if the user did not answer in time, the default answer.
func answerOf(q store.Question) agent.Answer {
	return agent.Answer{Text: q.Answer, Deny: q.Denied, Rule: q.Rule}
}
