// Package failure defines the classes of failed attempts. The class decides whether the engine
// retries the task.
package failure

import "gaffer/fleet"

// Class says why an attempt has failed. The empty class means that the attempt has succeeded.
type Class = fleet.Class

// The classes. Each comment says what has happened, and whether the engine retries the task.
const (
	None Class = ""
	// RateLimited means that the account has reached a rate limit. The task is retried with another
	// account, or when the rate limit ends. This does not count against the task's limit on
	// retries.
	RateLimited Class = "rate_limited"
	// APIError means that the model's API has failed. The task is retried after a delay.
	APIError Class = "api_error"
	// Stalled means that the agent showed no activity. The task is retried after a delay.
	Stalled Class = "stalled"
	// Lost means that the worker or the agent's supervisor process has crashed or is unreachable.
	// The task is retried after a delay. Lost attempts do not count against the task's limit on
	// retries, but have a limit of their own.
	Lost Class = "lost"
	// TimedOut means that the task's timeout has passed. The task is retried after a delay.
	TimedOut Class = "timeout"
	// Crashed means that the agent exited with an error. The task is retried after a delay.
	Crashed Class = "failed"
	// ContextOverflow means that the conversation is too long for the model. The task is retried in
	// a new conversation.
	ContextOverflow Class = "context_overflow"
	// VerifyFailed means that a check of the task has failed. The task is retried with the check's
	// output in the prompt.
	VerifyFailed Class = "verify_failed"
	// Denied means that the agent's request for a permission was denied. The task is not retried,
	// because the user must act.
	Denied Class = "denied"
	// Auth means that the agent is not logged in. If the agent has another account, the task is
	// retried with that account. If not, the user must act.
	Auth Class = "auth"
	// NotStarted means that a program is missing or cannot start on this machine. The task is not
	// retried, because the user must act.
	NotStarted Class = "not_started"
	// BadPlan means that the plan is not valid. The task is not retried, because the user must act.
	BadPlan Class = "bad_plan"
	// OverBudget means that a budget is spent. If it is the user's limit for a day or a month, the
	// task is retried when that day or month ends. If it is another budget, the user must act.
	OverBudget Class = "budget"
	// Cancelled means that the attempt was cancelled. The task is not retried.
	Cancelled Class = "cancelled"
	// Interrupted means that a user has interrupted the agent. The task is not retried, but a
	// message of the user continues the conversation.
	Interrupted Class = "interrupted"
	// Released means that the worker has given the attempt back. The task is queued again at once.
	// This does not count against the task's limit on retries.
	Released Class = "released"
)
