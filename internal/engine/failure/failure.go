// Package failure names the ways in which an attempt can fail. What follows from
// each is the engine's to decide.
package failure

// Class says how an attempt failed. The empty one is a success.
type Class string

// The failure classes.
const (
	None            Class = ""
	RateLimited     Class = "rate_limited"     // waits for the reset and burns no attempt
	APIError        Class = "api_error"        // retried with backoff
	Stalled         Class = "stalled"          // retried with backoff
	Lost            Class = "lost"             // its worker or supervisor is gone; retried with backoff a limited number of times, and burns no attempt
	TimedOut        Class = "timeout"          // retried with backoff
	Crashed         Class = "failed"           // the agent ended badly; retried with backoff
	ContextOverflow Class = "context_overflow" // retried in a fresh conversation
	VerifyFailed    Class = "verify_failed"    // retried with the output of the check
	Denied          Class = "denied"           // a person must act
	Auth            Class = "auth"             // a person must act
	NotStarted      Class = "not_started"      // a program is missing or cannot be started on this machine; a person must act
	BadPlan         Class = "bad_plan"         // a person must act
	OverBudget      Class = "budget"           // a person must act
	Cancelled       Class = "cancelled"        // ended because it was asked to
	Released        Class = "released"         // handed back by its worker; queued at once and burns no attempt
)
