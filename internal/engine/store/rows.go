package store

import (
	"encoding/json"
	"time"

	"gaffer/fleet"
)

// Status is the state of a run, a task or an attempt.
type Status string

// The values of [Status]. Only a task can be Queued. An attempt is Running from its start until it
// has ended.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Complete  Status = "complete"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Final reports whether the run, task or attempt has ended.
func (s Status) Final() bool { return s == Complete || s == Failed || s == Cancelled }

// Amount is a cost, or the limit of a cost, in micro-dollars and tokens.
type Amount = fleet.Amount

// Run is the row of one run. A run executes one submitted plan.
type Run struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Status     Status `json:"status"`
	Source     string `json:"source,omitempty"`
	SourceFile string `json:"source_file,omitempty"`
	// Project is the path of the folder that the run works in. It is empty if the run is not bound
	// to a folder on one machine.
	Project string `json:"project,omitempty"`
	Base    string `json:"base,omitempty"` // id of the commit that the run's worktrees start from
	// OnlyWorker is the name or id of the only worker that may claim the run's tasks. Empty means:
	// any worker may claim them.
	OnlyWorker string          `json:"place,omitempty"`
	Plan       json.RawMessage `json:"plan,omitempty"` // the submitted plan as JSON
	Parallel   int             `json:"parallel,omitempty"`
	OnFail     OnFail          `json:"on_fail,omitempty"`
	Budget     Amount          `json:"budget,omitzero"`
	Reserved   Amount          `json:"reserved,omitzero"` // part of Budget that is reserved for running attempts
	Spent      Amount          `json:"spent,omitzero"`
	Worked     time.Duration   `json:"worked,omitempty"` // total working time of ended attempts, without waits for a user
	Waited     time.Duration   `json:"waited,omitempty"` // total time that ended attempts have waited for a user
	// Waves contains the number of unfinished tasks of each wave, lowest wave first. It does not
	// count tasks without a wave.
	Waves    []WaveCount `json:"waves,omitempty"`
	Open     int         `json:"open"`               // number of unfinished tasks
	Ready    int         `json:"ready"`              // number of queued tasks that workers may claim
	Active   int         `json:"active"`             // number of running tasks
	Failed   int         `json:"failed"`             // number of failed tasks, except those with Task.Optional
	Stopping string      `json:"stopping,omitempty"` // why the run is stopping and starts no more tasks; else empty
	// Conducted is set if a program, the run's conductor, adds tasks to the run and ends the run.
	// If Conducted is not set, the run ends with its last task.
	Conducted bool `json:"conducted,omitempty"`
	// Ordered is set if the tasks run one after the other. A task that is retried runs again before
	// the next task starts.
	Ordered bool `json:"ordered,omitempty"`
	// StartedBy says what started the run: "schedule NAME" or "source NAME". It is empty if a user
	// started the run.
	StartedBy string    `json:"started_by,omitempty"`
	Created   time.Time `json:"created"`
	Ended     time.Time `json:"ended,omitzero"`
}

// OnFail says what happens to the other tasks of a run when a task fails.
type OnFail string

// The values of OnFail. If OnFail is empty, only the tasks that need the failed task, and the tasks
// of later waves (see [WaveCount]), are cancelled.
const (
	StopOnFail OnFail = "stop" // no more tasks start
	EndOnFail  OnFail = "end"  // no more tasks start, and running tasks are ended
)

// WaveCount says how many tasks of a wave are unfinished. A wave is a group of tasks of a run. Its
// tasks may start when all tasks of lower waves have ended.
type WaveCount struct {
	Wave int `json:"wave"`
	Open int `json:"open"`
}

// TaskKey identifies a task by the id of its run and the task's id in that run.
type TaskKey struct {
	Run  string `json:"run"`
	Task string `json:"task"`
}

