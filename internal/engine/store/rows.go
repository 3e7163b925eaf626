package store

import (
	"encoding/json"
	"time"

	"gaffer/fleet"
)

// Status is the state of a run, a task or an attempt.
type Status string

// The statuses. A run is never Queued. An attempt is Running until it ends.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Complete  Status = "complete"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether the status is an end state.
func (s Status) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Amount is a cost or a limit.
type Amount = fleet.Amount

// Run is one submitted plan.
type Run struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Status     Status          `json:"status"`
	Source     string          `json:"source,omitempty"`
	SourceFile string          `json:"source_file,omitempty"`
	Project    string          `json:"project,omitempty"` // the folder that it works in, if it is bound to a machine
	Base       string          `json:"base,omitempty"`    // the commit that its worktrees start from
	OnlyWorker string          `json:"place,omitempty"`   // the only worker that may take its tasks; empty allows any
	Plan       json.RawMessage `json:"plan,omitempty"`    // as it was submitted
	Parallel   int             `json:"parallel,omitempty"`
	OnFail     OnFail          `json:"on_fail,omitempty"`
	Budget     Amount          `json:"budget,omitzero"`
	Reserved   Amount          `json:"reserved,omitzero"` // for running attempts
	Spent      Amount          `json:"spent,omitzero"`
	Worked     time.Duration   `json:"worked,omitempty"`    // by ended attempts, without waiting time
	Waited     time.Duration   `json:"waited,omitempty"`    // for a user, by ended attempts
	Waves      []WaveCount     `json:"waves,omitempty"`     // of unfinished tasks, lowest first
	Open       int             `json:"open"`                // unfinished tasks
	Ready      int             `json:"ready"`               // tasks that may be claimed
	Active     int             `json:"active"`              // running tasks
	Failed     int             `json:"failed"`              // tasks that failed
	Stopping   string          `json:"stopping,omitempty"`  // why no more tasks start
	Conducted  bool            `json:"conducted,omitempty"` // a conductor adds tasks and ends it
	Ordered    bool            `json:"ordered,omitempty"`   // its tasks run one by one in order; a retried task goes before the next
	Created    time.Time       `json:"created"`
	Ended      time.Time       `json:"ended,omitzero"`
}

// OnFail says what a failed task means for the other tasks of its run.
type OnFail string

// The reactions to a failed task. The empty value lets the other tasks run.
const (
	StopOnFail OnFail = "stop" // no more tasks start
	EndOnFail  OnFail = "end"  // no more tasks start, and running ones are ended
)

// WaveCount is the number of unfinished tasks in a wave.
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
	Seq             int64           `json:"seq"` // submission order, over all runs
	Name            string          `json:"name,omitempty"`
	Spec            json.RawMessage `json:"spec,omitempty"` // the task's part of the plan, for the worker
	Status          Status          `json:"status"`
	Wave            int             `json:"wave,omitempty"`
	Needs           []string        `json:"needs,omitempty"`
	AnyNeed         bool            `json:"any_need,omitempty"`  // starts when its needs have ended, if at least one is complete
	Optional        bool            `json:"optional,omitempty"`  // its failure neither fails nor stops the run
	Blockers        int             `json:"blockers"`            // number of needs that are not complete
	Ready           bool            `json:"ready"`               // may be claimed; implies Queued
	NotBefore       time.Time       `json:"not_before,omitzero"` // must not become Ready earlier
	Priority        int             `json:"priority,omitempty"`
	Labels          string          `json:"labels,omitempty"` // sorted, separated by commas
	Account         string          `json:"lane,omitempty"`   // the agent account that it uses
	Retries         int             `json:"retries"`
	CountedAttempts int             `json:"attempts"`       // attempts that count against Retries
	Tries           int             `json:"tries"`          // all attempts
	Lost            int             `json:"lost,omitempty"` // lost attempts since the task was submitted or last retried by a user
	RunningAttempt  string          `json:"attempt,omitempty"`
	LastAttempt     string          `json:"last,omitempty"`   // the attempt that ended last
	NewConversation bool            `json:"fresh,omitempty"`  // the next attempt starts a new conversation
	Reserve         Amount          `json:"reserve,omitzero"` // budget reserved while it is running
	Timeout         time.Duration   `json:"timeout,omitempty"`
	Outcome         string          `json:"outcome,omitempty"` // the failure class, or a user's reason

	HasMessages bool   `json:"mail,omitempty"`      // users have sent messages to its agent
	SentBack    bool   `json:"sent_back,omitempty"` // its review was sent back, and the agent has not answered yet
	EndedAs     Status `json:"ended,omitempty"`     // its status before it was queued for a message, until its next attempt starts
}

