package coordinator

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"

	"gaffer/fleet"
)

// The types below are messages between gaffer's workers and a coordinator. A time is sent as a
// duration in milliseconds, relative to the moment of sending, because the clocks of two machines
// differ. Unknown fields are ignored, and missing fields have their zero value, so that older and
// newer versions of gaffer can work together.

// WorkerInfo describes a worker.
type WorkerInfo struct {
	ID      string   `json:"id"` // does not change if the worker is renamed
	Name    string   `json:"name,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Agents  []string `json:"agents,omitempty"` // names of the agents whose tasks the worker takes; empty means all
	Slots   int      `json:"slots,omitempty"`  // how many tasks the worker can run at the same time
	Version string   `json:"version,omitempty"`
	Host    string   `json:"host,omitempty"`
	// Programs says which agent programs the worker's machine can run. It is empty until the worker
	// has searched the machine for them.
	Programs []fleet.AgentProgram `json:"programs,omitempty"`
}

// WorkBeat is a worker's heartbeat. Held has the state of each attempt that the worker runs.
type WorkBeat struct {
	Worker WorkerInfo `json:"worker"`
	Held   []HeldWork `json:"held"`
	// Gone reports that the worker runs no attempts and exits now. The coordinator then shows the
	// worker as offline at once.
	Gone bool `json:"gone,omitempty"`
}

// WorkKey identifies an attempt. Token is the fencing token that the worker got with the attempt.
// The coordinator refuses a request whose token is not that of the attempt.
type WorkKey struct {
	Attempt string `json:"attempt"`
	Token   int64  `json:"token"`
}

// HeldWork describes one attempt of a worker, in a [WorkBeat] or a [WorkRelease].
type HeldWork struct {
	WorkKey
	Now     WorkNow  `json:"now,omitzero"`
	Asking  []string `json:"asking,omitempty"`  // ids of the agent's open questions
	Dropped []string `json:"dropped,omitempty"` // WorkQuestion.Ref of each question that the agent has withdrawn
	// Delivered has the ids of the user's messages that the agent program has received.
	Delivered []string `json:"delivered,omitempty"`
}

// WorkNow says what an agent is doing. An empty State means that nothing has changed since the last
// heartbeat. Two fields of the embedded Progress are never set:
//   - Said is replaced by AgeMS, because the clocks of two machines differ.
//   - LogFrom is not needed, because the coordinator has its own copy of the log.
type WorkNow struct {
	fleet.Progress
	AgeMS int64 `json:"age_ms,omitempty"` // how long ago the agent reported Progress.Doing, in milliseconds
}

// Amount is an amount of money and tokens: a cost, or the limit of a cost.
type Amount = fleet.Amount

// WorkOrders is the coordinator's answer to a worker's heartbeat.
type WorkOrders struct {
	Orders  []WorkOrder `json:"orders"`
	LeaseMS int64       `json:"lease_ms"` // how long the worker owns its attempts without another heartbeat
	Seq     int64       `json:"seq"`      // sequence number of the last change; cursor for WorkClient.Wait
}

// WorkOrder is an instruction about one attempt that the worker runs.
type WorkOrder struct {
	Attempt string       `json:"attempt"`
	Stop    string       `json:"stop,omitempty"`  // why the worker must end the attempt; empty if the attempt continues
	Gone    bool         `json:"gone,omitempty"`  // the worker no longer owns the attempt: end it, report nothing
	Waits   bool         `json:"waits,omitempty"` // the agent waits for the user, so its working time does not grow
	LeaseMS int64        `json:"lease_ms,omitempty"`
	Answers []WorkAnswer `json:"answers,omitempty"`
	// Messages are the user's messages for the agent that were not delivered yet, the oldest first.
	// The coordinator sends them again until the worker reports that they were delivered.
	Messages []fleet.Message `json:"messages,omitempty"`
	// Interrupt can be true only if Stop is set. It means that the worker must end only the agent's
	// current turn (its work on the last message), so that the conversation can be continued. If
	// the agent program does not support this, the worker ends the agent.
	Interrupt bool `json:"interrupt,omitempty"`
	// Limit is what the attempt may spend in total, including what it has already spent. Zero means
	// no limit. The limit changes when other attempts spend money or tokens of the same budget.
	Limit Amount `json:"limit,omitzero"`
}

// WorkAnswer is the user's answer to a question of an agent.
type WorkAnswer struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty"`
	Denied bool   `json:"denied,omitempty"`
	// Rule is the rule that the user has made for later requests by giving this answer. It is empty
	// if the answer holds only for this question.
	Rule string `json:"rule,omitempty"`
}

