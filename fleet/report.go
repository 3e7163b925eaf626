package fleet

import (
	"encoding/json"
	"time"
)

// The types below describe one attempt: what its agent is doing, and how it ended. The program that
// runs the agent creates them, a worker sends them, the store keeps them, and [Attempt] shows them.

// Activity says what an agent is doing, since when, and how its worker knows that.
type Activity struct {
	State  string    `json:"state,omitempty"`  // running, waiting or retrying
	Doing  string    `json:"doing,omitempty"`  // short description of the agent's current step
	Source string    `json:"source,omitempty"` // how the worker knows Doing: "output" means from the agent's output
	Said   time.Time `json:"said,omitzero"`    // when the agent reported Doing
}

// AgentActivity says what an agent is doing. It is only for agents that gaffer did not start, such as
// those that a user has started by hand. The values change too often to store an event for each
// change.
type AgentActivity struct {
	Doing   string  `json:"doing,omitempty"`    // the agent's last tool call or message, on one line
	CostUSD float64 `json:"cost_usd,omitempty"` // what the agent's session has cost so far
}

// Process is an agent's process and conversation, on the worker's machine.
type Process struct {
	Thread  string `json:"thread,omitempty"`   // id of the agent's conversation
	Log     string `json:"log,omitempty"`      // path of the file with the agent's output
	LogFrom int64  `json:"log_from,omitempty"` // offset in Log, in bytes, at which the output of this attempt starts; all attempts of a task share one file
	PID     int    `json:"pid,omitempty"`
	Sandbox string `json:"sandbox,omitempty"` // the sandbox that the agent runs in: program, bubblewrap or container; empty if none
}

// Context says how much of its context an agent's conversation uses. It is zero if the agent program
// does not report it.
type Context struct {
	Tokens int64 `json:"tokens,omitempty"` // number of tokens of the model's last request and its answer
	Window int64 `json:"window,omitempty"` // how many tokens fit into the context; 0 if unknown
}

// Progress is the last report about a running attempt. A report with an empty State is ignored: it
// means that nothing has changed since the previous report.
type Progress struct {
	Activity
	Process
	Spent       Amount  `json:"spent,omitzero"`
	Context     Context `json:"context,omitzero"`
	Compacted   string  `json:"compacted,omitempty"`   // how the agent shortened the conversation the last time, so that it fits into the context
	Compactions int     `json:"compactions,omitempty"` // how often the agent has shortened the conversation
}

// Ending says how an attempt ended.
type Ending struct {
	Class   Class           `json:"class,omitempty"`
	Summary string          `json:"summary,omitempty"` // the agent's last message, or what went wrong
	Exit    int             `json:"exit,omitempty"`    // the agent's exit code; -1 if it has none
	Checks  json.RawMessage `json:"checks,omitempty"`  // a list of [Check]: the results of the verify commands
	Diff    json.RawMessage `json:"diff,omitempty"`    // a [Diff]: the changes in the task's worktree; empty without a worktree
	Answer  string          `json:"answer,omitempty"`  // the agent's complete last message; empty if the task does not keep it
	Denied  []string        `json:"denied,omitempty"`  // actions that the agent was not allowed to do
}

// Class says in which way an attempt failed. It is empty if the attempt succeeded.
type Class string

// Amount is a cost or a limit. Money is in millionths of a dollar, so that sums are exact.
type Amount struct {
	MicroUSD int64 `json:"micro_usd,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"` // tokens that were read and written

	// Input, Output and Cached are the parts of Tokens. They are 0 if the parts are unknown, and if
	// the amount is a limit.
	Input  int64 `json:"input,omitempty"`  // tokens that the model read, with those from its cache
	Output int64 `json:"output,omitempty"` // tokens that the model wrote
	Cached int64 `json:"cached,omitempty"` // the part of Input that came from the model's cache
}

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount {
	return Amount{a.MicroUSD + b.MicroUSD, a.Tokens + b.Tokens, a.Input + b.Input, a.Output + b.Output, a.Cached + b.Cached}
}