// Attempt is one try at a task by one worker.
type Attempt struct {
	ID             string    `json:"id"`
	Run            string    `json:"run"`
	Task           string    `json:"task"`
	Number         int       `json:"number"` // from 1
	Token          int64     `json:"token"`  // fencing token: requests with another one come too late
	Worker         string    `json:"worker"`
	After          string    `json:"after,omitempty"` // the attempt that its worker finished in the same request, if any
	Status         Status    `json:"status"`
	Lease          time.Time `json:"lease"`             // the attempt is lost if no heartbeat renews this in time
	Deadline       time.Time `json:"deadline,omitzero"` // the attempt is ended after this, unless it is waiting for a user
	Started        time.Time `json:"started"`
	Ended          time.Time `json:"ended,omitzero"`
	StopReason     string    `json:"stop,omitempty"`            // why the worker must end it
	SpentEarlier   Amount    `json:"carried,omitzero"`          // spent earlier in the same conversation
	HasMessages    bool      `json:"mail,omitempty"`            // messages of users may wait for it
	PromptMessages []string  `json:"prompt_messages,omitempty"` // ids of the messages that its prompt contains

	fleet.Progress // as its worker reported it last
	fleet.Ending

	// Waited is how long the agent has waited for a user's answers, without the current
	// wait. WaitingSince is the start of the current wait. When a wait ends, the
	// deadline is extended by its duration.
	Waited       time.Duration `json:"waited,omitempty"`
	WaitingSince time.Time     `json:"waiting_since,omitzero"` // zero if it is not waiting
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

// Worker is a program that claims tasks. Whether it is online is computed from Seen on
// every read and never stored.
type Worker struct {
	ID     string    `json:"id"`
	Name   string    `json:"name,omitempty"`
	Labels string    `json:"labels,omitempty"`
	Slots  int       `json:"slots,omitempty"`
	Seen   time.Time `json:"seen"` // last heartbeat, by the clock of the receiving engine

	// What the worker last reported about itself.
	Status         string          `json:"status,omitempty"` // of its agent, in the worker's own words
	StatusReported time.Time       `json:"said,omitzero"`    // when it last reported a status
	Task           string          `json:"task,omitempty"`   // the task that it works on
	Meta           json.RawMessage `json:"meta,omitempty"`
	Version        string          `json:"version,omitempty"`

	Owner        string    `json:"owner,omitempty"`    // id of the credential that registered the worker and may act for it
	OwnerName    string    `json:"holder,omitempty"`   // name of that credential, if its role is worker: others with that name and role may act for it too
	Channels     []string  `json:"channels,omitempty"` // channels that it takes tasks from
	HeldAttempts []string  `json:"holds,omitempty"`    // assigned attempts of a worker that does not list them in its heartbeats; some may have ended
	Created      time.Time `json:"created,omitzero"`
	Updated      time.Time `json:"updated,omitzero"` // when anything except a time changed
	Left         time.Time `json:"left,omitzero"`    // when the only run that it works on ended
}

// ItemKey names an item.
type ItemKey struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Item is a small row of any kind. Only the code that stores it knows its meaning.
type Item struct {
	ItemKey
	Parent string          `json:"parent,omitempty"` // items are listed by kind and parent
	Seq    int64           `json:"seq"`              // position in the list
	Data   json.RawMessage `json:"data,omitempty"`   // stored without space between its tokens
	Made   time.Time       `json:"made"`
}

// Question is a question of an agent to the user. A question that belongs to no task
// has no run and no attempt, and its Task is the name of the asking agent.
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
	Closed   bool            `json:"closed,omitempty"` // answered, or no longer needed
}

// Standalone reports whether the question belongs to no task.
func (q Question) Standalone() bool { return q.Run == "" }

// Account is an agent account. While it is paused, none of its tasks start.
type Account struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until,omitzero"`
	Reason string    `json:"reason,omitempty"`
}

// IdempotencyRecord is an idempotency record: the stored answer to a request with an idempotency
// key.
type IdempotencyRecord struct {
	Key    string          `json:"key"` // the operation's name, a space, and the key
	Answer json.RawMessage `json:"answer"`
	Made   time.Time       `json:"made"`
}

// Cursor is the position of a reader in the events.
type Cursor struct {
	Name string `json:"name"`
	Seq  int64  `json:"seq"`
}

// Event is one change. Row and Tried hold the changed rows after the change, so
// replaying all events restores the rows, as long as nothing was deleted. Only the
// first event of a run contains its Plan, and only the first event of a task its Spec.
type Event struct {
	Seq        int64           `json:"seq"` // from 1; assigned by the store without gaps, and never reused
	At         time.Time       `json:"at"`
	Kind       string          `json:"kind"` // such as task.running
	Run        string          `json:"run,omitempty"`
	Task       string          `json:"task,omitempty"`
	Attempt    string          `json:"attempt,omitempty"`
	From       string          `json:"from,omitempty"`
	To         string          `json:"to,omitempty"`
	Who        string          `json:"who,omitempty"`
	Why        string          `json:"why,omitempty"`
	Row        json.RawMessage `json:"row,omitempty"`
	AttemptRow json.RawMessage `json:"tried,omitempty"` // the attempt that started or ended with the event
}
