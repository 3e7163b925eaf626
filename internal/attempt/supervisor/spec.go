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

// Mark is the environment variable that every process of an attempt carries,
// also one that has left the session or whose supervisor was killed.
const Mark = "GAFFER_ATTEMPT"

// secrets are the variables with which the user's own commands prove who they are.
// No attempt is given them, nor the supervisor above it, whose environment an agent
// can read.
var secrets = []string{"GAFFER_TOKEN", "GAFFER_TOKEN_FILE", "GAFFER_NOTIFY_WEBHOOK", "GAFFER_NOTIFY_WEBHOOK_SECRET_FILE"}

// WithoutSecrets is an environment without the credentials of the user of gaffer.
func WithoutSecrets(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(secrets, name)
	})
}

// Spec is what to run. Fields that are not known are passed over.
type Spec struct {
	// Attempt is the value of Mark. It must be unique on the machine: all that
	// carries it is ended with the attempt.
	Attempt string   `json:"attempt"`
	Argv    []string `json:"argv"`
	// Env is the agent's environment without secrets, the starter's own if nil. It is
	// handed over as the supervisor's environment and never written to a file:
	// it has keys in it.
	Env   []string `json:"-"`
	Dir   string   `json:"dir"`
	Log   string   `json:"log"` // stdout and stderr are appended to it
	Input []byte   `json:"input,omitempty"`
	// Open keeps stdin open after Input. Otherwise it ends there, and without
	// any input it is /dev/null.
	Open bool `json:"open,omitempty"`
	// Deadline is when the supervisor stops the agent by itself, put off by the
	// time in which it waits for a person ([Process.Waiting]). Zero is never.
	Deadline time.Time `json:"deadline,omitzero"`
	// Until is when the supervisor freezes the agent by itself, unless that is put
	// off by [Process.Extend]: whoever wants the agent run has not been heard of,
	// and another may be about to do its work. Zero is never.
	Until time.Time `json:"until,omitzero"`
	// Abandon is how long the agent stays frozen while no client is connected:
	// its worker is gone. Then the supervisor ends it, and itself. Zero is
	// DefaultAbandon. While a client is connected the limit is a day.
	Abandon time.Duration `json:"abandon_ns,omitempty"`
	// Interrupt and Terminate are how long the agent may take to follow those
	// signals before it is sent the next. Zero is DefaultGrace.
	Interrupt time.Duration `json:"interrupt_ns,omitempty"`
	Terminate time.Duration `json:"terminate_ns,omitempty"`
	// Job is for whoever takes the attempt over, and means nothing here.
	Job json.RawMessage `json:"job,omitempty"`
	// Home is a folder that the attempt's folder is in, directly or not: see
	// [SweepGroups]. It is the one above if empty.
	Home string `json:"home,omitempty"`
	// Group is set by Start: what the control group of the attempt is called.
	// Empty is that it shall have none.
	Group string `json:"group,omitempty"`
	// Starter is set by Start.
	Starter host.Process `json:"starter,omitzero"`
}

// DefaultGrace is how long an agent may take to follow each signal.
const DefaultGrace = 5 * time.Second

// Grace is how long stopping takes at most, but for what must be killed.
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

// Started is who runs.
type Started struct {
	Attempt    string       `json:"attempt"`
	Supervisor host.Process `json:"supervisor"`
	Agent      host.Process `json:"agent"` // also the id of its process group
	At         time.Time    `json:"at"`
}

// Timeout is what an agent was told if it was stopped at its deadline, Abandoned
// if it was frozen and no new lease came in time.
const (
	Timeout   = "timeout"
	Abandoned = "lost"
)

// Exit is how an attempt ended.
type Exit struct {
	Attempt string `json:"attempt"`
	Code    int    `json:"code"`             // -1 if it died of a signal, or never ran
	Signal  string `json:"signal,omitempty"` // that it died of, such as SIGTERM
	// Told is why it was told to stop while it ran: Timeout, Abandoned, the name
	// of a signal that the supervisor got, or what Stop was given.
	Told string `json:"told,omitempty"`
	// Failed is why there is no exit code: the agent could not be started, or
	// the supervisor was killed.
	Failed string `json:"failed,omitempty"`
	// Lost says that the supervisor was killed, or never came to anything.
	Lost bool `json:"lost,omitempty"`
	// Never says of an attempt that is lost that there never was an agent.
	Never bool `json:"never,omitempty"`
	// Unrecorded is why this could not be put on record. It is only ever told.
	Unrecorded string    `json:"unrecorded,omitempty"`
	Started    time.Time `json:"started,omitzero"`
	Ended      time.Time `json:"ended"`
	// Waited is how long it waited for a person; see [Process.Waiting].
	Waited time.Duration `json:"waited_ns,omitempty"`
	// Swept is how many processes besides the agent had to be ended one by one.
	Swept int `json:"swept,omitempty"`
	// Left are processes that could not be ended: they belong to another user,
	// or hang in the kernel.
	Left  []int `json:"left,omitempty"`
	Usage Usage `json:"usage,omitzero"`
	// LogFrom and LogTo are the size of the log at the start and at the end.
	LogFrom int64 `json:"log_from"`
	LogTo   int64 `json:"log_to"`
}

// Usage is what the agent and all that it started have used.
type Usage struct {
	User   int64 `json:"user_ms"`
	System int64 `json:"system_ms"`
	MaxRSS int64 `json:"max_rss"` // bytes, of the largest process
}
