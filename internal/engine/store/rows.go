package store

import (
	"encoding/json"
	"time"

	"gaffer/fleet"
)

// Status is the state of a run, a task or an attempt.
type Status string

// The statuses. Only tasks are Queued; an attempt is Running from its start to its end.
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

// Run is the row of one submitted plan.
type Run struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Status     Status          `json:"status"`
	Source     string          `json:"source,omitempty"`
	SourceFile string          `json:"source_file,omitempty"`
	Project    string          `json:"project,omitempty"` // path of the folder that the run works in; empty if the run is not bound to a machine
	Base       string          `json:"base,omitempty"`    // id of the commit that the run's worktrees start from
	OnlyWorker string          `json:"place,omitempty"`   // name or id of the only worker that may claim the run's tasks; empty allows all workers
	Plan       json.RawMessage `json:"plan,omitempty"`    // the submitted plan as JSON
	Parallel   int             `json:"parallel,omitempty"`
	OnFail     OnFail          `json:"on_fail,omitempty"`
	Budget     Amount          `json:"budget,omitzero"`
	Reserved   Amount          `json:"reserved,omitzero"` // part of Budget that is reserved for running attempts
	Spent      Amount          `json:"spent,omitzero"`
	Worked     time.Duration   `json:"worked,omitempty"`     // working time of ended attempts, without their waits for a user
	Waited     time.Duration   `json:"waited,omitempty"`     // how long ended attempts have waited for a user
	Waves      []WaveCount     `json:"waves,omitempty"`      // number of unfinished tasks of each wave, lowest wave first; tasks without a wave are not counted
	Open       int             `json:"open"`                 // number of unfinished tasks
	Ready      int             `json:"ready"`                // number of queued tasks that workers may claim
	Active     int             `json:"active"`               // number of running tasks
	Failed     int             `json:"failed"`               // number of failed tasks that are not Optional
	Stopping   string          `json:"stopping,omitempty"`   // why no more tasks of the run may start; empty if they may
	Conducted  bool            `json:"conducted,omitempty"`  // a program, the run's conductor, adds tasks to the run and ends it; without one, the run ends with its last task
	Ordered    bool            `json:"ordered,omitempty"`    // tasks run one after the other; a retried task runs before the next one
	StartedBy  string          `json:"started_by,omitempty"` // what started the run: "schedule NAME" or "source NAME"; empty if the user did
	Created    time.Time       `json:"created"`
	Ended      time.Time       `json:"ended,omitzero"`
}

// OnFail says what happens to the other tasks of a run when a task fails.
type OnFail string

// The values of OnFail. If it is empty, the other tasks continue.
const (
	StopOnFail OnFail = "stop" // no more tasks start
	EndOnFail  OnFail = "end"  // no more tasks start, and running tasks are ended
)

// WaveCount says how many tasks of a wave are unfinished.
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
	Seq             int64           `json:"seq"` // increases with each submitted task, over all runs
	Name            string          `json:"name,omitempty"`
	Spec            json.RawMessage `json:"spec,omitempty"` // the task's part of the plan, as plan.EncodeTask returns it
	Status          Status          `json:"status"`
	Wave            int             `json:"wave,omitempty"`
	Needs           []string        `json:"needs,omitempty"`     // ids of the tasks that must be complete before this task starts, unless AnyNeed is set
	AnyNeed         bool            `json:"any_need,omitempty"`  // the task starts when all of its Needs have ended and at least one is complete
	Optional        bool            `json:"optional,omitempty"`  // if the task fails, the run neither fails nor stops
	Blockers        int             `json:"blockers"`            // number of tasks in Needs that the task still waits for
	Ready           bool            `json:"ready"`               // the task is Queued, and workers may claim it
	NotBefore       time.Time       `json:"not_before,omitzero"` // the task must not become Ready before this time
	Priority        int             `json:"priority,omitempty"`
	Labels          string          `json:"labels,omitempty"` // labels that a worker needs for the task; sorted, separated by commas
	Account         string          `json:"lane,omitempty"`   // name of the task's [Account] row: the agent's name, or for a task with fallbacks all its Agents, joined by " > "
	Agents          []string        `json:"agents,omitempty"` // the task's agent and its fallbacks, as written in the plan; empty if it has no fallback
	Retries         int             `json:"retries"`
	CountedAttempts int             `json:"attempts"`          // number of attempts that count against Retries
	Tries           int             `json:"tries"`             // number of all attempts at the task
	Lost            int             `json:"lost,omitempty"`    // number of lost attempts since the submission or the last retry by a user
	RunningAttempt  string          `json:"attempt,omitempty"` // id of the running attempt; empty if none is running
	LastAttempt     string          `json:"last,omitempty"`    // id of the attempt at this task that ended last; empty if none has ended
	NewConversation bool            `json:"fresh,omitempty"`   // the next attempt starts a new conversation
	Reserve         Amount          `json:"reserve,omitzero"`  // the task's budget: what all its attempts may spend together; an amount of zero means no limit
	Timeout         time.Duration   `json:"timeout,omitempty"`
	Spent           Amount          `json:"spent,omitzero"`    // cost of all ended attempts
	Worked          time.Duration   `json:"worked,omitempty"`  // working time of all ended attempts
	Outcome         string          `json:"outcome,omitempty"` // failure class of the last attempt, empty if it succeeded; "dependency", "cancelled" or "budget" if the task ended without a new attempt

	HasMessages bool   `json:"mail,omitempty"`      // users have ever sent messages to the task's agent; never reset
	SentBack    bool   `json:"sent_back,omitempty"` // the user has sent comments back, and the agent has not answered them yet
	EndedAs     Status `json:"ended,omitempty"`     // set while the task is queued again only because of a user's message: the final status that it would have otherwise
}

