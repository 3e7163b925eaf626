package fleet

import (
	"encoding/json"
	"time"
)

// The types of this file are what is known about one attempt: what its agent is doing,
// and how it ended. The program that runs the agent creates them, a worker sends them,
// the store keeps them, and [Attempt] shows them.

// Activity is what an agent is doing, how its worker knows that, and since when.
type Activity struct {
	State  string    `json:"state,omitempty"`  // running, waiting, retrying
	Doing  string    `json:"doing,omitempty"`  // short description
	Source string    `json:"source,omitempty"` // how the worker knows Doing
	Said   time.Time `json:"said,omitzero"`    // when the agent reported Doing
}

// Process is an agent's process and conversation, on the worker's machine.
type Process struct {
	Thread  string `json:"thread,omitempty"`   // the id of the agent's conversation
	Log     string `json:"log,omitempty"`      // path of the agent's output
	LogFrom int64  `json:"log_from,omitempty"` // offset in Log where this attempt's output starts; the attempts of a task share one log
	PID     int    `json:"pid,omitempty"`
}

// Progress is the last report about an attempt. An empty State means that there is no
// news.
type Progress struct {
	Activity
	Process
	Spent       Amount `json:"spent,omitzero"`
	Compacted   string `json:"compacted,omitempty"`   // how the conversation was last compacted
	Compactions int    `json:"compactions,omitempty"` // how often it was compacted so far
}

// Ending is how an attempt ended.
type Ending struct {
	Class   Class           `json:"class,omitempty"`
	Summary string          `json:"summary,omitempty"` // the agent's last message, or what went wrong
	Exit    int             `json:"exit,omitempty"`    // the agent's exit code; -1 if it has none
	Checks  json.RawMessage `json:"checks,omitempty"`  // a list of [Check]: the results of the verify commands
	Diff    json.RawMessage `json:"diff,omitempty"`    // a [Diff]: the changes in the task's worktree, if it has one
	Answer  string          `json:"answer,omitempty"`  // the agent's complete last message, if the task keeps it
	Denied  []string        `json:"denied,omitempty"`  // actions that were denied to the agent
}

// Class is the way in which an attempt failed. It is empty if the attempt succeeded.
type Class string

// Amount is a cost or a limit. Money is counted in millionths of a dollar, because sums
// must be exact.
type Amount struct {
	MicroUSD int64 `json:"micro_usd,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
}
