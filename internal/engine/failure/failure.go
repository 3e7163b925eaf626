// Package failure defines the classes of failed attempts. The class decides whether the engine
// retries the task.
package failure

import "gaffer/fleet"

// Class says why an attempt has failed. The empty class means that it has succeeded.
type Class = fleet.Class

// The classes. Each comment says what has happened, and whether the engine retries the task.
const (
	None            Class = ""
	RateLimited     Class = "rate_limited"     // retried with another account, or when the rate limit ends; does not use up a retry
	APIError        Class = "api_error"        // the model's API has failed; retried after a delay
	Stalled         Class = "stalled"          // the agent showed no activity; retried after a delay
	Lost            Class = "lost"             // the worker or supervisor has crashed or is unreachable; retried a limited number of times; does not use up a retry
	TimedOut        Class = "timeout"          // the task's timeout has passed; retried after a delay
	Crashed         Class = "failed"           // the agent exited with an error; retried after a delay
	ContextOverflow Class = "context_overflow" // the conversation is too long for the model; retried in a new conversation
	VerifyFailed    Class = "verify_failed"    // a check of the task has failed; retried with the check's output in the prompt
	Denied          Class = "denied"           // the agent's request for a permission was denied; not retried: the user must act
	Auth            Class = "auth"             // the agent is not logged in; retried only if the agent has another account; if not, the user must act
	NotStarted      Class = "not_started"      // a program is missing or cannot start on this machine; not retried: the user must act
	BadPlan         Class = "bad_plan"         // the plan is not valid; not retried: the user must act
	OverBudget      Class = "budget"           // a budget is spent; retried only if the user's limit for a day or a month is reached; if not, the user must act
	Cancelled       Class = "cancelled"        // a user has cancelled the attempt; not retried
	Interrupted     Class = "interrupted"      // a user has interrupted the agent; not retried, but a message continues the conversation
	Released        Class = "released"         // the worker has given the attempt back; queued again at once; does not use up a retry
)
