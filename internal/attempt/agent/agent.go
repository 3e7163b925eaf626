// Package agent contains one adapter for each agent program. An adapter says how to
// start its program, what the program's output means, and whether the work was done.
// The package is pure: it starts no process and reads no clock. So recorded output of
// the programs can be replayed in tests.
package agent

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/plan/secret"
)

// Request describes what an agent has to do in one attempt of a task.
type Request struct {
	Prompt string
	Model  string   // empty means the agent's default model
	Argv   []string // the program and its arguments; for agent "command" only
	// Thread is the id of the conversation to resume. But if Begin is set, a new conversation
	// begins, and Thread is the id for it; some programs ignore this id.
	Thread string
	Begin  bool
	Fork   *Fork // nil if the new conversation is not a copy of another one
	// Used is the usage (tokens and cost) of the conversation before this attempt. It is needed
	// because some programs include it in the usage that they report.
	Used Usage
	// LimitUSD is what the attempt may spend, in US dollars, for programs that enforce such a limit
	// themselves. 0 means no limit.
	LimitUSD float64 `json:",omitzero"`
	// LimitTokens is how many tokens the attempt may use. 0 means no limit. If there is a limit, a
	// program with several modes is started in a mode that reports its usage while it works.
	LimitTokens int64  `json:",omitzero"`
	Policy      Policy // how to handle requests for permission; empty means Ask
	// Permissions are rules for requests for permission. gaffer's engine applies the rules to the
	// requests that it gets from the adapter. If the program can enforce rules itself, the adapter
	// also passes the rules to the program.
	Permissions Permissions
	// Sandbox says in which sandbox the program runs. Empty means: start the program as if there
	// were no sandbox.
	Sandbox Sandbox
	// Writable are the folders that the program must be able to write to in its own sandbox,
	// besides the folder in which the agent works. For example, a git commit writes to such
	// folders.
	Writable []string
}

// Fork says which conversation is copied, and how much of it.
type Fork struct {
	Thread string // id of the conversation that is copied
	Point  string // the program's own id of the last line or turn that is copied; empty means the whole conversation
	// File is the path of the file with the conversation, or empty if unknown. Some programs need
	// it to find a conversation that began in another folder.
	File string
	// Dir is the folder in which the agent must work. It is passed to programs that would otherwise
	// work in the folder in which the copied conversation took place.
	Dir string
}

// ConversationFinder is an [Agent] whose program needs a file path to find a conversation that
// began in another folder.
type ConversationFinder interface {
	// ConversationFiles returns a pattern for the paths of the files that may contain a
	// conversation, in the syntax of [path/filepath.Glob]. The parameter thread is the id of the
	// conversation. The function getenv returns the value of one of the program's environment
	// variables.
	ConversationFiles(thread string, getenv func(string) string) string
}

// Sandbox says in which sandbox a program runs.
type Sandbox string

// Values of Sandbox.
const (
	OwnSandbox Sandbox = "own"     // the program makes a sandbox for the commands of its agent
	OwnOffline Sandbox = "offline" // like OwnSandbox, but the commands have no network
	InAnOuter  Sandbox = "outer"   // the program as a whole is in a sandbox, and cannot make one of its own
)

// Policy says how an agent's questions and requests for permission are handled.
type Policy string

// Values of Policy.
const (
	Ask   Policy = "ask"   // rules decide; the user decides each request that no rule covers
	Rules Policy = "rules" // rules decide; each request that no rule covers is denied
	Deny  Policy = "deny"  // each request is denied immediately, whatever the rules say
	Allow Policy = "allow" // each request is granted, unless a rule denies it or leaves it to the user
)

// Launch describes how to start a program.
type Launch struct {
	Argv  []string
	Env   []string // variables to add to the environment, as NAME=value
	Input []byte   // written to the program's stdin at its start
	Open  bool     // keep stdin open after Input, to write answers; if false, close it
	// File, if not nil, is the content of a file that must exist before the program
	// starts. Its path replaces every [FileArg] in Argv.
	File []byte
	// Linger is how long the program may keep running after its final message, once gaffer has
	// closed its stdin. After that time gaffer stops the program, because some programs never exit
	// by themselves. 0 means that gaffer does not stop it.
	Linger time.Duration
}

// FileArg is a placeholder in [Launch.Argv]. The path of the file with the content [Launch.File]
// replaces it.
const FileArg = "{prompt_file}"

// Agent is an adapter for one kind of agent program.
type Agent interface {
	// Launch returns how to start the program for a request.
	Launch(Request) (Launch, error)
	// References returns environment variables whose values are references to secrets.
	// The caller that starts the program resolves them.
	References() map[string]secret.Value
	// Reader returns a reader that interprets the program's output in one attempt.
	Reader(Request) Reader
}

// Reader interprets the output of one attempt, line by line. If another process reads the same
// output again from its beginning, it gets the same result.
type Reader interface {
	// Line interprets one line of output, from stdout or stderr, and returns what the line says
	// about the attempt. The parameter line does not include the newline at the end. Lines longer
	// than MaxLine are cut.
	Line(line []byte) []Signal
	// Verdict decides how the attempt ended. It uses the first of these rules that applies:
	//   - If gaffer stopped the program, the reason for that decides. The reason [Lingered] does
	//     not count, because it says nothing about the work.
	//   - For a program without a protocol, its exit code and the output lines that match its
	//     [Markers] decide.
	//   - For other programs, the final message and the denied requests for permission decide.
	Verdict(Exit) Verdict
}

