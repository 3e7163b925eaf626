package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
)

// What gaffer's own workers and a coordinator say to each other. Every time is a
// duration in milliseconds from the moment of the message on, so that no two
// clocks are compared. A field that is not known is ignored and one that is
// missing is its zero value: older and newer programs understand each other.

// WorkerInfo is what a worker says of itself.
type WorkerInfo struct {
	ID      string   `json:"id"` // its own, whatever it is called
	Name    string   `json:"name,omitempty"`
	Labels  []string `json:"labels,omitempty"`
	Agents  []string `json:"agents,omitempty"` // whose tasks it takes; without any, all
	Slots   int      `json:"slots,omitempty"`  // how many tasks it runs at once
	Version string   `json:"version,omitempty"`
	Host    string   `json:"host,omitempty"`
}

// WorkBeat says that a worker is alive, and what it holds does.
type WorkBeat struct {
	Worker WorkerInfo `json:"worker"`
	Held   []HeldWork `json:"held"`
	// Gone says that the worker holds nothing and ends now: it is offline at once.
	Gone bool `json:"gone,omitempty"`
}

// WorkKey is an attempt with the right to speak for it.
type WorkKey struct {
	Attempt string `json:"attempt"`
	Token   int64  `json:"token"`
}

// HeldWork is an attempt that a worker says it runs.
type HeldWork struct {
	WorkKey
	Now     WorkNow  `json:"now,omitzero"`
	Asking  []string `json:"asking,omitempty"`  // questions whose answer it waits for
	Dropped []string `json:"dropped,omitempty"` // the refs of questions that the agent has withdrawn
}

// WorkNow is what an agent does. Without a state there is nothing new to say.
type WorkNow struct {
	State       string `json:"state,omitempty"` // running, waiting, retrying
	Doing       string `json:"doing,omitempty"`
	Source      string `json:"source,omitempty"` // how the worker knows
	AgeMS       int64  `json:"age_ms,omitempty"` // since it is so
	PID         int    `json:"pid,omitempty"`
	Log         string `json:"log,omitempty"` // on the worker's machine
	Thread      string `json:"thread,omitempty"`
	Spent       Amount `json:"spent,omitzero"`
	Compacted   string `json:"compacted,omitempty"`
	Compactions int    `json:"compactions,omitempty"`
}

// Amount is what something costs.
type Amount struct {
	MicroUSD int64 `json:"micro_usd,omitempty"`
	Tokens   int64 `json:"tokens,omitempty"`
}

// WorkOrders are the answer to a beat.
type WorkOrders struct {
	Orders  []WorkOrder `json:"orders"`
	LeaseMS int64       `json:"lease_ms"` // how long an attempt lives without a beat
	Seq     int64       `json:"seq"`      // of the last change, to wait from
}

// WorkOrder is what a worker must know about an attempt that it holds.
type WorkOrder struct {
	Attempt string       `json:"attempt"`
	Stop    string       `json:"stop,omitempty"`  // why it is to be ended
	Gone    bool         `json:"gone,omitempty"`  // it is not the worker's any more: end it and say nothing
	Waits   bool         `json:"waits,omitempty"` // its agent waits for a person, which is no work
	LeaseMS int64        `json:"lease_ms,omitempty"`
	Answers []WorkAnswer `json:"answers,omitempty"`
}

// WorkAnswer is an answer to a question of an agent.
type WorkAnswer struct {
	ID     string `json:"id"`
	Answer string `json:"answer,omitempty"`
	Denied bool   `json:"denied,omitempty"`
}

// WorkClaim asks for a task. The same key gives the same answer.
type WorkClaim struct {
	Worker string   `json:"worker"`
	Labels []string `json:"labels"`
	Agents []string `json:"agents,omitempty"` // whose tasks it takes; without any, all
	Key    string   `json:"key"`
}

// Claimed is a task that a worker was given.
type Claimed struct {
	Work    Work  `json:"work"`
	LeaseMS int64 `json:"lease_ms"`
}

// Work is a task that a worker is to run, and with what right.
type Work struct {
	Attempt WorkAttempt `json:"attempt"`
	Task    WorkTask    `json:"task"`
	Run     WorkRun     `json:"run"`
	Before  *WorkBefore `json:"before,omitempty"` // the attempt before it, if there was one
	LeaseMS int64       `json:"lease_ms"`         // what is left of its lease
}