// Agent returns the name of the task's own agent.
func (t Task) Agent() string {
	if len(t.Agents) > 0 {
		return t.Agents[0]
	}
	return t.Account
}

// AllAgents returns the task's own agent and its fallbacks.
func (t Task) AllAgents() []string {
	if len(t.Agents) > 0 {
		return t.Agents
	}
	return []string{t.Account}
}

// Attempt is one start of an agent on a task, by one worker.
type Attempt struct {
	ID             string    `json:"id"`
	Run            string    `json:"run"`
	Task           string    `json:"task"`
	Number         int       `json:"number"` // number of the attempt at its task, starting at 1
	Token          int64     `json:"token"`  // fencing token: a worker's request with another token is rejected
	Worker         string    `json:"worker"`
	Account        string    `json:"account,omitempty"`  // name of the user's account that the agent uses; empty if its program uses its own account
	Fallback       string    `json:"fallback,omitempty"` // the fallback that works on the attempt, as written in the plan; empty if the task's own agent does
	After          string    `json:"after,omitempty"`    // id of the attempt that the worker ended in the same request in which it claimed this one; empty if none
	Status         Status    `json:"status"`
	Lease          time.Time `json:"lease"`             // when the attempt counts as lost, unless a heartbeat renews the lease before that
	Deadline       time.Time `json:"deadline,omitzero"` // when the engine asks the worker to end the attempt, unless the attempt waits for a user; zero means never
	Started        time.Time `json:"started"`
	Ended          time.Time `json:"ended,omitzero"`
	StopReason     string    `json:"stop,omitempty"`            // why the worker must end the attempt; empty if it may continue
	SpentEarlier   Amount    `json:"carried,omitzero"`          // cost of earlier attempts in the same conversation
	Limit          Amount    `json:"limit,omitzero"`            // what the attempt may spend; zero means no limit
	Counted        Amount    `json:"counted,omitzero"`          // the part of Spent that is in the sums of the attempt's day and month
	Day            string    `json:"day,omitempty"`             // day and month to which the attempt's cost belongs, such as 2026-11-18
	HasMessages    bool      `json:"mail,omitempty"`            // users' messages may be waiting for the agent
	PromptMessages []string  `json:"prompt_messages,omitempty"` // ids of the messages that the attempt's prompt contains

	fleet.Progress // the progress that the worker reported last
	fleet.Ending   // how the attempt ended; empty while it runs

	// Waited is how long the agent has waited for answers of a user. It does not include the
	// current wait, which started at WaitingSince. When a wait ends, Deadline is extended by its
	// duration.
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

// Worker is a program that claims tasks. The store does not know whether a worker is online:
// readers compute this from Seen.
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

	// Now is what the worker is doing, if the worker is itself an agent. No event is appended when
	// only Now, HeldAttempts or times change.
	Now fleet.AgentActivity `json:"now,omitzero"`

	Owner        string    `json:"owner,omitempty"`    // id of the credential that registered the worker and may act for it
	OwnerName    string    `json:"holder,omitempty"`   // name of the Owner credential if its role is worker; credentials with the same name and role may act for the worker too
	Channels     []string  `json:"channels,omitempty"` // channels of the coordinator protocol from which the worker takes tasks
	HeldAttempts []string  `json:"holds,omitempty"`    // for a worker whose heartbeats do not list its attempts: ids of the attempts assigned to it; some may have ended
	Created      time.Time `json:"created,omitzero"`
	Updated      time.Time `json:"updated,omitzero"` // when a field last changed that is not a time, Now or HeldAttempts
	Left         time.Time `json:"left,omitzero"`    // when the worker has left, or when the only run that it works for has ended; zero if neither has happened
}