// WorkClaim requests a task for a worker. Key is an idempotency key: requests with the same key get
// the same task. [WorkClient.Claim] requires a key, and a [WorkTurn] does not use it.
type WorkClaim struct {
	Worker string   `json:"worker"`
	Labels []string `json:"labels"`
	Agents []string `json:"agents,omitempty"` // names of the agents whose tasks the worker takes; empty means all
	Key    string   `json:"key"`
	// Accounts are the user's accounts of agent programs that the worker can use. The accounts of
	// each agent are in the order in which they should be used.
	Accounts []WorkAccount `json:"accounts,omitempty"`
	// Fallbacks reports whether the worker supports fallback agents. A task's fallback agents
	// continue the task while its own agent is rate limited.
	Fallbacks bool `json:"fallbacks,omitempty"`
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
	LeaseMS int64       `json:"lease_ms"`         // how long the worker owns the attempt without another heartbeat
	// Messages are the user's messages for the agent that were not delivered yet, the oldest first.
	// Earlier holds the messages that were delivered in earlier attempts.
	Messages []fleet.Message `json:"messages,omitempty"`
	Earlier  []fleet.Message `json:"earlier,omitempty"`
	// Grants are rules that allow or deny the agent's requests for permission. Users have made
	// these rules when they answered earlier questions.
	Grants []fleet.Grant `json:"grants,omitempty"`
}

// WorkAttempt describes the attempt that begins when a worker claims a task.
type WorkAttempt struct {
	ID           string `json:"id"`
	Number       int    `json:"number"` // 1 for the first attempt of the task
	Token        int64  `json:"token"`
	DeadlineInMS int64  `json:"deadline_in_ms,omitempty"` // time until the attempt times out; zero means never
	Carried      Amount `json:"carried,omitzero"`         // cost of earlier attempts in the same conversation
	Limit        Amount `json:"limit,omitzero"`           // the attempt's cost limit; zero means none
	Stop         string `json:"stop,omitempty"`           // why the worker must end the attempt; empty if the attempt continues
	Account      string `json:"account,omitempty"`        // account to use; empty means the one that the program is logged in to
	// Fallback is the agent that replaces the task's own agent, as AGENT or AGENT:MODEL. It is
	// empty if the task's own agent does the work.
	Fallback string `json:"fallback,omitempty"`
}

// WorkTask describes the task that a worker has claimed.
type WorkTask struct {
	Task  string          `json:"task"`
	Name  string          `json:"name,omitempty"`
	Spec  json.RawMessage `json:"spec"` // the task as it is in the plan
	Fresh bool            `json:"fresh,omitempty"`
	Tries int             `json:"tries,omitempty"`
	// SentBack reports whether a user has reviewed the task's change and sent it back to the agent.
	// If so, the worker must send the agent's complete last message in WorkFinish.Answer when the
	// attempt ends.
	SentBack bool `json:"sent_back,omitempty"`
}

// WorkRun describes the run of a claimed task.
type WorkRun struct {
	ID       string          `json:"id"`
	Name     string          `json:"name,omitempty"`
	Project  string          `json:"project,omitempty"`
	Base     string          `json:"base,omitempty"`  // commit that the tasks' worktrees start from
	Place    string          `json:"place,omitempty"` // name of the only worker that may run the tasks; empty means any
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
	// Account and Fallback are the account and the fallback agent that the previous attempt used;
	// see WorkAttempt. Diff describes what that attempt has changed. It is set only if a different
	// agent or model continues the task.
	Account  string          `json:"account,omitempty"`
	Fallback string          `json:"fallback,omitempty"`
	Diff     json.RawMessage `json:"diff,omitempty"`
}

// WorkTurn reports that an attempt has ended, and claims the next task in the same request.
type WorkTurn struct {
	Finish WorkFinish `json:"finish"`
	Claim  *WorkClaim `json:"claim,omitempty"` // nil means that the worker claims no further task
}

// WorkFinish says how an attempt ended. Activity, LogFrom and PID of the embedded Progress are not
// used.
type WorkFinish struct {
	WorkKey
	fleet.Progress
	fleet.Ending
	ResetInMS int64    `json:"reset_in_ms,omitempty"` // time until the agent's rate limit ends; zero if unknown
	Delivered []string `json:"delivered,omitempty"`   // ids of the user's messages that the agent program has received
}

// Turned is the coordinator's answer to a [WorkTurn]. Work is the next task. Work is nil if the
// WorkTurn claims no task, or if no task can start now.
type Turned struct {
	Outcome WorkOutcome `json:"outcome"`
	Work    *Work       `json:"work,omitempty"`
	LeaseMS int64       `json:"lease_ms"`
}

// WorkOutcome is the state of a task after an attempt has ended.
type WorkOutcome struct {
	Status    string `json:"status"`
	RetryInMS int64  `json:"retry_in_ms,omitempty"`
	Fresh     bool   `json:"fresh,omitempty"`
}