// MaxLine is the largest number of bytes of one line that a Reader gets. Longer lines are cut.
const MaxLine = 1 << 20

// Signal is what a Reader has learned from one line of output. A zero field means that the line
// says nothing about it.
type Signal struct {
	State    State  // the agent's new state; empty if the line does not show it
	Progress bool   // the line shows that the work has advanced; output alone is not progress
	Doing    string // short description of the current activity: "Bash: go test ./..."
	Thread   string // id of the agent's conversation
	Ask      *Question
	// Closed says that the program does not wait for something any more. It is the ID of the
	// [Question] in an earlier Ask, or the ReplyTo of an earlier Reply.
	Closed string
	Reply  []byte // bytes to write to the program's stdin immediately, such as an automatic answer
	// ReplyTo identifies Reply. If a gaffer process reads the output again, it gets the same Reply
	// with the same ReplyTo, and must not write it a second time.
	ReplyTo string
	Usage   *Usage // total usage of the attempt so far; replaces earlier values
	Context Context
	Ended   bool // the program has printed its final message and should exit
	// Resumed says that the program has started to work again after its final message, because the
	// user sent another message.
	Resumed bool
	// Delivered is the [MessageKey] of a message of the user that the program has passed to its
	// model.
	Delivered string
	// Refused is the [MessageKey] of a message of the user that the program will not pass to its
	// model.
	Refused string
	// Compacted describes how the agent shortened its conversation, if it did.
	Compacted string
}

// Steerable is a [Reader] of a program that accepts messages of the user while it runs.
// Its methods return the bytes to write to the program's stdin.
type Steerable interface {
	// Message returns bytes that pass a message to the program, or nil while the program cannot
	// accept one. The program passes the message to its model with the next request to the model,
	// or at once if now is set and the program can do that. [Signal.Delivered] reports that the
	// model has got the message.
	Message(id, text string, now bool) []byte
	// Withdraw returns bytes that make the program drop a message that it has not passed to its
	// model yet. It returns nil if the program cannot do that.
	Withdraw(id string) []byte
	// Interrupt returns bytes that end the agent's current turn, which is its work on the prompt or
	// on a message. It returns nil if no turn runs, or if the program cannot end a turn this way.
	Interrupt() []byte
}

// MessageKey returns the UUID by which an agent program identifies the user's message with this id.
func MessageKey(id string) string { return UUID(id) }

// UUID returns a UUID derived from text: the same text always gives the same UUID.
func UUID(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // UUID version 8: custom content
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// State is the state of a running agent.
type State string

// Values of State.
const (
	Running  State = "running"
	Waiting  State = "waiting"  // the agent waits for the user
	Retrying State = "retrying" // the agent waits for the model's servers
)

// Question is a question or a request for permission that the user must answer.
type Question struct {
	ID      string
	Text    string
	Options []string // possible answers; empty for free text
	// Tool and Input are the tool call that the agent asks permission for. They are empty for any
	// other question. Suggestions are permission rules that would allow this call.
	Tool        string
	Input       json.RawMessage
	Suggestions []string
	// Reply returns bytes that give the program an answer when they are written to its stdin.
	Reply func(Answer) []byte
}

// Answer is the user's answer to a Question.
type Answer struct {
	Text string // one of the question's options, or free text
	Deny bool   // the user denies the request; Text is the reason
	// Rule is the permission rule that the user has made with this answer; empty if the answer is
	// only for this request. A program that can remember rules keeps the rule until the program
	// ends.
	Rule string
}

// Context says how much of the model's context window a conversation uses, in tokens.
type Context struct {
	Tokens int64 // size of the model's last request and its answer
	Window int64 // size of the context window; 0 if the program does not report it
}

// Usage holds the tokens and the cost of an attempt or of a conversation.
type Usage struct {
	Input, Output int64   // number of tokens
	Cached        int64   // the part of Input that came from the model's cache
	USD           float64 // cost in US dollars; 0 if the program does not report it
}

// Exit describes how the process ended.
type Exit struct {
	Code       int    // exit code; -1 if a signal killed the process
	Signal     string // the signal that killed the process, such as SIGTERM
	StopReason string // why gaffer stopped the process, such as a [failure.Class] or Lingered; empty if gaffer did not stop it
	// At is when the process ended, in the machine's time zone. Some programs print the end of a
	// rate limit as a time of day without a date. At is needed to find the date.
	At time.Time
}

// linger is the value of [Launch.Linger] that the adapters use: how long a program may keep running
// after its final message. The program runs its own hooks in that time.
const linger = 20 * time.Second

// Lingered is the [Exit.StopReason] of a program that has printed its final message, but did not
// exit and was therefore stopped. It says nothing about whether the work was done.
const Lingered = "lingered"

// Verdict says whether the work was done.
type Verdict struct {
	Class   failure.Class
	Summary string // last part of the agent's final message or of the error, for display
	// Answer is the agent's final message if Done is set, else empty. If the message is longer than
	// 256 KiB, Answer is its last 256 KiB.
	Answer string
	Reset  time.Time // when a rate limit ends; zero if unknown
	Denied []string  // requests for permission that were denied, even if the agent continued
	Done   bool      // the agent reports that the work is done
}
