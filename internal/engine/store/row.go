package store

import (
	"encoding/json"
	"time"
)

// Status is where a run, a task or an attempt is.
type Status string

// The statuses. A run is never Queued. An attempt is Running until it ends.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Complete  Status = "complete"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether nothing may follow.
func (s Status) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Amount is what something costs or may cost. Money is counted in millionths of
// a dollar, because sums of it must come out even.
type Amount struct {
	MicroUSD int64 `json:"micro_usd,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
}

// Run is one submitted plan.
type Run struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Status     Status          `json:"status"`
	Source     string          `json:"source,omitempty"`
	SourceFile string          `json:"source_file,omitempty"`
	Project    string          `json:"project,omitempty"` // the folder it works in, of one that is bound to a machine
	Base       string          `json:"base,omitempty"`    // the commit that its worktrees start from
	Place      string          `json:"place,omitempty"`   // the only worker that may take its tasks; empty for any
	Plan       json.RawMessage `json:"plan,omitempty"`    // as it was submitted
	Parallel   int             `json:"parallel,omitempty"`
	OnFail     OnFail          `json:"on_fail,omitempty"`
	Budget     Amount          `json:"budget,omitzero"`
	Reserved   Amount          `json:"reserved,omitzero"` // for attempts that run
	Spent      Amount          `json:"spent,omitzero"`
	Worked     time.Duration   `json:"worked,omitempty"`    // by attempts that have ended, without what they waited
	Waited     time.Duration   `json:"waited,omitempty"`    // for a person, by attempts that have ended
	Waves      []WaveCount     `json:"waves,omitempty"`     // of tasks that are not final, the lowest first
	Open       int             `json:"open"`                // tasks that are not final
	Ready      int             `json:"ready"`               // tasks that may be claimed
	Active     int             `json:"active"`              // tasks that run
	Failed     int             `json:"failed"`              // tasks that failed
	Stopping   string          `json:"stopping,omitempty"`  // why no task starts any more
	Conducted  bool            `json:"conducted,omitempty"` // a conductor adds tasks to it, and says when it ends
	Ordered    bool            `json:"ordered,omitempty"`   // its tasks are done in their order, one that is tried again before the next
	Created    time.Time       `json:"created"`
	Ended      time.Time       `json:"ended,omitzero"`
}

// OnFail is what a failed task means for the rest of its run.
type OnFail string

// The ways to go on. The empty one lets the rest run.
const (
	StopOnFail OnFail = "stop" // nothing more starts
	EndOnFail  OnFail = "end"  // and what runs is ended
)

// WaveCount is how many tasks of a wave are not final.
type WaveCount struct {
	Wave int `json:"wave"`
	Open int `json:"open"`
}

// TaskKey names a task.
type TaskKey struct {
	Run  string `json:"run"`
	Task string `json:"task"`
}

// Task is one step of a run.
type Task struct {
	TaskKey
	Seq       int64           `json:"seq"` // the order of submission, over all runs
	Name      string          `json:"name,omitempty"`
	Spec      json.RawMessage `json:"spec,omitempty"` // the plan's words, for the worker
	Status    Status          `json:"status"`
	Wave      int             `json:"wave,omitempty"`
	Needs     []string        `json:"needs,omitempty"`
	Blockers  int             `json:"blockers"`            // needs that are not complete
	Ready     bool            `json:"ready"`               // may be claimed; only a Queued task is
	NotBefore time.Time       `json:"not_before,omitzero"` // must not become Ready earlier
	Priority  int             `json:"priority,omitempty"`
	Labels    string          `json:"labels,omitempty"` // sorted, separated by commas
	Lane      string          `json:"lane,omitempty"`   // the agent account it draws on
	Retries   int             `json:"retries"`
	Attempts  int             `json:"attempts"`       // that count against Retries
	Tries     int             `json:"tries"`          // all of them
	Lost      int             `json:"lost,omitempty"` // attempts that were lost since the task was submitted or last retried by a user
	Attempt   string          `json:"attempt,omitempty"`
	Last      string          `json:"last,omitempty"`   // the attempt that ended last
	Fresh     bool            `json:"fresh,omitempty"`  // the next attempt begins a new conversation
	Reserve   Amount          `json:"reserve,omitzero"` // set aside while it runs
	Timeout   time.Duration   `json:"timeout,omitempty"`
	Outcome   string          `json:"outcome,omitempty"` // the failure class, or a person's reason
}

// Attempt is one try at a task by one worker.
type Attempt struct {
	ID       string    `json:"id"`
	Run      string    `json:"run"`
	Task     string    `json:"task"`
	Number   int       `json:"number"` // from 1
	Token    int64     `json:"token"`  // fencing: whoever has another one is late
	Worker   string    `json:"worker"`
	After    string    `json:"after,omitempty"` // the attempt that its worker ended in the same request, if it did
	Status   Status    `json:"status"`
	Lease    time.Time `json:"lease"`             // given up for lost after this
	Deadline time.Time `json:"deadline,omitzero"` // ended after this, unless it waits for a person then
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"`
	Stop     string    `json:"stop,omitempty"` // why the worker is to end it
	Class    string    `json:"class,omitempty"`
	Summary  string    `json:"summary,omitempty"`
	Thread   string    `json:"thread,omitempty"` // the agent's conversation
	Spent    Amount    `json:"spent,omitzero"`
	Carried  Amount    `json:"carried,omitzero"`   // spent in the conversation before
	Exit     int       `json:"exit,omitempty"`     // the agent's exit code; -1 if there was none
	Log      string    `json:"log,omitempty"`      // where its output is, on the worker's machine
	LogFrom  int64     `json:"log_from,omitempty"` // where in Log its output begins; attempts share a file
	PID      int       `json:"pid,omitempty"`      // of the agent, on the worker's machine

	// What the agent does, as its worker has last said.
	State  string    `json:"state,omitempty"`  // running, waiting, retrying
	Doing  string    `json:"doing,omitempty"`  // in a few words
	Source string    `json:"source,omitempty"` // how the worker knows
	Said   time.Time `json:"said,omitzero"`

	// How long the agent has waited for answers of a person, without the wait
	// that goes on, and since when that does. The deadline is put off by each wait
	// when it ends.
	Waited       time.Duration `json:"waited,omitempty"`
	WaitingSince time.Time     `json:"waiting_since,omitzero"` // zero if it works

	Checks json.RawMessage `json:"checks,omitempty"` // how the verify commands went
	Diff   json.RawMessage `json:"diff,omitempty"`   // what it had changed when it ended
	Answer string          `json:"answer,omitempty"` // all that the agent said last, of a task that keeps it
	Denied []string        `json:"denied,omitempty"` // what was refused to the agent
}

