// Package doctor examines this machine for problems: missing agent programs, processes that
// attempts have left behind, runs that no process works on, and documents about runs that are not
// written yet.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/pending"
	"gaffer/session"
	"gaffer/statefile/host"
)

// Health is the result of [Examine].
type Health struct {
	Database string   `json:"database"`
	Method   string   `json:"method"` // how gaffer finds the processes of an attempt on this system
	Limits   []string `json:"limits"` // what gaffer cannot guarantee on this system; one sentence each
	Agents   []Agent  `json:"agents"`
	// Sandboxes are the sandboxes for agents, the strongest first.
	Sandboxes []Sandbox           `json:"sandboxes"`
	Accounts  []Account           `json:"accounts"` // the user's accounts of agent programs
	Holding   []RunningAttempt    `json:"holding"`  // attempts that are running; each uses one slot of a worker
	Orphans   []Orphan            `json:"orphans"`  // processes that were left behind by attempts
	Unproven  []Unproven          `json:"unproven"` // attempts whose supervisor has died and whose processes may still be running
	Owed      []pending.Documents `json:"owed"`     // runs of this project with documents that are not written yet
	// Gone are the agents that have no process, although their session document says that they are
	// running.
	Gone     []DeadAgent `json:"gone"`
	Problems []string    `json:"problems"` // what does not work, and what to do about it; one sentence each
	Advice   []string    `json:"advice"`   // what the user should do; one sentence each
}

// Agent says whether an agent can be used on this machine.
type Agent struct {
	Name    string `json:"name"`
	Program string `json:"program"`
	Path    string `json:"path,omitempty"` // path of the program; empty if it is not installed
	Version string `json:"version,omitempty"`
	Problem string `json:"problem,omitempty"` // why the agent cannot be used, and what to do; empty if it can
}

// Account says whether one of the user's accounts can be used on this machine.
type Account struct {
	Name    string `json:"name"`
	Agent   string `json:"agent"`
	Problem string `json:"problem,omitempty"` // why the account cannot be used, and what to do; empty if it can
}

// Sandbox says whether agents can run in a kind of sandbox on this machine.
type Sandbox struct {
	Mode    string `json:"mode"`
	Program string `json:"program,omitempty"` // path of the program that makes the sandbox; empty if there is none
	Problem string `json:"problem,omitempty"` // why this kind of sandbox cannot be used; empty if it can
}

// findSandboxes finds out which sandboxes this machine has.
func findSandboxes(ctx context.Context) []Sandbox {
	f := sandbox.Look(ctx, os.Environ())
	own := ""
	if _, err := f.Choose(plan.Sandbox{Mode: plan.SandboxProgram}, sandbox.Program{Kind: "claude"}); err != nil {
		own = "codex alone: " + strings.TrimPrefix(err.Error(), "sandbox program: ")
	}
	return []Sandbox{
		{Mode: string(plan.SandboxContainer), Program: f.Engine, Problem: f.NoContainer},
		{Mode: string(plan.SandboxBubblewrap), Program: f.Bwrap, Problem: f.NoBubblewrap},
		{Mode: string(plan.SandboxProgram), Problem: own},
	}
}

// RunningAttempt is an attempt that is running and uses a slot.
type RunningAttempt struct {
	Run     string        `json:"run"`
	Task    string        `json:"task"`
	PID     int           `json:"pid"`
	Age     time.Duration `json:"age"`
	State   string        `json:"state"`
	Watched bool          `json:"watched"` // whether a gaffer process works on the attempt's run
}

// Orphan is a process that was left behind by an attempt: the attempt has ended, or its supervisor
// was killed.
type Orphan struct {
	PID     int    `json:"pid"`
	Attempt string `json:"attempt"`
	Command string `json:"command"`
	Run     string `json:"run,omitempty"`
	Task    string `json:"task,omitempty"`
}

// DeadAgent is an agent whose process has ended, although the document of its session says that it
// is running.
type DeadAgent struct {
	Session string `json:"session"`
	Agent   string `json:"agent"`
	PID     int    `json:"pid"`
}

// Options are the settings and dependencies of [Examine].
type Options struct {
	Database string // file or URL of the database, for display
	// Open opens the database. It is nil if there is no database.
	Open    func(ctx context.Context) (Database, error)
	State   string // path of gaffer's state folder on this machine
	Project string // path of the project's root
	Session *session.Store
	Names   []string // names of the agents in gaffer.yaml
	// Accounts are the user's accounts. Account.Problem is set if an account cannot be used.
	Accounts []Account
	// Agents returns the agents that gaffer.yaml defines, by name. If gaffer itself implements the
	// agent with the given name, the result also contains that agent.
	Agents func(name string) (map[string]agent.Custom, error)
	// ChannelAdvice returns what the user should do about notification channels that do not work.
	ChannelAdvice func() []string
	Now           func() time.Time
}

// Database has the functions of an open database that Examine needs.
type Database struct {
	Store store.Store
	Close func() error
	// Runs returns the unfinished runs of all projects.
	Runs func(ctx context.Context) ([]fleet.Run, error)
	// Pending lists the runs of the project with documents that are not written. If the parameter
	// write is true, Pending first tries to write these documents.
	Pending func(ctx context.Context, write bool) ([]pending.Documents, error)
	// NotifyAdvice returns what the user should do about notifications that were not sent.
	NotifyAdvice func(ctx context.Context) []string
}

