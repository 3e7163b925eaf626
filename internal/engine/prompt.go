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

// AgentOf returns the agent of a task. A task without one uses [plan.CommandAgent] if
// it has a command line, and DefaultAgent otherwise.
func AgentOf(spec plan.Task) string {
	if spec.Agent == "" && len(spec.Argv) > 0 {
		return plan.CommandAgent
	}
	return cmp.Or(spec.Agent, DefaultAgent)
}

// Prompt returns the prompt for an attempt: the task's prompt, and how the previous
// attempt failed, if there was one. A task with a command line gets its prompt
// unchanged.
func Prompt(spec plan.Task, before *store.Attempt) string {
	if before == nil || before.Class == "" || len(spec.Argv) > 0 {
		return spec.Prompt
	}
	switch before.Class {
	case failure.RateLimited, failure.Released: // nothing was wrong with the work
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
