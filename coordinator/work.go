package coordinator

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"gaffer/fleet"
)

// The types below are messages between gaffer's workers and a coordinator. Times are sent as
// durations in milliseconds, relative to when the message is sent, because the clocks of machines
// differ. Unknown fields are ignored and missing ones have their zero value, so that older and
// newer programs understand each other.

// WorkerInfo describes a worker.
type WorkerInfo struct {
	ID      string   `json:"id"` // does not change if the worker is renamed
	Name    string   `json:"name,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Agents  []string `json:"agents,omitempty"` // names of the agents whose tasks the worker takes; empty means all
	Slots   int      `json:"slots,omitempty"`  // how many tasks the worker can run at the same time
	Version string   `json:"version,omitempty"`
	Host    string   `json:"host,omitempty"`
	// Programs says which agents the worker's machine can run. It is empty until the worker has
	// looked for them.
	Programs []fleet.AgentProgram `json:"programs,omitempty"`
}

// WorkBeat is a worker's heartbeat, with the state of the attempts that it runs.
type WorkBeat struct {
	Worker WorkerInfo `json:"worker"`
	Held   []HeldWork `json:"held"`
	// Gone reports that the worker runs no attempts and exits now. So the coordinator shows it as
	// offline at once.
	Gone bool `json:"gone,omitempty"`
}

// WorkKey identifies an attempt. Token is the fencing token that the worker got with the attempt. The
// coordinator refuses another token, because the attempt then belongs to another worker.
type WorkKey struct {
	Attempt string `json:"attempt"`
	Token   int64  `json:"token"`
}

// HeldWork is the part of a heartbeat about one attempt that the worker is running.
type HeldWork struct {
	WorkKey
	Now     WorkNow  `json:"now,omitzero"`
	Asking  []string `json:"asking,omitempty"`  // ids of the questions to which the agent still needs an answer
	Dropped []string `json:"dropped,omitempty"` // questions that the agent has withdrawn, by their WorkQuestion.Ref
	// Delivered lists the ids of messages that the agent's program has received.
	Delivered []string `json:"delivered,omitempty"`
}

// WorkNow says what an agent is doing. An empty State means no change since the last heartbeat. Two
// fields of Progress are not sent: AgeMS replaces Said, because the clocks of two machines differ,
// and LogFrom is not needed, because the coordinator has its own copy of the log.
type WorkNow struct {
	fleet.Progress
	AgeMS int64 `json:"age_ms,omitempty"` // how long ago the agent reported Doing
}

// Amount is what an attempt used: tokens and money.
type Amount = fleet.Amount

// WorkOrders is the coordinator's answer to a worker's heartbeat.
type WorkOrders struct {
	Orders  []WorkOrder `json:"orders"`
	LeaseMS int64       `json:"lease_ms"` // how long the worker owns its attempts if it sends no further heartbeat
	Seq     int64       `json:"seq"`      // number of the last change; pass it to the next Wait
}

// WorkOrder is an instruction about one attempt that the worker runs.
type WorkOrder struct {
	Attempt string       `json:"attempt"`
	Stop    string       `json:"stop,omitempty"`  // why the worker must end the attempt; empty if the attempt continues
	Gone    bool         `json:"gone,omitempty"`  // the worker no longer owns the attempt: end it without reporting
	Waits   bool         `json:"waits,omitempty"` // the agent waits for the user; this time does not count as working time
	LeaseMS int64        `json:"lease_ms,omitempty"`
	Answers []WorkAnswer `json:"answers,omitempty"`
	// Messages are the user's messages for the agent that were not delivered yet, the oldest first.
	// They are repeated until the worker reports that they were delivered.
	Messages []fleet.Message `json:"messages,omitempty"`
	// Interrupt reports that the worker must end only the agent's current turn, so that the
	// conversation can be continued. If the agent does not support this, the worker ends the agent.
	// Stop is then set too.
	Interrupt bool `json:"interrupt,omitempty"`
	// Limit is what the attempt may spend in total, including what it has already spent. It changes
	// when other attempts spend from the same budget. Zero means no limit.
	Limit Amount `json:"limit,omitzero"`
}

// WorkAnswer is the user's answer to a question of an agent.
type WorkAnswer struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty"`
	Denied bool   `json:"denied,omitempty"`
	Rule   string `json:"rule,omitempty"` // the rule that the user has made with the answer; empty if the answer holds only for this question
}