// Examine examines this machine. If repair is true, it also ends orphaned processes and writes
// documents that were not written yet. If a check fails, Examine adds a problem to the result and
// continues with the next check, because users call it when something is broken. Examine does not
// create a database.
func Examine(ctx context.Context, opts Options, repair bool) (Health, error) {
	h := Health{
		Database: opts.Database, Method: supervisor.GroupMethod(), Unproven: []Unproven{}, Problems: []string{}, Limits: []string{},
		Agents: FindAgents(ctx, opts), Sandboxes: findSandboxes(ctx), Accounts: append([]Account{}, opts.Accounts...), Holding: []RunningAttempt{}, Orphans: []Orphan{}, Owed: []pending.Documents{}, Gone: []DeadAgent{}, Advice: []string{},
	}
	if limits := supervisor.PlatformLimits(); limits != "" {
		h.Limits = append(h.Limits, limits)
	}
	var db Database
	var err error
	if opts.Open != nil {
		if db, err = opts.Open(ctx); err != nil {
			h.addProblem("the database cannot be opened", err)
		} else {
			h.examineStore(ctx, db, opts.Now(), repair)
		}
	}
	h.findLeftBehind(ctx, db.Store, opts.State, repair)
	if db.Close != nil {
		if err := db.Close(); err != nil {
			h.addProblem("the database cannot be closed", err)
		}
	}
	if h.Gone, err = findDeadAgents(opts.Session); err != nil {
		h.addProblem("the sessions cannot be read", err)
	}
	h.advise()
	h.Advice = append(h.Advice, opts.ChannelAdvice()...)
	return h, ctx.Err()
}

// examineStore adds to h the running attempts, orphaned processes and unwritten documents that it
// finds with the help of the database. If repair is true, it also ends the orphaned processes and
// writes the documents.
func (h *Health) examineStore(ctx context.Context, db Database, now time.Time, repair bool) {
	runs, err := db.Runs(ctx)
	if err != nil {
		h.addProblem("the runs cannot be read", err)
	}
	for _, run := range runs {
		h.addRun(run, now)
	}
	if h.Orphans, err = findOrphans(ctx, db.Store); err != nil {
		h.addProblem("orphaned processes cannot be looked for", err)
	} else if repair {
		if err := h.endOrphans(); err != nil {
			h.addProblem("not everything that is orphaned was ended", err)
		}
	}
	list, err := db.Pending(ctx, repair)
	h.Owed = append(h.Owed, list...)
	switch {
	case len(list) > 0 && repair:
		h.Advice = append(h.Advice, "remove what keeps the documents from being written, and call 'gaffer doctor --repair' again")
	case len(list) > 0:
		h.Advice = append(h.Advice, "'gaffer doctor --repair' writes the pending documents")
	}
	if err != nil {
		h.addProblem("cannot tell whether documents are pending", err)
	}
	h.Advice = append(h.Advice, db.NotifyAdvice(ctx)...)
}

// addProblem adds a text to h.Problems: the parameter what, followed by the error. If the error has
// a hint, which is advice for the user, the text includes it.
func (h *Health) addProblem(what string, err error) {
	text := fmt.Sprintf("%s: %v", what, err)
	if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) && hint.Hint() != "" {
		text += "; " + hint.Hint()
	}
	h.Problems = append(h.Problems, text)
}

// addRun adds the running attempts of a run to h.Holding. If no process works on the run, addRun
// also adds advice to h.Advice: how to continue or end the run.
func (h *Health) addRun(run fleet.Run, now time.Time) {
	for _, t := range run.Tasks {
		if t.Status != fleet.Running || t.Attempt == nil {
			continue
		}
		h.Holding = append(h.Holding, RunningAttempt{
			Run: run.ID, Task: t.ID, PID: t.Attempt.PID, Age: now.Sub(t.Attempt.Started), State: t.Attempt.State, Watched: run.Owner.Alive,
		})
	}
	if !run.Owner.Alive {
		h.Advice = append(h.Advice, fmt.Sprintf("no process works on run %s: 'gaffer resume %s' continues it, 'gaffer cancel %s' ends it", run.ID, run.ID, run.ID))
	}
}

// findDeadAgents reads the documents of the project's sessions. It returns the agents that are
// running according to these documents, but whose process has ended. It skips documents that cannot
// be read, because 'gaffer validate' reports them.
func findDeadAgents(sessions *session.Store) ([]DeadAgent, error) {
	list := []DeadAgent{}
	ids, err := sessions.IDs()
	if err != nil {
		return list, err
	}
	for _, id := range ids {
		doc, err := sessions.Document(id)
		if err != nil {
			continue
		}
		status, _ := session.Decode(doc.Value())
		for _, agent := range status.Agents {
			if agent.Gone(host.Exists) {
				list = append(list, DeadAgent{id, agent.ID, *agent.PID})
			}
		}
	}
	return list, nil
}

func (h *Health) advise() {
	if len(h.Gone) > 0 {
		h.Advice = append(h.Advice, "if gaffer ran an agent that is gone, 'gaffer resume' continues its run; if another program ran it, 'gaffer session fail SESSION AGENT' records that it ended")
	}
	if len(h.Orphans) > 0 {
		h.Advice = append(h.Advice, "'gaffer doctor --repair' ends the processes that attempts have left behind")
	}
	usable := func(a Agent) bool { return a.Problem == "" }
	switch at := slices.IndexFunc(h.Agents, func(a Agent) bool { return a.Name == engine.DefaultAgent }); {
	case !slices.ContainsFunc(h.Agents, usable):
		h.Problems = append(h.Problems, "no agent can be used: install one and log in, or name yours under agents: in gaffer.yaml; the fake agent needs nothing")
		for _, a := range h.Agents {
			if a.Path != "" {
				h.Problems = append(h.Problems, a.Problem)
			}
		}
	case at >= 0 && !usable(h.Agents[at]):
		h.Advice = append(h.Advice, fmt.Sprintf("tasks that name no agent are for %s, which cannot be used: name another with --agent or in the plan", engine.DefaultAgent))
	}
}
