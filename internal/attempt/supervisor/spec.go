package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/statefile/host"
)

// Mark is the environment variable that every process of an attempt carries, also
// after it has left the session or its supervisor was killed.
const Mark = "GAFFER_ATTEMPT"

// secrets are the variables with the credentials of the user's own commands. Neither
// the agent nor its supervisor gets them, since an agent can read the supervisor's
// environment.
var secrets = []string{"GAFFER_TOKEN", "GAFFER_TOKEN_FILE", "GAFFER_NOTIFY_WEBHOOK", "GAFFER_NOTIFY_WEBHOOK_SECRET_FILE"}

// WithoutSecrets returns env without the credentials of gaffer's user.
func WithoutSecrets(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(secrets, name)
	})
}

// Spec describes what to run. Unknown fields are ignored.
type Spec struct {
	// Attempt is the value of Mark. It must be unique on the machine: every process
	// that carries it is ended with the attempt.
	Attempt string   `json:"attempt"`
	Argv    []string `json:"argv"`
	// Env is the agent's environment; nil means the starter's environment. Secrets are
	// removed from it. Env is never written to a file, because it may contain API keys.
	// It is passed as the supervisor's environment, or over a connection.
	Env   []string `json:"-"`
	Dir   string   `json:"dir"`
	Log   string   `json:"log"` // stdout and stderr are appended to it
	Input []byte   `json:"input,omitempty"`
	// Open keeps stdin open after Input. Otherwise stdin is closed after Input;
	// without any Input it is /dev/null.
	Open bool `json:"open,omitempty"`
	// Deadline is when the supervisor stops the agent. The time in which the agent
	// waits for the user is added ([Process.Waiting]). Zero means never.
	Deadline time.Time `json:"deadline,omitzero"`
	// Until is the end of the lease, when the supervisor freezes the agent unless
	// [Process.Extend] was called. The worker has then sent no heartbeat, and another
	// worker may be about to do the same task. Zero means never.
	Until time.Time `json:"until,omitzero"`
	// Abandon is how long the agent stays frozen while no client is connected, which
	// means that its worker is gone. Then the supervisor kills the agent and exits.
	// Zero means DefaultAbandon. While a client is connected the limit is 24 hours.
	Abandon time.Duration `json:"abandon_ns,omitempty"`
	// Interrupt and Terminate are how long the agent may take to exit after each
	// signal, before the next signal is sent. Zero means DefaultGrace.
	Interrupt time.Duration `json:"interrupt_ns,omitempty"`
	Terminate time.Duration `json:"terminate_ns,omitempty"`
	// Job is data for a process that attaches to the attempt later. The supervisor
	// ignores it.
	Job json.RawMessage `json:"job,omitempty"`
	// Home is a folder above the attempt's folder, see [SweepGroups]. Empty means its
	// parent.
	Home string `json:"home,omitempty"`
	// Group is set by Start: the name of the attempt's control group, without the
	// suffix of the supervisor. Empty means no control group.
	Group string `json:"group,omitempty"`
	// Starter is set by Start: the process that started the attempt.
	Starter host.Process `json:"starter,omitzero"`
}

// DefaultGrace is how long an agent may take to exit after each signal.
const DefaultGrace = 5 * time.Second

// Grace is the maximum time until an agent that is being stopped is killed.
func (s Spec) Grace() time.Duration { return s.interrupt() + s.terminate() }

// DefaultAbandon is how long an agent stays frozen while no client is connected.
const DefaultAbandon = 10 * time.Minute

func (s Spec) interrupt() time.Duration { return orDefault(s.Interrupt, DefaultGrace) }
func (s Spec) terminate() time.Duration { return orDefault(s.Terminate, DefaultGrace) }
func (s Spec) abandon() time.Duration   { return orDefault(s.Abandon, DefaultAbandon) }

func orDefault(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

func (s Spec) check() error {
	switch {
	case s.Attempt == "" || strings.ContainsAny(s.Attempt, "\x00\n"):
		return fmt.Errorf("attempt %q: not an id", s.Attempt)
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return errors.New("no program to run")
	case s.Log == "":
		return errors.New("no log to write to")
	case slices.ContainsFunc(s.Env, func(v string) bool { return strings.Contains(v, "\x00") }):
		return errors.New("a variable of the environment has a zero byte in it")
	}
	return nil
}

// Marked is a process that carries the mark of an attempt.
type Marked struct {
	PID     int
	Attempt string
	Command string
}

// Started identifies the processes of an attempt that is running.
type Started struct {
	Attempt    string       `json:"attempt"`
	Supervisor host.Process `json:"supervisor"`
	Agent      host.Process `json:"agent"` // the agent's pid is also the id of its process group
	At         time.Time    `json:"at"`
}

// Values of Exit.StopReason: Timeout if the agent was stopped at its deadline, Abandoned if
// it was frozen and the lease was not extended in time.
const (
	Timeout   = "timeout"
	Abandoned = "lost"
)

// Exit describes how an attempt ended.
type Exit struct {
	Attempt string `json:"attempt"`
	Code    int    `json:"code"`             // -1 if a signal killed it, or if it never ran
	Signal  string `json:"signal,omitempty"` // the signal that killed it, such as SIGTERM
	// StopReason is why the agent was stopped while it ran: Timeout, Abandoned, the
	// name of a signal that the supervisor received, or the reason given to Stop.
	StopReason string `json:"told,omitempty"`
	// Failed is why there is no exit code: the agent could not be started, or the
	// supervisor was killed.
	Failed string `json:"failed,omitempty"`
	// Lost says that the supervisor was killed or never started the agent.
	Lost bool `json:"lost,omitempty"`
	// NeverStarted says that a lost attempt never had an agent.
	NeverStarted bool `json:"never,omitempty"`
	// Unrecorded is why this exit could not be recorded. It is only sent to clients.
	Unrecorded string    `json:"unrecorded,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended"`
	// Waited is how long the agent waited for the user, see [Process.Waiting].
	Waited time.Duration `json:"waited_ns,omitempty"`
	// Swept is how many processes besides the agent had to be signalled individually.
	Swept int `json:"swept,omitempty"`
	// Left are the processes that could not be ended: they belong to another user, or
	// hang in the kernel.
	Left  []int `json:"left,omitempty"`
	Usage Usage `json:"usage,omitzero"`
	// LogFrom and LogTo are the sizes of the log at the start and at the end.
	LogFrom int64 `json:"log_from"`
	LogTo   int64 `json:"log_to"`
}

// Usage is the resource usage of the agent and all its descendants.
type Usage struct {
	User   int64 `json:"user_ms"`
	System int64 `json:"system_ms"`
	MaxRSS int64 `json:"max_rss"` // bytes, of the largest process
}
