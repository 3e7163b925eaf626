// Package runner runs one attempt at a task: it starts the agent under a
// supervisor, reads what the agent says, answers and stops it, judges how it
// ended, and checks the work. Everything that it must know to go on after a
// crash is in the attempt's folder before the agent starts, so that another
// process can take over at any moment and come to the same result.
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
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/failure"
	"gaffer/internal/plan/secret"
)

// Job is what an attempt is to do. It is kept in the attempt's folder: in what
// the supervisor was given to do.
type Job struct {
	Attempt  string        `json:"attempt"`
	Agent    string        `json:"agent"` // its name, for who takes over
	Request  agent.Request `json:"request"`
	Work     string        `json:"work"` // the folder the agent works in
	Log      string        `json:"log"`
	LogFrom  int64         `json:"log_from"` // what of the log is not of this attempt
	Deadline time.Time     `json:"deadline,omitzero"`
	Stall    time.Duration `json:"stall,omitempty"` // without progress; 0 is for ever
	Verify   []string      `json:"verify,omitempty"`
	Grace    time.Duration `json:"grace,omitempty"` // to follow each signal; 0 is the supervisor's own

	Env []string `json:"-"` // added to this process's environment; it may have keys in it
	// Secrets are variables whose values are elsewhere. They are resolved when a
	// program starts, and not kept.
	Secrets map[string]secret.Value `json:"-"`
}

// Result is how an attempt ended.
type Result struct {
	Class   failure.Class
	Summary string
	Answer  string // all that the agent said last, if the work was done
	Exit    int    // the agent's exit code; -1 if there was none
	Thread  string
	Usage   agent.Usage
	Reset   time.Time
	Denied  []string // what was refused to the agent

	Compacted   string // see Activity
	Compactions int

	LogFrom int64 // where in the log its output begins

	Checks []fleet.Check
	Left   []int // processes of the agent that could not be ended
}

// Activity is what the agent does.
type Activity struct {
	State  agent.State
	Doing  string
	Thread string
	Usage  agent.Usage
	PID    int
	// LogFrom is where in the log its output begins.
	LogFrom int64
	// Doubt is why it cannot be told whether the agent has ended; see
	// [DoubtOf]. Then Doing says it too.
	Doubt string
	// Compacted is how the conversation was last made shorter, and how often
	// that was.
	Compacted   string
	Compactions int
}

// Owner is told what happens while an attempt runs. It must not wait.
type Owner interface {
	Doing(Activity)
	Asked(agent.Question)
	Closed(question string) // nobody waits for its answer any more
}

// Options are what an attempt needs of the world.
type Options struct {
	Now        func() time.Time
	Supervisor supervisor.Options
	Home       string           // a folder above the attempts' folders; see supervisor.Spec
	Pool       *supervisor.Pool // of supervisors to be used again; nil starts one each time
	Owner      Owner
	// Secrets resolves the variables whose values are elsewhere.
	Secrets secret.Resolver
	// Until is when the supervisor freezes the agent, unless [Attempt.Extend]
	// puts that off. Zero is never.
	Until time.Time
	// Abandon is how long a frozen agent waits for another worker; see
	// [supervisor.Spec].
	Abandon time.Duration
	// Terminal returns where people can look at the agent, whose part of the log
	// begins there; nil, or a function that returns it, is nowhere. It needs a
	// Pool.
	Terminal func(from int64) *supervisor.Terminal
}

// launch starts the agent under a supervisor.
func (o Options) launch(ctx context.Context, dir string, spec supervisor.Spec, from int64) (*supervisor.Process, error) {
	spec.Home = o.Home
	if o.Terminal != nil && o.Pool != nil {
		if in := o.Terminal(from); in != nil {
			return o.Pool.StartIn(ctx, dir, spec, *in)
		}
	}
	return o.supervise(ctx, dir, spec)
}

// supervise starts a program under a supervisor.
func (o Options) supervise(ctx context.Context, dir string, spec supervisor.Spec) (*supervisor.Process, error) {
	spec.Home = o.Home
	if o.Pool != nil {
		return o.Pool.Start(ctx, dir, spec)
	}
	return supervisor.Start(ctx, dir, spec, o.Supervisor)
}

// folder is an attempt's folder.
type folder string

const (
	answeredFile = "answered"
	promptFile   = "prompt.md"
)

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

// agentFolder is where the supervisor of the n-th launch keeps its files. There
// is more than one only if a launch came to nothing before the agent ran.
func (f folder) agentFolder(n int) string {
	if n == 1 {
		return string(f) // one folder less to make for nearly every attempt
	}
	return f.path("agent-" + strconv.Itoa(n))
}

// launches returns how many launches there were.
func (f folder) launches() (int, error) {
	for n := 0; ; n++ {
		used, err := supervisor.Used(f.agentFolder(n + 1))
		if err != nil || !used {
			return n, err
		}
	}
}

// ReadJob returns the job of an attempt that was started. Without one the error
// is fs.ErrNotExist: nothing was started.
func ReadJob(dir string) (Job, error) {
	f := folder(dir)
	n, err := f.launches()
	for ; n > 0 && err == nil; n-- {
		var j Job
		said, err := supervisor.Job(f.agentFolder(n))
		switch {
		case errors.Is(err, fs.ErrNotExist): // whoever started it did not get as far
			continue
		case err == nil:
			err = json.Unmarshal(said, &j)
		}
		if err != nil {
			return Job{}, fmt.Errorf("%s: %w", f.agentFolder(n), err)
		}
		return j, nil
	}
	return Job{}, cmp.Or(err, fs.ErrNotExist)
}
