// Package runner runs one attempt of a task. It starts the agent under a supervisor, reads the
// agent's output, passes the agent's questions to the [Owner] and the answers to the agent, stops
// the agent, judges how it ended, and runs the commands that check its work.
//
// The attempt's folder contains the [Job], and the ids of the questions that were answered and of
// the messages that were sent. So if this process dies, another gaffer process can take over the
// attempt with [Adopt] and come to the same result.
package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/pause"
	"gaffer/internal/plan/secret"
)

// Job describes what an attempt has to do. It is stored in the attempt's folder, as part of the
// data that the supervisor gets.
type Job struct {
	Attempt  string        `json:"attempt"`
	Agent    string        `json:"agent"` // the agent's name, for another gaffer process that takes over the attempt
	Request  agent.Request `json:"request"`
	Work     string        `json:"work"` // the folder the agent works in
	Log      string        `json:"log"`
	LogFrom  int64         `json:"log_from"` // offset in the log at which this attempt's output begins, in bytes
	Deadline time.Time     `json:"deadline,omitzero"`
	Stall    time.Duration `json:"stall,omitempty"` // maximum time without progress; 0 means no limit
	Verify   []string      `json:"verify,omitempty"`
	Messages []string      `json:"messages,omitempty"` // ids of the user's messages that the prompt contains
	Limit    fleet.Amount  `json:"limit,omitzero"`     // what the attempt may spend; zero means no limit
	// Grace is how long the agent may take to exit after each stop signal. 0 means the supervisor's
	// default.
	Grace time.Duration `json:"grace,omitempty"`

	Sandbox sandbox.Spec `json:"sandbox,omitzero"` // the sandbox for the agent and for the commands in Verify

	// Env has environment variables for the agent and for the commands in Verify, in addition to
	// the environment of this process. It is not stored, because it may contain API keys.
	Env []string `json:"-"`
	// Secrets has environment variables whose values are references to secrets. The references are
	// resolved when a program starts, and the resolved values are not stored.
	Secrets map[string]secret.Value `json:"-"`
	// Account is the user's account with which the agent works. It is zero if the agent's program
	// uses its own login.
	Account account.Account `json:"-"`
}

// Result describes how an attempt ended. The fields Source, Said, Log and Diff of the embedded
// structs are not set. Answer is set only if the work was done.
type Result struct {
	fleet.Progress // the agent's progress as last reported
	fleet.Ending
	Reset     time.Time // when a rate limit ends; zero if there is none or its end is unknown
	Left      []int     // pids of the agent's processes that could not be ended
	Delivered []string  // ids of the user's messages that the agent has received
}

// Activity describes what the agent is doing. The fields Source, Said and Log of the embedded
// Progress are not set.
type Activity struct {
	fleet.Progress
	// Unproven says why gaffer cannot tell whether the agent has ended, as a text from
	// [UnprovenText]. It is usually empty. If it is not, the field Doing has the same text.
	Unproven string
}

// Owner is notified of events while an attempt runs. Its methods must not block. Questions and
// messages are identified by their ids.
type Owner interface {
	Doing(Activity)
	Asked(q agent.Question, work string) // work is the folder in which the agent works
	Closed(question string)              // the agent no longer waits for an answer to this question
	Delivered(message string)            // the agent has received this message of the user
}

// Options has what an attempt needs in addition to its [Job].
type Options struct {
	Now        func() time.Time
	Supervisor supervisor.Options
	Home       string           // a folder above the folders of all attempts, see Home in supervisor.Spec
	Pool       *supervisor.Pool // supervisor processes to reuse; nil means a new one for each program
	Owner      Owner
	// Secrets resolves references to secrets in environment variables.
	Secrets secret.Resolver
	// Machine makes sandboxes for programs. If it is nil, Start fails for a job that needs a
	// sandbox.
	Machine *sandbox.Machine
	// Until is the end of the lease: the time at which the supervisor freezes the agent. A call of
	// [Attempt.Extend] can postpone it. Zero means never.
	Until time.Time
	// Abandon is a time limit for a frozen agent, that is, an agent whose processes are stopped
	// because its lease has ended. If no worker is connected to the agent's supervisor for this
	// time, the supervisor kills the agent. See [supervisor.Spec].
	Abandon time.Duration
	// Terminal returns a terminal in which users can watch the agent. The parameter offset is where
	// the agent's output begins in the log, in bytes. There is no terminal if Terminal is nil, if
	// it returns nil, or if Pool is nil.
	Terminal func(offset int64) *supervisor.Terminal
}

// startGrace is how long the start of an agent may continue after the context of [Start] has ended.
const startGrace = 10 * time.Second

// launch starts the agent under a supervisor, in a terminal if there is one. If ctx ends during the
// start, the start continues for at most startGrace. If launch gave up at once, it might kill
// a supervisor that has already started the agent, and the attempt would be lost.
func (o Options) launch(ctx context.Context, dir string, spec supervisor.Spec, from int64) (*supervisor.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, &supervisor.StartError{Err: err}
	}
	starting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		pause.For(starting, startGrace)
		cancel()
	})
	defer stop()
	spec.Home = o.Home
	if o.Terminal != nil && o.Pool != nil {
		if in := o.Terminal(from); in != nil {
			return o.Pool.StartIn(starting, dir, spec, *in)
		}
	}
	return o.supervise(starting, dir, spec)
}

// supervise starts a program under a supervisor from o.Pool. If o.Pool is nil, it starts a new
// supervisor.
func (o Options) supervise(ctx context.Context, dir string, spec supervisor.Spec) (*supervisor.Process, error) {
	spec.Home = o.Home
	if o.Pool != nil {
		return o.Pool.Start(ctx, dir, spec)
	}
	return supervisor.Start(ctx, dir, spec, o.Supervisor)
}

// folder is the path of an attempt's folder.
type folder string

const (
	answeredFile = "answered"
	messagesFile = "messages"
	promptFile   = "prompt.md"
)

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// agentFolder returns the folder that the supervisor uses for the n-th launch of the agent. The
// first launch has n = 1. There is a second or later launch only if the earlier ones failed.
func (f folder) agentFolder(n int) string {
	if n == 1 {
		return string(f) // most attempts have only one launch, and need no other folder
	}
	return f.path("agent-" + strconv.Itoa(n))
}

// launches returns how often a launch of the agent was tried so far.
func (f folder) launches() (int, error) {
	for n := 0; ; n++ {
		used, err := supervisor.Used(f.agentFolder(n + 1))
		if err != nil || !used {
			return n, err
		}
	}
}

// ReadJob returns the job of the attempt in the folder dir, as stored by the last launch of its
// agent. The error is fs.ErrNotExist if no launch has stored a job.
func ReadJob(dir string) (Job, error) {
	f := folder(dir)
	n, err := f.launches()
	for ; n > 0 && err == nil; n-- {
		var j Job
		stored, err := supervisor.Job(f.agentFolder(n))
		switch {
		case errors.Is(err, fs.ErrNotExist): // the process that launched the agent died before it stored the job
			continue
		case err == nil:
			err = json.Unmarshal(stored, &j)
		}
		if err != nil {
			return Job{}, fmt.Errorf("%s: %w", f.agentFolder(n), err)
		}
		return j, nil
	}
	return Job{}, cmp.Or(err, fs.ErrNotExist)
}