// Task is the row of one task in a run.
type Task struct {
	TaskKey
	Seq    int64           `json:"seq"` // sequence number of the task, over all runs
	Name   string          `json:"name,omitempty"`
	Spec   json.RawMessage `json:"spec,omitempty"` // the task's part of the plan, encoded by plan.EncodeTask
	Status Status          `json:"status"`
	Wave   int             `json:"wave,omitempty"`
	// Needs contains the ids of the tasks that must be complete before this task starts. If AnyNeed
	// is set, not all of them must be complete.
	Needs []string `json:"needs,omitempty"`
	// AnyNeed is set if the task starts when all of its Needs have ended and at least one of them
	// is complete.
	AnyNeed   bool      `json:"any_need,omitempty"`
	Optional  bool      `json:"optional,omitempty"`  // if the task fails, the run neither fails nor stops
	Blockers  int       `json:"blockers"`            // number of tasks in Needs that the task still waits for
	Ready     bool      `json:"ready"`               // the task is Queued, and workers may claim it
	NotBefore time.Time `json:"not_before,omitzero"` // the task must not become Ready before this time
	Priority  int       `json:"priority,omitempty"`
	Labels    string    `json:"labels,omitempty"` // labels that a worker needs for the task; sorted, separated by commas
	// Account is the name of the task's [Account] row. Without fallbacks, this is the name of the
	// task's agent. If the task has fallbacks (agents that may replace its agent), the name
	// consists of all names in Agents, joined by " > ".
	Account string `json:"lane,omitempty"`
	// Agents contains the task's agent and then its fallbacks, as written in the plan. It is empty
	// if the task has no fallback that it can use.
	Agents          []string `json:"agents,omitempty"`
	Retries         int      `json:"retries"`
	CountedAttempts int      `json:"attempts"`          // number of attempts that count against Retries
	Tries           int      `json:"tries"`             // number of all attempts at the task
	Lost            int      `json:"lost,omitempty"`    // number of attempts whose worker or supervisor was lost; 0 after a user requeues the task
	RunningAttempt  string   `json:"attempt,omitempty"` // id of the running attempt; empty if none is running
	LastAttempt     string   `json:"last,omitempty"`    // id of the last attempt that has ended; empty if none has ended
	NewConversation bool     `json:"fresh,omitempty"`   // the next attempt must not continue the conversation of the previous attempt
	// Reserve is the task's budget: what all its attempts may spend together. Zero means: no limit.
	Reserve Amount        `json:"reserve,omitzero"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Spent   Amount        `json:"spent,omitzero"`   // cost of all ended attempts
	Worked  time.Duration `json:"worked,omitempty"` // working time of all ended attempts
	// Outcome is the failure class of the last attempt, such as "stalled". It is empty if that
	// attempt succeeded, or if a user has queued the task again. If the task ended while it was
	// queued, Outcome can also be "dependency" (a task that it needs has not completed),
	// "cancelled" or "budget".
	Outcome string `json:"outcome,omitempty"`

	HasMessages bool `json:"mail,omitempty"`      // set when a user sends a message to the agent; never reset
	SentBack    bool `json:"sent_back,omitempty"` // set when a user sends review comments; reset when the task ends
	// EndedAs is set while the task is queued again only because of a user's message. It is the
	// final status that the task gets back if the message is withdrawn.
	EndedAs Status `json:"ended,omitempty"`
}

// Agent returns the name of the task's own agent, never that of a fallback.
func (t Task) Agent() string {
	if len(t.Agents) > 0 {
		return t.Agents[0]
	}
	return t.Account
}

// AllAgents returns the task's agent, followed by its fallbacks.
func (t Task) AllAgents() []string {
	if len(t.Agents) > 0 {
		return t.Agents
	}
	return []string{t.Account}
}

// Attempt is the row of one attempt: one start of an agent on a task, by one worker.
type Attempt struct {
	ID     string `json:"id"`
	Run    string `json:"run"`
	Task   string `json:"task"`
	Number int    `json:"number"` // 1 for the first attempt at the task, 2 for the second, ...
	Token  int64  `json:"token"`  // fencing token: a worker's request with another token is rejected
	Worker string `json:"worker"`
	// Account is the name of the user's account with which the agent works. It is empty if the
	// agent works with the account that its program is logged in to.
	Account string `json:"account,omitempty"`
	// Fallback is the fallback agent that works on this attempt in place of the task's own agent,
	// as written in the plan. It is empty if the task's own agent works on it.
	Fallback string `json:"fallback,omitempty"`
	// After is the id of another attempt, which the worker ended in the same request in which it
	// claimed this one. It is empty if that request ended no attempt.
	After  string `json:"after,omitempty"`
	Status Status `json:"status"`
	// Lease is the end of the attempt's lease. Heartbeats extend the lease. After the end of the
	// lease, the engine may end the attempt as lost.
	Lease time.Time `json:"lease"`
	// Deadline is when the engine asks the worker to end the attempt. The engine does not ask while
	// the attempt waits for a user. Zero means: no deadline.
	Deadline     time.Time `json:"deadline,omitzero"`
	Started      time.Time `json:"started"`
	Ended        time.Time `json:"ended,omitzero"`
	StopReason   string    `json:"stop,omitempty"`   // why the worker must end the attempt; empty if it may continue
	SpentEarlier Amount    `json:"carried,omitzero"` // cost of earlier attempts in the same conversation
	Limit        Amount    `json:"limit,omitzero"`   // what the attempt may spend; zero means no limit
	// Counted is the part of Spent that was already added to the stored totals of what all attempts
	// have spent in the attempt's day and month.
	Counted        Amount   `json:"counted,omitzero"`
	Day            string   `json:"day,omitempty"`             // day to which the attempt's cost belongs, such as 2026-11-18
	HasMessages    bool     `json:"mail,omitempty"`            // users' messages may be waiting for the agent
	PromptMessages []string `json:"prompt_messages,omitempty"` // ids of users' new messages that the attempt's first prompt contains

	fleet.Progress // the progress that the worker reported last
	fleet.Ending   // how the attempt ended; empty while it runs

	// Waited is how long the agent has waited for answers of a user. It does not include the
	// current wait, which started at WaitingSince. When a wait ends, Deadline is extended by the
	// duration of the wait.
	Waited       time.Duration `json:"waited,omitempty"`
	WaitingSince time.Time     `json:"waiting_since,omitzero"` // start of the current wait; zero if the agent is not waiting
}

// WaitedBy returns how long the agent has waited for a user up to the time now, including the
// current wait.
func (a Attempt) WaitedBy(now time.Time) time.Duration {
	if a.WaitingSince.IsZero() {
		return a.Waited
	}
	return a.Waited + max(now.Sub(a.WaitingSince), 0)
}

// Key returns the key of the attempt's task.
func (a Attempt) Key() TaskKey { return TaskKey{a.Run, a.Task} }

// Worker is the row of a worker, a program that claims tasks. The row does not say whether the
// worker is online. Code that needs to know this computes it from Seen, the time of the last
// heartbeat.
type Worker struct {
	ID     string    `json:"id"`
	Name   string    `json:"name,omitempty"`
	Labels string    `json:"labels,omitempty"`
	Slots  int       `json:"slots,omitempty"`
	Seen   time.Time `json:"seen"` // time of the last heartbeat, by the engine's clock

	// The worker reports these fields about itself.
	Status         string          `json:"status,omitempty"` // what the worker's agent is doing, as free text
	StatusReported time.Time       `json:"said,omitzero"`    // when the worker last reported Status
	Task           string          `json:"task,omitempty"`   // the task that the worker works on, as free text
	Meta           json.RawMessage `json:"meta,omitempty"`
	Version        string          `json:"version,omitempty"`

	// Now is what the worker is doing, if the worker is itself an agent. A heartbeat that changes
	// only Now, HeldAttempts and times appends no event about the worker, unless it sets or clears
	// Left.
	Now fleet.AgentActivity `json:"now,omitzero"`

	Owner string `json:"owner,omitempty"` // id of the credential that registered the worker and may act for it
	// OwnerName is the name of the credential in Owner. It is empty if that credential does not
	// have the role worker or was made from another credential. If OwnerName is not empty, other
	// credentials with this name may act for the worker too, if they have the role worker and were
	// not made from another credential.
	OwnerName string   `json:"holder,omitempty"`
	Channels  []string `json:"channels,omitempty"` // channels of the coordinator protocol from which the worker takes tasks
	// HeldAttempts contains the ids of the attempts that are assigned to the worker. Some of these
	// attempts may have ended. The list is empty for a worker that lists its attempts in its
	// heartbeats.
	HeldAttempts []string  `json:"holds,omitempty"`
	Created      time.Time `json:"created,omitzero"`
	// Updated is when the row last changed together with an event about the worker. A heartbeat or
	// claim that appends no such event (see Now) does not change Updated.
	Updated time.Time `json:"updated,omitzero"`
	// Left is when the worker reported that it has left. A worker that works only for one run also
	// leaves when this run ends. Zero means: the worker has not left.
	Left time.Time `json:"left,omitzero"`
}

// ItemKey identifies an [Item] by its kind, such as "message" or "log", and by its id.
type ItemKey struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Item is a row for data that has no table of its own, such as a message, a review or a part of a
// log. The store does not interpret Data.
type Item struct {
	ItemKey
	Parent string          `json:"parent,omitempty"` // id of what the row belongs to, such as a task; rows with the same Kind and Parent form a list
	Seq    int64           `json:"seq"`              // the items of a list are sorted by Seq
	Data   json.RawMessage `json:"data,omitempty"`   // any JSON; the store may change its white space
	Made   time.Time       `json:"made"`
}

// Question is a question of an agent to the user. If the question belongs to no task, Run is empty
// and Task is the name of the agent that asks.
type Question struct {
	ID       string          `json:"id"`
	Attempt  string          `json:"attempt"`
	Run      string          `json:"run"`
	Task     string          `json:"task"`
	Text     string          `json:"text"`
	Options  json.RawMessage `json:"options,omitempty"`
	Asker    string          `json:"asker,omitempty"` // id of the credential that asked; empty if unknown, or if the question belongs to a task
	Asked    time.Time       `json:"asked"`
	Expires  time.Time       `json:"expires,omitzero"`
	Default  string          `json:"default,omitempty"`
	Answer   string          `json:"answer,omitempty"`
	Denied   bool            `json:"denied,omitempty"`
	By       string          `json:"by,omitempty"`
	Answered time.Time       `json:"answered,omitzero"`

	// Tool and Input describe the tool call for which the agent asks permission. They are empty for
	// any other question. Suggestions are permission rules that would allow this call.
	Tool        string          `json:"tool,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Suggestions []string        `json:"suggestions,omitempty"`
	Dir         string          `json:"dir,omitempty"` // absolute path of the agent's work folder; empty if unknown

	// Scope and Rule are set if the answer also applies to later permission requests. Scope says to
	// which requests, and Rule is the permission rule that the user has made with the answer.
	Scope fleet.GrantScope `json:"scope,omitempty"`
	Rule  string           `json:"rule,omitempty"`

	Closed bool `json:"closed,omitempty"` // the question was answered, or no longer needs an answer
}

