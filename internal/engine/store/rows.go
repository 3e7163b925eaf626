package store

import (
	"encoding/json"
	"time"

	"gaffer/fleet"
)

// Status is the state of a run, a task or an attempt.
type Status string

// The statuses. A run is never Queued. An attempt is Running from its start until it ends.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Complete  Status = "complete"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether the status is an end state.
func (s Status) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Amount is a cost, or a limit of a cost.
type Amount = fleet.Amount

// Run is one submitted plan.
type Run struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Status     Status          `json:"status"`
	Source     string          `json:"source,omitempty"`
	SourceFile string          `json:"source_file,omitempty"`
	Project    string          `json:"project,omitempty"` // the folder that the run works in, if it is bound to a machine
	Base       string          `json:"base,omitempty"`    // the commit that the run's worktrees start from
	OnlyWorker string          `json:"place,omitempty"`   // the only worker that may claim tasks of the run; empty allows any
	Plan       json.RawMessage `json:"plan,omitempty"`    // the submitted plan
	Parallel   int             `json:"parallel,omitempty"`
	OnFail     OnFail          `json:"on_fail,omitempty"`
	Budget     Amount          `json:"budget,omitzero"`
	Reserved   Amount          `json:"reserved,omitzero"` // the part of Budget that is reserved for running attempts
	Spent      Amount          `json:"spent,omitzero"`
	Worked     time.Duration   `json:"worked,omitempty"`    // working time of ended attempts, without the time that they waited for a user
	Waited     time.Duration   `json:"waited,omitempty"`    // how long ended attempts have waited for a user
	Waves      []WaveCount     `json:"waves,omitempty"`     // number of unfinished tasks in each wave, lowest wave first
	Open       int             `json:"open"`                // number of unfinished tasks
	Ready      int             `json:"ready"`               // number of tasks that may be claimed
	Active     int             `json:"active"`              // number of running tasks
	Failed     int             `json:"failed"`              // number of failed tasks
	Stopping   string          `json:"stopping,omitempty"`  // why no more tasks of the run start; empty if they may start
	Conducted  bool            `json:"conducted,omitempty"` // a conductor adds tasks to the run and ends it
	Ordered    bool            `json:"ordered,omitempty"`   // the run's tasks run one after the other; a retried task runs before the next one
	Created    time.Time       `json:"created"`
	Ended      time.Time       `json:"ended,omitzero"`
}

// OnFail says what happens to the other tasks of a run when a task fails.
type OnFail string

// The values of OnFail. The empty value lets the other tasks run.
const (
	StopOnFail OnFail = "stop" // no more tasks start
	EndOnFail  OnFail = "end"  // no more tasks start, and running tasks are stopped
)

// WaveCount is the number of unfinished tasks in a wave.
type WaveCount struct {
	Wave int `json:"wave"`
	Open int `json:"open"`
}

// TaskKey is the key of a task: its run's id and its own id.
type TaskKey struct {
	Run  string `json:"run"`
	Task string `json:"task"`
}

