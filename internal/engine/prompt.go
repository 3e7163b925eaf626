package engine

import (
	"cmp"
	"fmt"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// DefaultAgent is the agent of a task that names none.
const DefaultAgent = "claude"

// AgentOf is who does a task. One that names nobody is claude's, or if it has a
// program, that program's.
func AgentOf(spec plan.Task) string {
	if spec.Agent == "" && len(spec.Argv) > 0 {
		return plan.CommandAgent
	}
	return cmp.Or(spec.Agent, DefaultAgent)
}

// Prompt is what the agent of an attempt is told: the task's prompt, and how
// the attempt before it failed, if there was one.
func Prompt(spec plan.Task, before *store.Attempt) string {
	if before == nil || before.Class == "" || len(spec.Argv) > 0 {
		return spec.Prompt
	}
	switch failure.Class(before.Class) {
	case failure.RateLimited, failure.Released: // nothing went wrong with the work
		return spec.Prompt
	}
	return fmt.Sprintf("%s\n\n---\nThis was tried before. Attempt %d failed (%s):\n%s\n", spec.Prompt, before.Number, before.Class, before.Summary)
}
