package engine

import (
	"cmp"
	"fmt"
	"strings"

	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// DefaultAgent is the agent of a task that has neither an agent nor a command line in the plan.
const DefaultAgent = "claude"

// AgentOf returns the agent of a task. For a task without an agent it returns [plan.CommandAgent]
// if the task has a command line, and DefaultAgent if not.
func AgentOf(spec plan.Task) string {
	if spec.Agent == "" && len(spec.Argv) > 0 {
		return plan.CommandAgent
	}
	return cmp.Or(spec.Agent, DefaultAgent)
}

// Prompt returns the prompt for an attempt: the task's prompt, and a text about how the previous
// attempt failed. The parameter previous is nil if there was no previous attempt. For a task that
// runs a command line instead of an agent, Prompt returns the task's prompt unchanged.
func Prompt(spec plan.Task, previous *store.Attempt) string {
	if previous == nil || previous.Class == "" || len(spec.Argv) > 0 {
		return spec.Prompt
	}
	switch previous.Class {
	// The previous attempt ended because of a rate limit, or because the worker gave it back. The
	// agent's work was not the cause, so the prompt does not mention that attempt.
	case failure.RateLimited, failure.Released:
		return spec.Prompt
	case failure.OverBudget:
		return fmt.Sprintf("%s\n\n---\nAttempt %d was stopped because its budget was spent. There is more now. Go on where it stopped: its files are as it left them.\n", spec.Prompt, previous.Number)
	}
	return fmt.Sprintf("%s\n\n---\nThis was tried before. Attempt %d failed (%s):\n%s\n", spec.Prompt, previous.Number, previous.Class, previous.Summary)
}

// WithMessages returns the prompt with the texts of the user's messages appended.
func WithMessages(prompt string, texts []string) string {
	if len(texts) == 0 {
		return prompt
	}
	return strings.TrimRight(prompt, "\n") + "\n\n---\nThe user has said since:\n" + strings.Join(texts, "\n\n") + "\n"
}
