// Package agent knows the agent programs: how each is started, what its output
// means, and whether it has done its work. It is pure: it starts nothing and
// reads no clock, so that everything the programs were ever seen to print can
// be a test.
package agent

import (
	"time"

	"gaffer/internal/engine/failure"
	"gaffer/internal/plan/secret"
)

// Request is what a task asks of an agent.
type Request struct {
	Prompt string
	Model  string   // empty is the agent's own choice
	Argv   []string // of agent command only
	Thread string   // the conversation: to be resumed, or, if Begin, to be begun with this id where the agent lets us choose
	Begin  bool
	Used   Usage  // by the conversation before this attempt: some programs count it again
	Policy Policy // what becomes of requests for permission; empty is Ask
}

// Policy is what becomes of an agent's question or request for permission.
type Policy string

// The policies.
const (
	Ask   Policy = "ask"   // a person answers
	Deny  Policy = "deny"  // it is refused at once
	Allow Policy = "allow" // it is granted at once
)

// Launch is how a program is started.
type Launch struct {
	Argv  []string
	Env   []string // NAME=value, added to the environment
	Input []byte   // what its stdin begins with
	Open  bool     // stdin stays open after Input, for answers; otherwise it ends there
	// File, if not nil, is what a file must hold before the program starts. Its
	// path takes the place of every [FileArg] in Argv.
	File []byte
	// Linger is how long the program may live on after its last word, when its
	// stdin has ended. Some never exit by themselves.
	Linger time.Duration
}

// FileArg stands for the path of [Launch.File] within an argument.
const FileArg = "{prompt_file}"

// Agent is a kind of agent program.
type Agent interface {
	// Launch says how to start the program for a request.
	Launch(Request) (Launch, error)
	// References are variables of its environment whose values are elsewhere.
	// Whoever starts it resolves them.
	References() map[string]secret.Value
	// Reader returns a reader for the output of one attempt.
	Reader(Request) Reader
}

// Reader makes sense of the output of one attempt, line by line. The output may
// be read again from its beginning by another process, with the same result.
type Reader interface {
	// Line takes a line of output without its end. Stdout and stderr are
	// mixed. A line longer than MaxLine is cut there.
	Line(line []byte) []Signal
	// Verdict says how the attempt ended: by the last word of the program
	// first, then by whether it was told to stop, then by its exit code.
	Verdict(Exit) Verdict
}

// MaxLine is how much of a line is read.
const MaxLine = 1 << 20

// Signal is something that the output says.
type Signal struct {
	State    State  // what the agent does now; empty if this says nothing about it
	Progress bool   // the work has come on; output alone is no progress
	Doing    string // in a few words, for a person: "Bash: go test ./..."
	Thread   string // the conversation's id
	Ask      *Question
	Closed   string // the id of a question or reply that the agent waits for no more
	Reply    []byte // to be written to stdin at once, such as an answer that needs no person
	ReplyTo  string // what Reply is for. Whoever reads the output again meets it again, and must write it once only
	Usage    *Usage // of the attempt so far, not to be added up
	Ended    bool   // the last word was spoken; what follows is exit
	// Compacted says that the conversation was made shorter, and how.
	Compacted string
}

// State is what an agent does.
type State string

// The states.
const (
	Running  State = "running"
	Waiting  State = "waiting"  // for a person
	Retrying State = "retrying" // for the model's servers
)

// Question is something that the agent waits for a person to decide.
type Question struct {
	ID      string
	Text    string
	Options []string // what may be answered; empty if anything may
	// Reply turns an answer into what is to be written to stdin.
	Reply func(Answer) []byte
}

// Answer is a person's word.
type Answer struct {
	Text string // one of the options, or free text
	Deny bool   // refused, with Text as the reason
}

// Usage is what an attempt has used so far.
type Usage struct {
	Input, Output int64   // tokens
	USD           float64 // 0 if the program does not say
}

// Exit is how the process ended.
type Exit struct {
	Code   int       // -1 if it died of a signal
	Signal string    // that it died of, such as SIGTERM
	Told   string    // why we told it to stop: a failure class or Lingered; empty if we did not
	At     time.Time // when it ended, in the zone of the machine. Some programs tell the time of day only
}

// Lingered is why a program is told to stop that has spoken its last word and
// does not exit. Unlike every other reason it says nothing about the work.
const Lingered = "lingered"

// Verdict is whether the work was done.
type Verdict struct {
	Class   failure.Class
	Summary string    // the agent's last words, or what went wrong; for a person
	Answer  string    // all of its last words, of work that it says is done
	Reset   time.Time // of a rate limit, if it is known when it ends
	Denied  []string  // what was refused to it, also if it went on without
	Done    bool      // the agent says that the work is done
}
