package engine

import (
	"cmp"
	"fmt"
	"strings"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// DefaultAgent is the agent of a task that names none.
const DefaultAgent = "claude"

// AgentOf returns the agent of a task. If the task names no agent, that is
// [plan.CommandAgent] for a task with a command line, and DefaultAgent otherwise.
func AgentOf(spec plan.Task) string {
	if spec.Agent == "" && len(spec.Argv) > 0 {
		return plan.CommandAgent
	}
	return cmp.Or(spec.Agent, DefaultAgent)
}

// Prompt returns the prompt for an attempt: the task's prompt, and how the previous
// attempt failed. before is the previous attempt, or nil. The prompt of a task with a
// command line is not changed.
func Prompt(spec plan.Task, before *store.Attempt) string {
	if before == nil || before.Class == "" || len(spec.Argv) > 0 {
		return spec.Prompt
	}
	switch before.Class {
	case failure.RateLimited, failure.Released: // the attempt did not end because of its work
		return spec.Prompt
	}
	return fmt.Sprintf("%s\n\n---\nThis was tried before. Attempt %d failed (%s):\n%s\n", spec.Prompt, before.Number, before.Class, before.Summary)
}

// WithMessages returns a prompt that is followed by messages of the user.
func WithMessages(prompt string, texts []string) string {
	if len(texts) == 0 {
		return prompt
	}
	return strings.TrimRight(prompt, "\n") + "\n\n---\nThe user has said since:\n" + strings.Join(texts, "\n\n") + "\n"
}