// WorkClaim requests a task for a worker. Requests with the same key get the same task. The key is
// required in [WorkClient.Claim], and not used in a WorkTurn.
type WorkClaim struct {
	Worker string   `json:"worker"`
	Labels []string `json:"labels"`
	Agents []string `json:"agents,omitempty"` // names of the agents whose tasks the worker takes; empty means all
	Key    string   `json:"key"`
	// Accounts are the user's accounts that the worker has. The accounts of each agent are in the
	// order in which they should be used. Fallbacks says that the worker can use a task's fallbacks:
	// the agents that continue the task while its own agent is rate limited.
	Accounts  []WorkAccount `json:"accounts,omitempty"`
	Fallbacks bool          `json:"fallbacks,omitempty"`
}

// WorkAccount is one of the user's accounts of an agent program.
type WorkAccount struct {
	Agent   string `json:"agent"`
	Name    string `json:"name"`
	Reserve bool   `json:"reserve,omitempty"` // used only while all other accounts of the agent are paused
}

// Claimed is a task that a worker has claimed.
type Claimed struct {
	Work    Work  `json:"work"`
	LeaseMS int64 `json:"lease_ms"`
}

// Work is a claimed task, with everything that the worker needs to run it.
type Work struct {
	Attempt WorkAttempt `json:"attempt"`
	Task    WorkTask    `json:"task"`
	Run     WorkRun     `json:"run"`
	Before  *WorkBefore `json:"before,omitempty"` // the previous attempt of the task; nil if there was none
	LeaseMS int64       `json:"lease_ms"`         // how long the worker owns the attempt without a heartbeat
	// Messages are the user's messages for the agent that were not delivered yet, the oldest first.
	// Earlier holds the messages that were delivered in earlier attempts.
	Messages []fleet.Message `json:"messages,omitempty"`
	Earlier  []fleet.Message `json:"earlier,omitempty"`
	// Grants are the rules that hold for the task because users have made them when they answered
	// questions. They allow or deny requests of agents.
	Grants []fleet.Grant `json:"grants,omitempty"`
}

// WorkAttempt is the attempt that the worker starts when it has claimed a task.
type WorkAttempt struct {
	ID           string `json:"id"`
	Number       int    `json:"number"` // number of the attempt, from 1
	Token        int64  `json:"token"`
	DeadlineInMS int64  `json:"deadline_in_ms,omitempty"` // time after which the attempt is ended; zero means never
	Carried      Amount `json:"carried,omitzero"`         // what earlier attempts in the same conversation used
	Limit        Amount `json:"limit,omitzero"`           // what the attempt may spend; zero means no limit
	Stop         string `json:"stop,omitempty"`           // why the worker must end the attempt; empty if it continues
	Account      string `json:"account,omitempty"`        // the user's account that the agent uses; empty means the program's own
	Fallback     string `json:"fallback,omitempty"`       // the agent that replaces the task's own agent, as AGENT or AGENT:MODEL; empty means the task's own agent
}

// WorkTask is the task of an attempt.
type WorkTask struct {
	Task  string          `json:"task"`
	Name  string          `json:"name,omitempty"`
	Spec  json.RawMessage `json:"spec"` // the task as it is in the plan
	Fresh bool            `json:"fresh,omitempty"`
	Tries int             `json:"tries,omitempty"`
	// SentBack reports that the user's review sent the change back to the agent. The worker must
	// then send the agent's whole last message as Answer in its WorkFinish.
	SentBack bool `json:"sent_back,omitempty"`
}