// WorkAttempt is the try that a worker makes.
type WorkAttempt struct {
	ID           string `json:"id"`
	Number       int    `json:"number"` // from 1
	Token        int64  `json:"token"`
	DeadlineInMS int64  `json:"deadline_in_ms,omitempty"` // ended after this; never, if zero
	Carried      Amount `json:"carried,omitzero"`         // spent in the conversation before
	Stop         string `json:"stop,omitempty"`           // why it is to be ended
}

// WorkTask is what there is to do.
type WorkTask struct {
	Task  string          `json:"task"`
	Name  string          `json:"name,omitempty"`
	Spec  json.RawMessage `json:"spec"` // the plan's words
	Fresh bool            `json:"fresh,omitempty"`
	Tries int             `json:"tries,omitempty"`
}

// WorkRun is the run that a task is of.
type WorkRun struct {
	ID       string          `json:"id"`
	Name     string          `json:"name,omitempty"`
	Project  string          `json:"project,omitempty"`
	Base     string          `json:"base,omitempty"`  // the commit that worktrees start from
	Place    string          `json:"place,omitempty"` // the only worker that runs it
	Workflow json.RawMessage `json:"workflow,omitempty"`
}

// WorkBefore is how the attempt before went.
type WorkBefore struct {
	ID      string `json:"id"`
	Number  int    `json:"number"`
	Worker  string `json:"worker,omitempty"`
	Class   string `json:"class,omitempty"`
	Summary string `json:"summary,omitempty"`
	Thread  string `json:"thread,omitempty"`
}

// WorkTurn reports the end of an attempt and asks for the next task.
type WorkTurn struct {
	Finish WorkFinish `json:"finish"`
	Claim  *WorkClaim `json:"claim,omitempty"` // nil asks for none
}

// WorkFinish is how an attempt ended.
type WorkFinish struct {
	WorkKey
	Class       string          `json:"class,omitempty"` // of the failure; empty for none
	Summary     string          `json:"summary,omitempty"`
	Thread      string          `json:"thread,omitempty"`
	Exit        int             `json:"exit"`
	Log         string          `json:"log,omitempty"`
	Spent       Amount          `json:"spent,omitzero"`
	Checks      json.RawMessage `json:"checks,omitempty"`
	Diff        json.RawMessage `json:"diff,omitempty"` // a fleet.Diff, of a task that has a worktree
	Answer      string          `json:"answer,omitempty"`
	ResetInMS   int64           `json:"reset_in_ms,omitempty"` // until a rate limit ends
	Denied      []string        `json:"denied,omitempty"`      // what was refused to the agent
	Compacted   string          `json:"compacted,omitempty"`
	Compactions int             `json:"compactions,omitempty"`
}

// Turned is what followed from a turn.
type Turned struct {
	Outcome WorkOutcome `json:"outcome"`
	Work    *Work       `json:"work,omitempty"`
	LeaseMS int64       `json:"lease_ms"`
}

// WorkOutcome is what followed from the end of an attempt.
type WorkOutcome struct {
	Status    string `json:"status"` // of the task
	RetryInMS int64  `json:"retry_in_ms,omitempty"`
	Fresh     bool   `json:"fresh,omitempty"`
}

// WorkQuestion is an agent's question to a person. The same ref of an attempt is
// the same question.
type WorkQuestion struct {
	WorkKey
	Ref      string   `json:"ref"`
	Text     string   `json:"text"`
	Options  []string `json:"options,omitempty"`
	WithinMS int64    `json:"within_ms,omitempty"` // for ever, if zero
	Default  string   `json:"default,omitempty"`
}

// WorkRelease hands attempts back that a worker has ended: they are queued again,
// as if they had not been tried.
type WorkRelease struct {
	Worker   string     `json:"worker"`
	Attempts []HeldWork `json:"attempts"`
}

// WorkNews says what has changed for a worker.
type WorkNews struct {
	Seq    int64 `json:"seq"`    // to wait from
	Wake   bool  `json:"wake"`   // there may be tasks to claim
	Attend bool  `json:"attend"` // there may be orders or answers
}