// ItemKey identifies an item by its kind and id.
type ItemKey struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Item is a row for data that has no table of its own, such as a message, a review or a piece of a
// log. The store does not interpret Data.
type Item struct {
	ItemKey
	Parent string          `json:"parent,omitempty"` // items with the same kind and the same Parent form a list
	Seq    int64           `json:"seq"`              // position of the item in its list
	Data   json.RawMessage `json:"data,omitempty"`   // any JSON; the store may remove white space between JSON tokens
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
	Asker    string          `json:"asker,omitempty"` // id of the credential that asked; empty if the question belongs to a task
	Asked    time.Time       `json:"asked"`
	Expires  time.Time       `json:"expires,omitzero"`
	Default  string          `json:"default,omitempty"`
	Answer   string          `json:"answer,omitempty"`
	Denied   bool            `json:"denied,omitempty"`
	By       string          `json:"by,omitempty"`
	Answered time.Time       `json:"answered,omitzero"`

	// Tool and Input are the tool call that the agent asks permission for; empty for any other
	// question. Suggestions are rules that would allow this call.
	Tool        string          `json:"tool,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Suggestions []string        `json:"suggestions,omitempty"`
	Dir         string          `json:"dir,omitempty"` // absolute path of the agent's work folder; empty if unknown

	// Scope and Rule are set if the answer holds for more than this one request. Rule is the rule
	// that the user has made with the answer.
	Scope fleet.GrantScope `json:"scope,omitempty"`
	Rule  string           `json:"rule,omitempty"`

	Closed bool `json:"closed,omitempty"` // the question was answered, or no longer needs an answer
}

// Standalone reports whether the question belongs to no task.
func (q Question) Standalone() bool { return q.Run == "" }

// Account says whether an account of an agent program is paused. Its name is the program's name,
// for example claude, if it is the program's own account. The user's accounts have names such as
// claude/work. While an account is paused, for example because of a rate limit, tasks of its agent
// start only if another account of the agent is free. There is also one row for each combination of
// an agent and its fallbacks (see Chain). In JSON, SQL and the API, an account is called a lane.
type Account struct {
	Name   string    `json:"name"`
	Until  time.Time `json:"until,omitzero"`   // end of the pause; zero if the account is not paused
	Reason string    `json:"reason,omitempty"` // why the account is paused

	// Pool is set only in the row whose Name is an agent, for example claude. It has the names of
	// the user's accounts that workers have for the agent. An empty name is the program's own
	// account.
	Pool []string `json:"pool,omitempty"`
	// Chain is set only in a row for tasks with fallbacks, whose Name is all these agents, joined
	// by " > ". It has the agents that may work on these tasks, the tasks' own agent first.
	Chain []string `json:"chain,omitempty"`
}

// IdempotencyRecord stores the answer to a request with an idempotency key. If the request is
// repeated, it gets the same answer. In SQL, the record is called a promise.
type IdempotencyRecord struct {
	Key    string          `json:"key"` // name of the operation, a space, and the key of the request
	Answer json.RawMessage `json:"answer"`
	Made   time.Time       `json:"made"`
}

// Cursor stores how far a program has read the events: Seq is the number of the last event that the
// program has handled.
type Cursor struct {
	Name string `json:"name"`
	Seq  int64  `json:"seq"`
}

// Event describes one change. Row and AttemptRow contain the changed rows as they are after the
// change. So runs, tasks and attempts can be restored from the events, if no event was deleted,
// except for fields that change without an event. Only the first event of a run contains its Plan,
// and only the first event of a task contains its Spec.
type Event struct {
	Seq        int64           `json:"seq"` // number of the event; new events are numbered from 1 without gaps, and numbers of deleted events are not used again
	At         time.Time       `json:"at"`
	Kind       string          `json:"kind"` // kind of the changed row, and what has happened to it, for example task.running
	Run        string          `json:"run,omitempty"`
	Task       string          `json:"task,omitempty"`
	Attempt    string          `json:"attempt,omitempty"`
	From       string          `json:"from,omitempty"`
	To         string          `json:"to,omitempty"`
	Who        string          `json:"who,omitempty"`
	Why        string          `json:"why,omitempty"`
	Row        json.RawMessage `json:"row,omitempty"`
	AttemptRow json.RawMessage `json:"tried,omitempty"` // set if the event is the start or end of an attempt: the attempt's row
}