// WorkRun is the run of a task.
type WorkRun struct {
	ID       string          `json:"id"`
	Name     string          `json:"name,omitempty"`
	Project  string          `json:"project,omitempty"`
	Base     string          `json:"base,omitempty"`  // commit that the tasks' worktrees start from
	Place    string          `json:"place,omitempty"` // name of the only worker that may run the tasks; empty for any
	Workflow json.RawMessage `json:"workflow,omitempty"`
}

// WorkBefore says how the previous attempt of the task ended.
type WorkBefore struct {
	ID      string      `json:"id"`
	Number  int         `json:"number"`
	Worker  string      `json:"worker,omitempty"`
	Class   fleet.Class `json:"class,omitempty"`
	Summary string      `json:"summary,omitempty"`
	Thread  string      `json:"thread,omitempty"`
	// Account and Fallback are those of the previous attempt. Diff is what that attempt has changed;
	// it is set only if another agent continues the task.
	Account  string          `json:"account,omitempty"`
	Fallback string          `json:"fallback,omitempty"`
	Diff     json.RawMessage `json:"diff,omitempty"`
}

// WorkTurn reports that an attempt has ended, and claims the next task in the same request.
type WorkTurn struct {
	Finish WorkFinish `json:"finish"`
	Claim  *WorkClaim `json:"claim,omitempty"` // the claim of the next task; nil for none
}

// WorkFinish says how an attempt ended. The fields Activity and LogFrom of Progress are not sent.
type WorkFinish struct {
	WorkKey
	fleet.Progress
	fleet.Ending
	ResetInMS int64    `json:"reset_in_ms,omitempty"` // time until the agent's rate limit ends; zero if it has none or the time is unknown
	Delivered []string `json:"delivered,omitempty"`   // ids of messages that the agent's program has received
}

// Turned is the answer to a WorkTurn. Work is the next task; it is nil if the turn claims none or no
// task can start.
type Turned struct {
	Outcome WorkOutcome `json:"outcome"`
	Work    *Work       `json:"work,omitempty"`
	LeaseMS int64       `json:"lease_ms"`
}

// WorkOutcome is the state of a task after an attempt has ended.
type WorkOutcome struct {
	Status    string `json:"status"` // status of the task
	RetryInMS int64  `json:"retry_in_ms,omitempty"`
	Fresh     bool   `json:"fresh,omitempty"`
}