// LogPiece is a piece of what an attempt has said.
type LogPiece struct {
	WorkKey
	Offset int64 // of Data in all that the attempt has said
	Data   []byte
	Done   bool // nothing follows
}

// The limits of what a worker sends, in bytes.
const (
	MaxLogPiece   = 256 << 10
	MaxWorkAnswer = 512 << 10 // of a finish's answer
	MaxWorkChecks = 128 << 10
	MaxWorkDiff   = 128 << 10
	MaxWorkDenied = 50       // entries of a finish's denied
	MaxWorkText   = 64 << 10 // of a summary or a question
)

// LogGap is the code of a piece of a log that does not follow what is there. The
// [Error]'s Offset is where to go on.
const LogGap = "log_gap"

// BeatWork says that a worker is alive, and returns what it must know. It is
// never repeated: the next one says more.
func (c *Client) BeatWork(ctx context.Context, b WorkBeat) (WorkOrders, error) {
	return whole[WorkOrders](ctx, c, post(b, false, "v1", "work", "beat"), "orders")
}

// ClaimWork takes a task. If none can start, the [Error]'s code is [NoTasks].
func (c *Client) ClaimWork(ctx context.Context, q WorkClaim) (Claimed, error) {
	return whole[Claimed](ctx, c, post(q, q.Key != "", "v1", "work", "claim"), "work")
}

// TurnWork reports the end of an attempt and takes the next task, if there is one.
func (c *Client) TurnWork(ctx context.Context, t WorkTurn) (Turned, error) {
	return whole[Turned](ctx, c, post(t, true, "v1", "work", "turn"), "outcome")
}

// AskWork asks a person a question, and returns its id.
func (c *Client) AskWork(ctx context.Context, q WorkQuestion) (string, error) {
	return ask[string](ctx, c, post(q, q.Ref != "", "v1", "work", "ask"), "question")
}

// ReleaseWork hands attempts back that have been ended.
func (c *Client) ReleaseWork(ctx context.Context, r WorkRelease) error {
	_, err := c.do(ctx, post(r, true, "v1", "work", "release"))
	return err
}

// HeldWork returns what the coordinator thinks that a worker runs.
func (c *Client) HeldWork(ctx context.Context, worker string) ([]Work, error) {
	return ask[[]Work](ctx, c, get(url.Values{"worker": {worker}}, "v1", "work", "held"), "held")
}

// AwaitWork returns when there is news for a worker after a change, or after a
// while. A negative number asks for the last change, at once.
func (c *Client) AwaitWork(ctx context.Context, worker string, after int64) (WorkNews, error) {
	query := url.Values{"worker": {worker}, "after": {strconv.FormatInt(after, 10)}}
	return whole[WorkNews](ctx, c, get(query, "v1", "work", "wait"), "seq")
}

// SendLog adds a piece to the log of an attempt, at most [MaxLogPiece], and returns
// the offset of what is wanted next. What the coordinator has already is passed
// over. An empty piece asks for that offset alone.
func (c *Client) SendLog(ctx context.Context, p LogPiece) (next int64, err error) {
	query := url.Values{
		"attempt": {p.Attempt}, "token": {strconv.FormatInt(p.Token, 10)}, "offset": {strconv.FormatInt(p.Offset, 10)},
	}
	if p.Done {
		query.Set("done", "1")
	}
	q := post(bytesBody(p.Data), true, "v1", "work", "logs")
	q.query = query
	return ask[int64](ctx, c, q, "next")
}

// bytesBody is a body that is no JSON.
type bytesBody []byte

// whole returns an answer that has more than one member, of which one must be
// there.
func whole[T any](ctx context.Context, c *Client, q call, must string) (T, error) {
	var value T
	body, err := c.do(ctx, q)
	if err != nil {
		return value, err
	}
	var there json.RawMessage
	if err := members(body).pick(must, &there); err != nil {
		return value, fmt.Errorf("%s: %w", q, err)
	}
	if err := json.Unmarshal(body, &value); err != nil {
		return value, fmt.Errorf("%s: %w", q, badAnswer("the answer: "+printable(err.Error())))
	}
	return value, nil
}
