package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/agent"
	"gaffer/internal/store"
	"gaffer/internal/supervisor"
	"gaffer/session"
	"gaffer/statefile/host"
)

// Health is what doctor tells.
type Health struct {
	Database string   `json:"database"`
	Limits   []string `json:"limits"` // what is weaker on this system, in whole sentences
	Agents   []Agent  `json:"agents"`
	Holding  []Holder `json:"holding"` // what holds capacity now
	Orphans  []Orphan `json:"orphans"` // processes that no run knows
	Gone     []Gone   `json:"gone"`    // agents that run by their session's document and have no process
	Advice   []string `json:"advice"`  // what to do, in whole sentences
}

// Agent is an agent program and whether it can be used here.
type Agent struct {
	Name    string `json:"name"`
	Program string `json:"program"`
	Path    string `json:"path,omitempty"` // empty if it is not installed
	Version string `json:"version,omitempty"`
}

// Holder is something that holds a slot: an attempt that runs.
type Holder struct {
	Run     string        `json:"run"`
	Task    string        `json:"task"`
	PID     int           `json:"pid"`
	Age     time.Duration `json:"age"`
	State   string        `json:"state"`
	Watched bool          `json:"watched"` // a gaffer looks after it now
}

// Orphan is a process of an attempt that is over or unknown.
type Orphan struct {
	PID     int    `json:"pid"`
	Attempt string `json:"attempt"`
	Command string `json:"command"`
}

// Gone is an agent that runs by its session's document although its process is
// gone.
type Gone struct {
	Session string `json:"session"`
	Agent   string `json:"agent"`
	PID     int    `json:"pid"`
}

// Doctor looks at this machine. With repair it ends what is orphaned.
func (a *App) Doctor(ctx context.Context, repair bool) (Health, error) {
	h := Health{Database: a.database, Limits: []string{}, Agents: a.programs(ctx), Holding: []Holder{}, Orphans: []Orphan{}, Gone: []Gone{}, Advice: []string{}}
	if limits := supervisor.Limits(); limits != "" {
		h.Limits = append(h.Limits, limits)
	}
	runs, err := a.Runs(ctx, true, false)
	if err != nil {
		return h, err
	}
	for _, run := range runs {
		h.hold(run, a.opts.Now())
	}
	if h.Orphans, err = a.orphans(ctx); err != nil {
		return h, err
	}
	if h.Gone, err = a.gone(); err != nil {
		return h, err
	}
	if repair {
		err = h.repair()
	}
	h.advise()
	h.Advice = append(h.Advice, a.notifyAdvice(ctx)...)
	return h, err
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

// programs looks for the programs of the agents.
func (a *App) programs(ctx context.Context) []Agent {
	custom := a.opts.Config.Agents()
	names := agent.Names()
	for _, name := range slices.Sorted(maps.Keys(custom)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	list := []Agent{}
	for _, name := range names {
		program := name
		if argv := custom[name].Argv; len(argv) > 0 {
			program = argv[0]
		}
		if name == "command" {
			continue // it is whatever a task says
		}
		found := Agent{Name: name, Program: program}
		if path, err := exec.LookPath(program); err == nil {
			found.Path, found.Version = path, versionOf(ctx, path)
		}
		list = append(list, found)
	}
	return list
}

// versionOf asks a program for its version. Some take their time.
func versionOf(ctx context.Context, program string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

// orphans are processes of attempts that no store knows as running. Those of
// another database cannot be told from them, so only attempts that this one
// knows count.
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
				orphans = append(orphans, Orphan{p.PID, p.Attempt, p.Command})
			}
		}
		return nil
	})
	return orphans, err
}

// gone looks for agents of the project's sessions whose process is gone. A
// document that cannot be read is for 'gaffer validate' to name.
func (a *App) gone() ([]Gone, error) {
	list := []Gone{}
	sessions := session.New(a.opts.Config.Path("paths.session"), session.Options{Now: a.opts.Now})
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

// repair ends what is orphaned.
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
		h.Advice = append(h.Advice, "'gaffer doctor --repair' ends the processes that no run knows")
	}
	if !slices.ContainsFunc(h.Agents, func(a Agent) bool { return a.Path != "" }) {
		h.Advice = append(h.Advice, "no agent program is installed: install one, or name yours under agents: in gaffer.yaml; the fake agent needs none")
	}
}
