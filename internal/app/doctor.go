package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/app/notifications"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/pending"
	"gaffer/session"
	"gaffer/statefile/host"
)

// Health is the result of Doctor.
type Health struct {
	Database string              `json:"database"`
	Method   string              `json:"method"` // how the processes of attempts are identified
	Limits   []string            `json:"limits"` // what is weaker on this system, in full sentences
	Agents   []Agent             `json:"agents"`
	Holding  []Holder            `json:"holding"`  // attempts that use capacity now
	Orphans  []Orphan            `json:"orphans"`  // processes that attempts have left behind
	Unproven []Unproven          `json:"unproven"` // attempts that may still have live processes
	Owed     []pending.Documents `json:"owed"`     // runs of this project with unwritten documents
	Gone     []Gone              `json:"gone"`     // agents that run according to their session's document but have no process
	Problems []string            `json:"problems"` // why a run could not work here and what to do, in full sentences
	Advice   []string            `json:"advice"`   // what to do, in full sentences
}

// Agent describes an agent program and whether it can be used here.
type Agent struct {
	Name    string `json:"name"`
	Program string `json:"program"`
	Path    string `json:"path,omitempty"` // empty if the program is not installed
	Version string `json:"version,omitempty"`
	Problem string `json:"problem,omitempty"` // why it cannot be used and what to do
}

// Holder is a running attempt, which holds a slot.
type Holder struct {
	Run     string        `json:"run"`
	Task    string        `json:"task"`
	PID     int           `json:"pid"`
	Age     time.Duration `json:"age"`
	State   string        `json:"state"`
	Watched bool          `json:"watched"` // a gaffer works on its run now
}

// Orphan is a process of an attempt that has ended or is unknown, or whose supervisor
// was killed.
type Orphan struct {
	PID     int    `json:"pid"`
	Attempt string `json:"attempt"`
	Command string `json:"command"`
	Run     string `json:"run,omitempty"`
	Task    string `json:"task,omitempty"`
}

// Gone is an agent that is running according to its session's document, although its
// process has ended.
type Gone struct {
	Session string `json:"session"`
	Agent   string `json:"agent"`
	PID     int    `json:"pid"`
}

// Doctor examines this machine. With repair it ends orphaned processes and writes owed
// documents. If one examination fails, it reports a problem and continues with the
// others, because users call it when something is broken. It does not create a
// database.
func Doctor(ctx context.Context, opts Options, repair bool) (Health, error) {
	database, state, err := databaseOf(opts)
	if err != nil {
		return Health{}, err
	}
	h := Health{
		Database: database, Method: supervisor.GroupMethod(), Unproven: []Unproven{}, Problems: []string{}, Limits: []string{}, Agents: programs(ctx, opts),
		Holding: []Holder{}, Orphans: []Orphan{}, Owed: []pending.Documents{}, Gone: []Gone{}, Advice: []string{},
	}
	if limits := supervisor.Limits(); limits != "" {
		h.Limits = append(h.Limits, limits)
	}
	if _, err := os.Stat(database); !errors.Is(err, fs.ErrNotExist) || strings.Contains(database, "://") {
		a, err := Open(ctx, opts)
		if err != nil {
			h.cannot("the database cannot be opened", err)
			h.leftBehind(ctx, nil, state, repair)
		} else {
			a.examine(ctx, &h, repair)
			h.leftBehind(ctx, a, state, repair)
			if err := a.Close(); err != nil {
				h.cannot("the database cannot be closed", err)
			}
		}
	}
	if h.Gone, err = gone(opts); err != nil {
		h.cannot("the sessions cannot be read", err)
	}
	h.advise()
	h.Advice = append(h.Advice, notifications.ChannelAdvice(opts.notifications())...)
	return h, ctx.Err()
}

// examine checks the runs, orphans and owed documents that the database knows of.
func (a *App) examine(ctx context.Context, h *Health, repair bool) {
	runs, err := a.Fleet.Runs(ctx, true, false)
	if err != nil {
		h.cannot("the runs cannot be read", err)
	}
	for _, run := range runs {
		h.hold(run, a.opts.Now())
	}
	if h.Orphans, err = a.orphans(ctx); err != nil {
		h.cannot("orphaned processes cannot be looked for", err)
	} else if repair {
		if err := h.repair(); err != nil {
			h.cannot("not everything that is orphaned was ended", err)
		}
	}
	if err := h.owes(ctx, a, repair); err != nil {
		h.cannot("whether documents are owed is not known", err)
	}
	h.Advice = append(h.Advice, a.Notifications.Advice(ctx)...)
}