// Standalone reports whether the question belongs to no task.
func (q Question) Standalone() bool { return q.Run == "" }

// Account is a row that says whether an account of an agent program is paused, for example because
// of a rate limit. Name is the name of the program, such as claude, for the account that the
// program is logged in to. Other accounts of the user have names such as claude/work. While an
// account is paused, a task of its agent starts only if the agent has another account that is not
// paused, or if the plan names a fallback (an agent that may replace the task's agent) that is not
// paused. There are two more kinds of rows: one row for each combination of an agent and its
// fallbacks (see Chain), and one for each of the user's spending limits for the day and the month.
// In JSON, SQL and the API, an account is called a lane.
type Account struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until,omitzero"`   // end of the pause; zero if the account is not paused
	Reason string    `json:"reason,omitempty"` // why the account is paused

	// Pool is set only in the row whose Name is an agent, for example claude. It contains the names
	// of the user's accounts that workers can use for this agent. An empty name in the list means
	// the account that the agent's program is logged in to.
	Pool []string `json:"pool,omitempty"`
	// Chain is set only in a row for tasks with fallbacks. It contains the agents that may work on
	// these tasks: the tasks' own agent, and then the fallbacks. Name contains the same agents,
	// joined by " > ".
	Chain []string `json:"chain,omitempty"`
}