// Task is one task of a run.
type Task struct {
	TaskKey
	Seq             int64           `json:"seq"` // orders the tasks of all runs by submission
	Name            string          `json:"name,omitempty"`
	Spec            json.RawMessage `json:"spec,omitempty"` // the task as JSON, by plan.EncodeTask
	Status          Status          `json:"status"`
	Wave            int             `json:"wave,omitempty"`
	Needs           []string        `json:"needs,omitempty"`     // ids of the tasks that must be complete first
	AnyNeed         bool            `json:"any_need,omitempty"`  // the task starts when all Needs have ended and at least one is complete
	Optional        bool            `json:"optional,omitempty"`  // if the task fails, the run neither fails nor stops
	Blockers        int             `json:"blockers"`            // number of Needs that the task still waits for
	Ready           bool            `json:"ready"`               // workers may claim the task, which is Queued
	NotBefore       time.Time       `json:"not_before,omitzero"` // the task must not become Ready before this time
	Priority        int             `json:"priority,omitempty"`
	Labels          string          `json:"labels,omitempty"` // sorted, separated by commas
	Account         string          `json:"lane,omitempty"`   // name of the [Account] that the task's agent uses
	Retries         int             `json:"retries"`
	CountedAttempts int             `json:"attempts"`          // number of attempts that count against Retries
	Tries           int             `json:"tries"`             // number of all attempts
	Lost            int             `json:"lost,omitempty"`    // number of lost attempts since the task was submitted or a user has retried it
	RunningAttempt  string          `json:"attempt,omitempty"` // id of the running attempt; empty if none is running
	LastAttempt     string          `json:"last,omitempty"`    // id of the attempt that ended last
	NewConversation bool            `json:"fresh,omitempty"`   // the next attempt starts a new conversation
	Reserve         Amount          `json:"reserve,omitzero"`  // part of the run's budget that is reserved while the task is running
	Timeout         time.Duration   `json:"timeout,omitempty"`
	Spent           Amount          `json:"spent,omitzero"`    // cost of all attempts that have ended
	Worked          time.Duration   `json:"worked,omitempty"`  // working time of all attempts that have ended
	Outcome         string          `json:"outcome,omitempty"` // why the task has ended: the failure class of its last attempt, "dependency" or "cancelled"

	HasMessages bool   `json:"mail,omitempty"`      // users have sent messages to the task's agent
	SentBack    bool   `json:"sent_back,omitempty"` // the task's review was sent back, and the agent has not answered yet
	EndedAs     Status `json:"ended,omitempty"`     // the task's final status before it was queued again for a message; empty once an attempt has started
}

// Attempt is one start of an agent on a task, by one worker.
type Attempt struct {
	ID             string    `json:"id"`
	Run            string    `json:"run"`
	Task           string    `json:"task"`
	Number         int       `json:"number"` // the first attempt at the task has number 1
	Token          int64     `json:"token"`  // fencing token: requests of the worker with another token are rejected
	Worker         string    `json:"worker"`
	After          string    `json:"after,omitempty"` // id of the attempt that the worker finished in the request that started this one, if any
	Status         Status    `json:"status"`
	Lease          time.Time `json:"lease"`             // the attempt is lost if no heartbeat renews this in time
	Deadline       time.Time `json:"deadline,omitzero"` // the attempt is ended after this, unless it is waiting for a user
	Started        time.Time `json:"started"`
	Ended          time.Time `json:"ended,omitzero"`
	StopReason     string    `json:"stop,omitempty"`            // why the worker must end the attempt; empty if it may continue
	SpentEarlier   Amount    `json:"carried,omitzero"`          // what earlier attempts in the same conversation have cost
	HasMessages    bool      `json:"mail,omitempty"`            // messages of users may wait for the agent
	PromptMessages []string  `json:"prompt_messages,omitempty"` // ids of the messages that the attempt's prompt contains

	fleet.Progress // as the worker last reported it
	fleet.Ending

	// Waited is how long the agent has waited for a user's answers, without the current
	// wait. WaitingSince is the start of the current wait. When a wait ends, the
	// deadline is extended by its duration.
	Waited       time.Duration `json:"waited,omitempty"`
	WaitingSince time.Time     `json:"waiting_since,omitzero"` // zero if the agent is not waiting
}

// WaitedBy returns how long the agent has waited for a user until now, including the
// current wait.
func (a Attempt) WaitedBy(now time.Time) time.Duration {
	if a.WaitingSince.IsZero() {
		return a.Waited
	}
	return a.Waited + max(now.Sub(a.WaitingSince), 0)
}

// Key returns the key of the attempt's task.
func (a Attempt) Key() TaskKey { return TaskKey{a.Run, a.Task} }

