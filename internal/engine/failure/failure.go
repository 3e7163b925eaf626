// Package failure names the ways in which an attempt can fail. The engine decides what
// follows from each.
package failure

import "gaffer/fleet"

// Class says how an attempt failed. The empty class is a success.
type Class = fleet.Class

// The failure classes.
const (
	None            Class = ""
	RateLimited     Class = "rate_limited"     // retried after the reset; does not count as an attempt
	APIError        Class = "api_error"        // retried with backoff
	Stalled         Class = "stalled"          // retried with backoff
	Lost            Class = "lost"             // its worker or supervisor is gone; retried with backoff a limited number of times; does not count as an attempt
	TimedOut        Class = "timeout"          // retried with backoff
	Crashed         Class = "failed"           // the agent exited with an error; retried with backoff
	ContextOverflow Class = "context_overflow" // retried in a fresh conversation
	VerifyFailed    Class = "verify_failed"    // retried; the prompt contains the output of the check
	Denied          Class = "denied"           // the user must act
	Auth            Class = "auth"             // the user must act
	NotStarted      Class = "not_started"      // a program is missing or cannot start on this machine; the user must act
	BadPlan         Class = "bad_plan"         // the user must act
	OverBudget      Class = "budget"           // the user must act
	Cancelled       Class = "cancelled"        // ended on request
	Interrupted     Class = "interrupted"      // ended on request; its conversation can be continued
	Released        Class = "released"         // handed back by its worker; queued at once; does not count as an attempt
)