// WorkQuestion is an agent's question to the user. Ref is an id that the sender chooses: if an
// attempt sends two questions with the same Ref, the coordinator stores only the first.
type WorkQuestion struct {
	WorkKey
	Ref      string   `json:"ref"`
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	WithinMS int64    `json:"within_ms,omitempty"` // how long the agent waits for an answer; zero means forever
	Default  string   `json:"default,omitempty"`
	// Tool and Input are the tool call that the agent asks permission for. They are empty if the
	// question is not a request for permission. Suggestions are rules that would allow the call.
	// Dir is the agent's working directory.
	Tool        string          `json:"tool,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Suggestions []string        `json:"suggestions,omitempty"`
	Dir         string          `json:"dir,omitempty"`
}

// WorkRelease returns attempts to the coordinator, because the worker does not continue them. Their
// tasks are queued again. The attempts do not use up retries of the tasks.
type WorkRelease struct {
	Worker   string     `json:"worker"`
	Attempts []HeldWork `json:"attempts"`
}

// WorkNews is the coordinator's answer to [WorkClient.Wait].
type WorkNews struct {
	Seq    int64 `json:"seq"`    // sequence number of the last change; cursor for the next call of Wait
	Wake   bool  `json:"wake"`   // there may be a task to claim
	Attend bool  `json:"attend"` // there may be a WorkOrder for one of the worker's attempts
}

// LogPiece is a part of an attempt's output.
type LogPiece struct {
	WorkKey
	Offset int64 // byte offset of Data in the whole output of the attempt
	Data   []byte
	Done   bool // this is the last piece of the output
}

// The limits of what a worker may send. All are in bytes, except MaxWorkDenied.
const (
	MaxLogPiece   = 256 << 10
	MaxWorkAnswer = 512 << 10 // maximum length of the agent's answer in a WorkFinish
	MaxWorkChecks = 128 << 10
	MaxWorkDiff   = 128 << 10
	MaxWorkDenied = 50       // maximum number of entries in WorkFinish.Denied
	MaxWorkText   = 64 << 10 // maximum length of a summary or a question
)

// LogGap is the error code for a [LogPiece] that begins after the end of the stored log, so that
// bytes between the two are missing. Error.Offset is the length of the stored log. The worker must
// send the output from this offset on.
const LogGap = "log_gap"

// WorkClient sends the requests of gaffer's workers.
type WorkClient struct{ conn *connection }

// Heartbeat sends a worker's heartbeat and returns the coordinator's orders for the worker. A
// failed request is not retried, because the next heartbeat follows soon and has newer contents.
func (c *WorkClient) Heartbeat(ctx context.Context, b WorkBeat) (WorkOrders, error) {
	return askAll[WorkOrders](ctx, c.conn, post(b, false, "v1", "work", "beat"), "orders")
}

// Claim claims a task. If no task can start now, Claim returns an error that wraps an [*Error] with
// the code [NoTasks].
func (c *WorkClient) Claim(ctx context.Context, q WorkClaim) (Claimed, error) {
	return askAll[Claimed](ctx, c.conn, post(q, q.Key != "", "v1", "work", "claim"), "work")
}

// Turn reports the end of an attempt. If t contains a claim, Turn also claims the next task. A
// repeated request gets the same answer and claims no further task.
func (c *WorkClient) Turn(ctx context.Context, t WorkTurn) (Turned, error) {
	return askAll[Turned](ctx, c.conn, post(t, true, "v1", "work", "turn"), "outcome")
}

// Ask asks the user a question, and returns the id of the question. The request is retried only if
// the question has a Ref, which serves as idempotency key.
func (c *WorkClient) Ask(ctx context.Context, q WorkQuestion) (string, error) {
	return ask[string](ctx, c.conn, post(q, q.Ref != "", "v1", "work", "ask"), "question")
}

// Release returns attempts to the coordinator, which queues their tasks again. The caller must have
// stopped the agents of these attempts, or not have started them.
func (c *WorkClient) Release(ctx context.Context, r WorkRelease) error {
	_, err := c.conn.do(ctx, post(r, true, "v1", "work", "release"))
	return err
}

// Held returns the attempts that, as far as the coordinator knows, the worker is running.
func (c *WorkClient) Held(ctx context.Context, worker string) ([]Work, error) {
	return ask[[]Work](ctx, c.conn, get(url.Values{"worker": {worker}}, "v1", "work", "held"), "held")
}

// Wait waits for a change that concerns the worker and has a sequence number higher than the
// parameter cursor. It also returns when the coordinator's timeout has passed. If the coordinator
// does not have all changes after cursor, Wait returns at once, with Wake and Attend set. That is
// always so if cursor is -1, which a new worker passes because it knows no sequence number yet.
func (c *WorkClient) Wait(ctx context.Context, worker string, cursor int64) (WorkNews, error) {
	query := url.Values{"worker": {worker}, "after": {strconv.FormatInt(cursor, 10)}}
	return askAll[WorkNews](ctx, c.conn, get(query, "v1", "work", "wait"), "seq")
}

// SendLog appends a piece of at most [MaxLogPiece] bytes to the log of an attempt. The coordinator
// skips bytes of the piece that it already has. SendLog returns the offset of the next byte that
// the coordinator expects. A caller that wants to know only this offset sends a piece without data.
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