// owes lists the runs whose documents are owed. With repair it first tries to write
// them.
func (h *Health) owes(ctx context.Context, a *App, repair bool) (err error) {
	look := a.Pending.List
	if repair {
		look = a.Pending.Write
	}
	list, err := look(ctx, false)
	h.Owed = append(h.Owed, list...)
	switch {
	case len(list) > 0 && repair:
		h.Advice = append(h.Advice, "remove what keeps the documents from being written, and call 'gaffer doctor --repair' again")
	case len(list) > 0:
		h.Advice = append(h.Advice, "'gaffer doctor --repair' writes the documents that are owed")
	}
	return err
}

// cannot adds a problem, with the error's hint if it has one.
func (h *Health) cannot(what string, err error) {
	text := fmt.Sprintf("%s: %v", what, err)
	if hint := (interface{ Hint() string })(nil); errors.As(err, &hint) && hint.Hint() != "" {
		text += "; " + hint.Hint()
	}
	h.Problems = append(h.Problems, text)
}

func (h *Health) hold(run fleet.Run, now time.Time) {
	for _, t := range run.Tasks {
		if t.Status != fleet.Running || t.Attempt == nil {
			continue
		}
		h.Holding = append(h.Holding, Holder{
			Run: run.ID, Task: t.ID, PID: t.Attempt.PID, Age: now.Sub(t.Attempt.Started), State: t.Attempt.State, Watched: run.Owner.Alive,
		})
	}
	if !run.Owner.Alive {
		h.Advice = append(h.Advice, fmt.Sprintf("run %s is not looked after: 'gaffer resume %s' goes on with it, 'gaffer cancel %s' ends it", run.ID, run.ID, run.ID))
	}
}

// programs looks for the agent programs. It does not execute programs that gaffer.yaml
// names, because a project may name any program.
func programs(ctx context.Context, opts Options) []Agent {
	custom := opts.Config.Agents()
	names := agent.Names()
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == plan.CommandAgent }) // it has no fixed program
	list := make([]Agent, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { list[i] = program(ctx, opts, name) })
	}
	all.Wait()
	return list
}

// program looks for the program of one agent and its version.
func program(ctx context.Context, opts Options, name string) Agent {
	custom, err := agentsOf(opts.Config, name)
	if err != nil {
		return Agent{Name: name, Program: name, Problem: err.Error()}
	}
	own := custom[name]
	a := Agent{Name: name, Program: agent.Kind(name, custom)}
	if len(own.Argv) > 0 {
		a.Program = own.Argv[0]
	}
	path, problems := preflight.CheckAgent(ctx, name, preflight.Options{Root: opts.Project.Root, Agents: custom, Environ: os.Environ()})
	if a.Path = path; len(problems) > 0 {
		a.Problem = problems[0].String()
	}
	if a.Path != "" && len(own.Argv) == 0 && len(own.Env) == 0 {
		text, _ := preflight.Ask(ctx, a.Program, opts.Project.Root, os.Environ(), "--version") // on an error the version stays unknown
		a.Version, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	return a
}

// orphans returns live processes of attempts that have ended. It skips attempts that
// this database does not know, because they may be running for another database.
func (a *App) orphans(ctx context.Context) ([]Orphan, error) {
	orphans := []Orphan{}
	err := a.store.Read(ctx, func(r store.Reader) error {
		for _, p := range supervisor.Living() {
			attempt, err := r.Attempt(p.Attempt)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if attempt.Status.Final() {
				orphans = append(orphans, Orphan{p.PID, p.Attempt, p.Command, attempt.Run, attempt.Task})
			}
		}
		return nil
	})
	return orphans, err
}

// gone returns agents of the project's sessions whose process has ended. It skips
// unreadable documents, which 'gaffer validate' reports.
func gone(opts Options) ([]Gone, error) {
	list := []Gone{}
	sessions := session.New(opts.Config.Path("paths.session"), session.Options{Now: opts.Now})
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
				list = append(list, Gone{id, agent.ID, *agent.PID})
			}
		}
	}
	return list, nil
}

// repair ends the orphaned processes.
func (h *Health) repair() error {
	for _, o := range h.Orphans {
		left, err := supervisor.Sweep(o.Attempt)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("processes %v of attempt %s cannot be ended", left, o.Attempt)
		}
	}
	h.Orphans = []Orphan{}
	return nil
}

func (h *Health) advise() {
	if len(h.Gone) > 0 {
		h.Advice = append(h.Advice, "'gaffer resume' goes on with a run of gaffer whose agent is gone; of another program, 'gaffer session fail SESSION AGENT' says how it ended")
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