// IdempotencyRecord stores the answer to a request with an idempotency key. If the request is
// repeated, it gets the same answer. In SQL, this record is called a promise.
type IdempotencyRecord struct {
	Key    string          `json:"key"` // name of the operation, a space, and the key in the request; for example "claim k1"
	Answer json.RawMessage `json:"answer"`
	Made   time.Time       `json:"made"`
}

// Cursor stores how far a program has read the events. Seq is the sequence number of the last event
// that the program has handled.
type Cursor struct {
	Name string `json:"name"`
	Seq  int64  `json:"seq"`
}

// Event describes one change. In events about runs, tasks and attempts, Row and AttemptRow contain
// the changed rows as they are after the change. So these rows can be restored from the events if
// no event was deleted, except for fields that change without an event. Only the first event of a
// run contains the run's Plan, and only the first event of a task contains the task's Spec.
type Event struct {
	// Seq is the sequence number of the event. Events are numbered from 1 without gaps. The numbers
	// of deleted events are not used again.
	Seq        int64           `json:"seq"`
	At         time.Time       `json:"at"`
	Kind       string          `json:"kind"` // kind of the changed row, and what happened to it, for example task.running
	Run        string          `json:"run,omitempty"`
	Task       string          `json:"task,omitempty"`
	Attempt    string          `json:"attempt,omitempty"`
	From       string          `json:"from,omitempty"`
	To         string          `json:"to,omitempty"`
	Who        string          `json:"who,omitempty"`
	Why        string          `json:"why,omitempty"`
	Row        json.RawMessage `json:"row,omitempty"`
	AttemptRow json.RawMessage `json:"tried,omitempty"` // row of the attempt that has started or ended, if any
}
