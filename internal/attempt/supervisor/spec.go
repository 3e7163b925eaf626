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

// Mark is the environment variable with the attempt's id, which all processes of an attempt
// inherit. It identifies a process even after the process has started its own session or the
// supervisor was killed, unless the process has cleared its environment.
const Mark = "GAFFER_ATTEMPT"

// secrets lists the environment variables with gaffer's own credentials, which agents must not get.
// gaffer removes them from the environment of agents. It also removes them from the environment of
// supervisors, because an agent can read its supervisor's environment.
var secrets = []string{"GAFFER_TOKEN", "GAFFER_TOKEN_FILE", "GAFFER_NOTIFY_WEBHOOK", "GAFFER_NOTIFY_WEBHOOK_SECRET_FILE"}

// WithoutSecrets returns env without gaffer's own credentials.
func WithoutSecrets(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(secrets, name)
	})
}

// Spec describes what a supervisor has to run. It is stored as JSON. A supervisor ignores JSON
// fields that it does not know.
type Spec struct {
	// Attempt is the attempt's id, and the value of the environment variable Mark. It must be
	// unique on the machine: if the supervisor dies, gaffer ends every process that has this value
	// in its environment.
	Attempt string   `json:"attempt"`
	Argv    []string `json:"argv"`
	// Env is the agent's environment; nil means the starter's environment. gaffer removes its own
	// credentials from it. Env is never written to a file, because it may contain API keys. The
	// supervisor gets it as its own environment or, in a pool, over a connection.
	Env   []string `json:"-"`
	Dir   string   `json:"dir"`
	Log   string   `json:"log"` // file to which stdout and stderr are appended
	Input []byte   `json:"input,omitempty"`
	// Open keeps the agent's stdin open after the bytes of Input, so that more input can be sent.
	// If Open is false, stdin is closed after these bytes. If Open is false and Input is empty,
	// stdin is /dev/null.
	Open bool `json:"open,omitempty"`
	// Deadline is when the supervisor stops the agent. It is postponed by the time that the agent
	// waits for the user, see [Process.Waiting]. Zero means that there is no deadline.
	Deadline time.Time `json:"deadline,omitzero"`
	// Until is the end of the lease. If [Process.Extend] was not called by then, the supervisor
	// freezes the agent, because another worker may be about to do the same task. Zero means that
	// the lease never ends.
	Until time.Time `json:"until,omitzero"`
	// Abandon is how long the agent may stay frozen while no client is connected, for example
	// because the worker is dead. After that time the supervisor kills the agent. Zero means
	// DefaultAbandon. While a client is connected, the agent may stay frozen for 24 hours.
	Abandon time.Duration `json:"abandon_ns,omitempty"`
	// Interrupt and Terminate are how long the agent may take to exit after SIGINT and after
	// SIGTERM, before the next signal is sent. Zero means DefaultGrace.
	Interrupt time.Duration `json:"interrupt_ns,omitempty"`
	Terminate time.Duration `json:"terminate_ns,omitempty"`
	// Job is data that the caller of [Start] stores for a process that attaches to the attempt
	// later. The supervisor ignores it.
	Job json.RawMessage `json:"job,omitempty"`
	// Home is a folder above the attempt's folder. The prefix of the control group's name is made
	// from Home, and [SweepGroups] finds the group by this prefix. Empty means the parent of the
	// attempt's folder.
	Home string `json:"home,omitempty"`
	// Group is the name of the attempt's control group, without the last part of the name, which
	// identifies the supervisor. [Start] sets Group. Empty means no control group.
	Group string `json:"group,omitempty"`
	// Starter is the process that called [Start], which sets this field.
	Starter host.Process `json:"starter,omitzero"`
}

// DefaultGrace is how long an agent may take by default to exit after each stop signal.
const DefaultGrace = 5 * time.Second

// Grace returns the longest time from a stop order until the agent is killed.
func (s Spec) Grace() time.Duration { return s.interrupt() + s.terminate() }

// DefaultAbandon is how long an agent may stay frozen by default while no client is connected.
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

// Marked is a process that belongs to an attempt. It was found either by the environment variable
// [Mark] in its environment, or by its control group.
type Marked struct {
	PID     int
	Attempt string
	Command string
	Env     []string // its environment; empty if the process was found by its control group
}

// Started identifies the supervisor and the agent of an attempt whose agent was started.
type Started struct {
	Attempt    string       `json:"attempt"`
	Supervisor host.Process `json:"supervisor"`
	Agent      host.Process `json:"agent"` // the agent's pid is also the id of its process group
	At         time.Time    `json:"at"`
}

// Two values of Exit.StopReason. Timeout means that the agent was stopped at its deadline.
// Abandoned means that the agent was frozen for too long, because its lease was not extended.
const (
	Timeout   = "timeout"
	Abandoned = "lost"
)

// Exit describes how an attempt ended.
type Exit struct {
	Attempt string `json:"attempt"`
	// Code is the exit code of the agent. It is -1 if there is none, for example because a signal
	// killed the agent, the agent never ran, or Lost is set.
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"` // the signal that killed the agent, such as SIGTERM
	// StopReason is why the agent was stopped while it ran: Timeout, Abandoned, the
	// name of a signal that the supervisor received, or the reason given to Stop.
	StopReason string `json:"told,omitempty"`
	// Failed is why the agent has no exit code: the agent could not be started, or the supervisor
	// was killed, or the supervisor never started.
	Failed string `json:"failed,omitempty"`
	// Lost says that no supervisor recorded how the attempt ended, because the supervisor was
	// killed or never started the agent.
	Lost bool `json:"lost,omitempty"`
	// NeverStarted says that no agent was started. It is only set together with Lost.
	NeverStarted bool `json:"never,omitempty"`
	// Unrecorded is why this exit could not be written into the lock file. Empty means that it was
	// written. Unrecorded is only set in the exit that the supervisor sends to clients.
	Unrecorded string    `json:"unrecorded,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended"`
	// Waited is how long the agent waited for the user, see [Process.Waiting].
	Waited time.Duration `json:"waited_ns,omitempty"`
	// Swept is the number of processes besides the agent to which the supervisor sent SIGTERM or
	// SIGKILL individually. Signals to the agent's whole process group do not count.
	Swept int `json:"swept,omitempty"`
	// Left has the pids of processes that could not be ended: they belong to another user, or hang
	// in the kernel.
	Left  []int `json:"left,omitempty"`
	Usage Usage `json:"usage,omitzero"`
	// LogFrom and LogTo are the sizes of the log in bytes: LogFrom before the agent started, LogTo
	// at the end of the attempt.
	LogFrom int64 `json:"log_from"`
	LogTo   int64 `json:"log_to"`
}

// Usage is the resource usage of the agent and all its descendants.
type Usage struct {
	User   int64 `json:"user_ms"`
	System int64 `json:"system_ms"`
	MaxRSS int64 `json:"max_rss"` // largest memory use of a single process, in bytes
}
