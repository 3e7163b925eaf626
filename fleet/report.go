package fleet

import (
	"encoding/json"
	"time"
)

// The types below describe what an agent is doing, and how an attempt ended. Workers report them to
// a server, databases store them, and some are embedded in [Attempt].

// Activity says what an agent is doing, when it reported that, and how its worker knows that.
type Activity struct {
	State  string    `json:"state,omitempty"`  // running, waiting or retrying
	Doing  string    `json:"doing,omitempty"`  // short description of the agent's current step
	Source string    `json:"source,omitempty"` // how the worker knows Doing, such as "output" for the agent's output
	Said   time.Time `json:"said,omitzero"`    // when the agent reported Doing
}

// AgentActivity says what an agent is doing. It is only for agents that gaffer did not start, such
// as those that a user has started by hand.
type AgentActivity struct {
	Doing   string  `json:"doing,omitempty"`    // the agent's last tool call or message, on one line
	CostUSD float64 `json:"cost_usd,omitempty"` // what the agent's conversation has cost so far
}

// Process describes the process, the conversation and the log file of an agent on the worker's
// machine.
type Process struct {
	Thread string `json:"thread,omitempty"` // id of the agent's conversation
	Log    string `json:"log,omitempty"`    // path of the file with the agent's output
	// LogFrom is the byte offset in Log at which the output of this attempt starts. All attempts of
	// a task share one log file.
	LogFrom int64  `json:"log_from,omitempty"`
	PID     int    `json:"pid,omitempty"`
	Sandbox string `json:"sandbox,omitempty"` // program (the agent program's own sandbox), bubblewrap or container; empty if none
}

// Context says how much of the model's context window an agent's conversation uses. It is zero if
// the agent program does not report that.
type Context struct {
	Tokens int64 `json:"tokens,omitempty"` // number of tokens of the model's last request and its answer
	Window int64 `json:"window,omitempty"` // size of the context window, in tokens; 0 if unknown
}

// Progress is the latest report about a running attempt. A report with an empty State means that
// nothing has changed since the previous report.
type Progress struct {
	Activity
	Process
	Spent   Amount  `json:"spent,omitzero"`
	Context Context `json:"context,omitzero"`
	// Compacted is a sentence that says how the agent last shortened the conversation to make it
	// fit into the context window.
	Compacted   string `json:"compacted,omitempty"`
	Compactions int    `json:"compactions,omitempty"` // how often the agent has shortened the conversation
}

// Ending says how an attempt ended.
type Ending struct {
	Class   Class           `json:"class,omitempty"`
	Summary string          `json:"summary,omitempty"` // the agent's last message, or what went wrong
	Exit    int             `json:"exit,omitempty"`    // exit code of the agent's process; -1 if there is none
	Checks  json.RawMessage `json:"checks,omitempty"`  // results of the task's verify commands, as a JSON array of [Check]
	Diff    json.RawMessage `json:"diff,omitempty"`    // changes in the worktree, as the JSON of a [Diff]; empty without a worktree
	Answer  string          `json:"answer,omitempty"`  // the agent's whole last message; empty if gaffer does not need it later
	Denied  []string        `json:"denied,omitempty"`  // actions that the agent was not allowed to do
}

// Class says how an attempt failed, such as timeout or rate_limited. It is empty if the attempt
// succeeded.
type Class string

// Amount is a cost, or a limit for a cost. Money is an integer number of millionths of a dollar, so
// that sums are exact.
type Amount struct {
	MicroUSD int64 `json:"micro_usd,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"` // input and output tokens

	// Input and Output add up to Tokens, and Cached is a part of Input. All three are 0 if they are
	// unknown, or if the amount is a limit.
	Input  int64 `json:"input,omitempty"`  // tokens that the model read, including those from its cache
	Output int64 `json:"output,omitempty"` // tokens that the model wrote
	Cached int64 `json:"cached,omitempty"` // the part of Input that came from the model's cache
}

// Add returns the sum of two amounts.
func (a Amount) Add(b Amount) Amount {
	return Amount{a.MicroUSD + b.MicroUSD, a.Tokens + b.Tokens, a.Input + b.Input, a.Output + b.Output, a.Cached + b.Cached}
}