// Worker is a program that claims tasks. Whether a worker is online is not stored: readers
// compute it from Seen.
type Worker struct {
	ID     string    `json:"id"`
	Name   string    `json:"name,omitempty"`
	Labels string    `json:"labels,omitempty"`
	Slots  int       `json:"slots,omitempty"`
	Seen   time.Time `json:"seen"` // time of the last heartbeat, by the engine's clock

	// The worker reports these fields itself.
	Status         string          `json:"status,omitempty"` // what the worker's agent does, in the worker's own words
	StatusReported time.Time       `json:"said,omitzero"`    // when the worker last reported Status
	Task           string          `json:"task,omitempty"`   // the task that the worker works on, in the worker's own words
	Meta           json.RawMessage `json:"meta,omitempty"`
	Version        string          `json:"version,omitempty"`

	Owner        string    `json:"owner,omitempty"`    // id of the credential that registered the worker and may act for it
	OwnerName    string    `json:"holder,omitempty"`   // name of the Owner credential if its role is worker; other credentials with the same name and role may act for the worker too
	Channels     []string  `json:"channels,omitempty"` // channels of the coordinator protocol from which the worker takes tasks
	HeldAttempts []string  `json:"holds,omitempty"`    // ids of assigned attempts, if the worker does not list them in its heartbeats; some may have ended
	Created      time.Time `json:"created,omitzero"`
	Updated      time.Time `json:"updated,omitzero"` // when a field other than a time last changed
	Left         time.Time `json:"left,omitzero"`    // when the worker's only run has ended, or when the worker has left
}

// ItemKey is the key of an item.
type ItemKey struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Item is a row for data that has no table, such as messages, reviews and pieces of logs.
// The store does not interpret Data.
type Item struct {
	ItemKey
	Parent string          `json:"parent,omitempty"` // groups the items of a kind into lists
	Seq    int64           `json:"seq"`              // position in the list of Parent
	Data   json.RawMessage `json:"data,omitempty"`   // JSON; white space between its tokens is not kept
	Made   time.Time       `json:"made"`
}

// Question is a question of an agent to the user. If it belongs to no task, Run is empty
// and Task is the name of the asking agent.
type Question struct {
	ID       string          `json:"id"`
	Attempt  string          `json:"attempt"`
	Run      string          `json:"run"`
	Task     string          `json:"task"`
	Text     string          `json:"text"`
	Options  json.RawMessage `json:"options,omitempty"`
	Asker    string          `json:"asker,omitempty"` // id of the credential that asked, if the question belongs to no task
	Asked    time.Time       `json:"asked"`
	Expires  time.Time       `json:"expires,omitzero"`
	Default  string          `json:"default,omitempty"`
	Answer   string          `json:"answer,omitempty"`
	Denied   bool            `json:"denied,omitempty"`
	By       string          `json:"by,omitempty"`
	Answered time.Time       `json:"answered,omitzero"`
	Closed   bool            `json:"closed,omitempty"` // the question was answered, or needs no answer any more
}

// Standalone reports whether the question belongs to no task.
func (q Question) Standalone() bool { return q.Run == "" }

// Account is the account of an agent program, and has the program's name, such as claude.
// While a rate limit pauses it, no task that uses it starts. It is called a lane in JSON,
// in SQL and in the API.
type Account struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until,omitzero"`   // end of the pause; zero if the account is not paused
	Reason string    `json:"reason,omitempty"` // why the account is paused
}

// IdempotencyRecord is the stored answer to a request with an idempotency key. A repeated
// request gets the same answer. Names in SQL call it a promise.
type IdempotencyRecord struct {
	Key    string          `json:"key"` // the operation's name, a space, and the request's key
	Answer json.RawMessage `json:"answer"`
	Made   time.Time       `json:"made"`
}

// Cursor is the position of an event reader: Seq is the number of the last event that it
// has handled.
type Cursor struct {
	Name string `json:"name"`
	Seq  int64  `json:"seq"`
}

// Event describes one change. Row and AttemptRow contain the changed rows after the
// change, so replaying all events restores the rows, as long as nothing was deleted. Only
// the first event of a run contains its Plan, and only the first event of a task its Spec.
type Event struct {
	Seq        int64           `json:"seq"` // starts at 1; the store assigns numbers without gaps and never reuses them
	At         time.Time       `json:"at"`
	Kind       string          `json:"kind"` // the changed row and its new status, such as task.running
	Run        string          `json:"run,omitempty"`
	Task       string          `json:"task,omitempty"`
	Attempt    string          `json:"attempt,omitempty"`
	From       string          `json:"from,omitempty"`
	To         string          `json:"to,omitempty"`
	Who        string          `json:"who,omitempty"`
	Why        string          `json:"why,omitempty"`
	Row        json.RawMessage `json:"row,omitempty"`
	AttemptRow json.RawMessage `json:"tried,omitempty"` // the attempt that started or ended with this event
}