// WorkQuestion is an agent's question to the user. If an attempt sends two questions with the same
// ref, the coordinator stores only one.
type WorkQuestion struct {
	WorkKey
	Ref      string   `json:"ref"`
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	WithinMS int64    `json:"within_ms,omitempty"` // how long the agent waits for an answer; zero means forever
	Default  string   `json:"default,omitempty"`
	// Tool and Input are the tool call that the agent asks permission for; they are empty for any
	// other question. Suggestions are rules that would allow the call. Dir is the agent's work
	// folder.
	Tool        string          `json:"tool,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Suggestions []string        `json:"suggestions,omitempty"`
	Dir         string          `json:"dir,omitempty"`
}

// WorkRelease gives back attempts that a worker has ended. Their tasks are queued again, and the
// attempts do not count as tries.
type WorkRelease struct {
	Worker   string     `json:"worker"`
	Attempts []HeldWork `json:"attempts"`
}

// WorkNews is the answer to a worker that waits for changes.
type WorkNews struct {
	Seq    int64 `json:"seq"`    // number of the last change; pass it to the next Wait
	Wake   bool  `json:"wake"`   // there may be a task to claim
	Attend bool  `json:"attend"` // there may be an order for the worker, or an answer to a question
}

// LogPiece is a part of an attempt's output.
type LogPiece struct {
	WorkKey
	Offset int64 // offset of Data within the whole output of the attempt
	Data   []byte
	Done   bool // the output is complete: no more follows
}

// Limits of what a worker may send, in bytes unless noted.
const (
	MaxLogPiece   = 256 << 10
	MaxWorkAnswer = 512 << 10 // maximum length of the agent's answer in a WorkFinish
	MaxWorkChecks = 128 << 10
	MaxWorkDiff   = 128 << 10
	MaxWorkDenied = 50       // maximum number of entries in WorkFinish.Denied
	MaxWorkText   = 64 << 10 // maximum length of a summary or a question
)

// LogGap is the error code for a log piece that begins after the end of the stored log, so that
// bytes between them are missing. The Offset of the [Error] is the offset to continue from.
const LogGap = "log_gap"

// WorkClient sends the requests of gaffer's workers.
type WorkClient struct{ conn *connection }

// Heartbeat sends a worker's heartbeat and returns the coordinator's orders for the worker. The
// request is never retried, because the next heartbeat has newer contents.
func (c *WorkClient) Heartbeat(ctx context.Context, b WorkBeat) (WorkOrders, error) {
	return askAll[WorkOrders](ctx, c.conn, post(b, false, "v1", "work", "beat"), "orders")
}

// Claim claims a task. If no task can start, it returns an [*Error] with the code [NoTasks].
func (c *WorkClient) Claim(ctx context.Context, q WorkClaim) (Claimed, error) {
	return askAll[Claimed](ctx, c.conn, post(q, q.Key != "", "v1", "work", "claim"), "work")
}

// Turn reports the end of an attempt and claims the next task, if one can start. A repeated
// request gets the same answer and claims no further task.
func (c *WorkClient) Turn(ctx context.Context, t WorkTurn) (Turned, error) {
	return askAll[Turned](ctx, c.conn, post(t, true, "v1", "work", "turn"), "outcome")
}

// Ask asks the user a question, and returns its id. The request is retried only if the question has a
// ref.
func (c *WorkClient) Ask(ctx context.Context, q WorkQuestion) (string, error) {
	return ask[string](ctx, c.conn, post(q, q.Ref != "", "v1", "work", "ask"), "question")
}

// Release gives back attempts whose agents were not started or have been stopped. The tasks of
// these attempts are queued again.
func (c *WorkClient) Release(ctx context.Context, r WorkRelease) error {
	_, err := c.conn.do(ctx, post(r, true, "v1", "work", "release"))
	return err
}

// Held returns the attempts that, as far as the coordinator knows, the worker is running.
func (c *WorkClient) Held(ctx context.Context, worker string) ([]Work, error) {
	return ask[[]Work](ctx, c.conn, get(url.Values{"worker": {worker}}, "v1", "work", "held"), "held")
}

// Wait waits until there is a change for the worker with a higher number than cursor, or until the
// coordinator's timeout. If the coordinator does not know all changes after cursor, Wait returns at
// once, with Wake and Attend set. That is so for a cursor of -1, the lowest that is allowed.
func (c *WorkClient) Wait(ctx context.Context, worker string, cursor int64) (WorkNews, error) {
	query := url.Values{"worker": {worker}, "after": {strconv.FormatInt(cursor, 10)}}
	return askAll[WorkNews](ctx, c.conn, get(query, "v1", "work", "wait"), "seq")
}

// SendLog appends a piece of at most [MaxLogPiece] bytes to the log of an attempt. It returns the
// offset of the next byte that the coordinator expects. The coordinator skips bytes that it already
// has. An empty piece only asks for that offset.
func (c *WorkClient) SendLog(ctx context.Context, p LogPiece) (next int64, err error) {
	query := url.Values{
		"attempt": {p.Attempt}, "token": {strconv.FormatInt(p.Token, 10)}, "offset": {strconv.FormatInt(p.Offset, 10)},
	}
	if p.Done {
		query.Set("done", "1")
	}
	q := post(bytesBody(p.Data), true, "v1", "work", "logs")
	q.query = query
	return ask[int64](ctx, c.conn, q, "next")
}