// WaitedBy is how long the agent has waited for a person until now. An attempt
// that has ended waits no more.
func (a Attempt) WaitedBy(now time.Time) time.Duration {
	if a.WaitingSince.IsZero() {
		return a.Waited
	}
	return a.Waited + max(now.Sub(a.WaitingSince), 0)
}

// Key returns the task that a is a try at.
func (a Attempt) Key() TaskKey { return TaskKey{a.Run, a.Task} }

// Worker is a program that claims tasks. Whether it is online is computed from
// Seen when it is read, never stored.
type Worker struct {
	ID     string    `json:"id"`
	Name   string    `json:"name,omitempty"`
	Labels string    `json:"labels,omitempty"`
	Slots  int       `json:"slots,omitempty"`
	Seen   time.Time `json:"seen"` // by the clock of whoever was told

	// What it has last said of itself.
	Status  string          `json:"status,omitempty"` // of its agent, in its own word
	Said    time.Time       `json:"said,omitzero"`    // when it said so
	Task    string          `json:"task,omitempty"`   // that it works on
	Meta    json.RawMessage `json:"meta,omitempty"`
	Version string          `json:"version,omitempty"`

	Owner    string    `json:"owner,omitempty"`    // the id of the token that registered it, and may speak for it
	Holder   string    `json:"holder,omitempty"`   // the name of that token, if it is a worker's: others of that name and role may speak for it too
	Channels []string  `json:"channels,omitempty"` // that it takes tasks from
	Holds    []string  `json:"holds,omitempty"`    // attempts that were given to it, of one that does not name them when it beats; some may have ended
	Created  time.Time `json:"created,omitzero"`
	Updated  time.Time `json:"updated,omitzero"` // when anything but a time changed
	Left     time.Time `json:"left,omitzero"`    // when the only run that it works on ended
}

// ItemKey names an item.
type ItemKey struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Item is a small row of any kind, whose meaning is known to those who put it.
type Item struct {
	ItemKey
	Parent string          `json:"parent,omitempty"` // lists are of a kind and a parent
	Seq    int64           `json:"seq"`              // the place in the list
	Data   json.RawMessage `json:"data,omitempty"`
	Made   time.Time       `json:"made"`
}

// Question is something an agent asks a person. One that belongs to no task has
// neither run nor attempt, and as its task the name of who asks.
type Question struct {
	ID       string          `json:"id"`
	Attempt  string          `json:"attempt"`
	Run      string          `json:"run"`
	Task     string          `json:"task"`
	Text     string          `json:"text"`
	Options  json.RawMessage `json:"options,omitempty"`
	Asker    string          `json:"asker,omitempty"` // of one that belongs to no task: whose it is
	Asked    time.Time       `json:"asked"`
	Expires  time.Time       `json:"expires,omitzero"`
	Default  string          `json:"default,omitempty"`
	Answer   string          `json:"answer,omitempty"`
	Denied   bool            `json:"denied,omitempty"`
	By       string          `json:"by,omitempty"`
	Answered time.Time       `json:"answered,omitzero"`
	Closed   bool            `json:"closed,omitempty"` // answered, or nobody waits any more
}

// Aside reports whether it belongs to no task.
func (q Question) Aside() bool { return q.Run == "" }

// Lane is an agent account. While it is paused none of its tasks start.
type Lane struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
}

// Promise is the answer that was given to a request with an idempotency key, to
// be given again.
type Promise struct {
	Key    string          `json:"key"` // with the operation's name before it
	Answer json.RawMessage `json:"answer"`
	Made   time.Time       `json:"made"`
}

// Cursor is how far a reader of the events has come.
type Cursor struct {
	Name string `json:"name"`
	Seq  int64  `json:"seq"`
}

// Event is one change. Row and Tried are what the changed rows were afterwards,
// so that the events of a store replay to what it holds, as long as nothing was
// taken away; the Plan of a run and the Spec of a task are in the first event of
// each alone.
type Event struct {
	Seq     int64           `json:"seq"` // from 1; given by the store without gaps, and never twice
	At      time.Time       `json:"at"`
	Kind    string          `json:"kind"` // such as task.running
	Run     string          `json:"run,omitempty"`
	Task    string          `json:"task,omitempty"`
	Attempt string          `json:"attempt,omitempty"`
	From    string          `json:"from,omitempty"`
	To      string          `json:"to,omitempty"`
	Who     string          `json:"who,omitempty"`
	Why     string          `json:"why,omitempty"`
	Row     json.RawMessage `json:"row,omitempty"`
	Tried   json.RawMessage `json:"tried,omitempty"` // the attempt that began or ended with it
}
