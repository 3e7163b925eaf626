package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/plan"
)

// sandboxes decides which sandbox each task gets on this machine.
type sandboxes struct {
	config   *config.Config
	settings sandbox.Settings
	machine  *sandbox.Machine
}

func newSandboxes(opts Options) (*sandboxes, error) {
	database, state, err := databaseOf(opts)
	if err != nil {
		return nil, err
	}
	return sandboxesFor(opts, database, state), nil
}

func sandboxesFor(opts Options, database, state string) *sandboxes {
	// Ignore the error: gaffer needs its own path to start a program in a sandbox. If the path is
	// empty, that start fails.
	self, _ := os.Executable()
	hidden := []string{state}
	if file := config.UserFile(opts.Getenv); file != "" {
		hidden = append(hidden, filepath.Dir(file))
	}
	if filepath.IsAbs(database) {
		hidden = append(hidden, database, database+"-wal", database+"-shm")
	}
	return &sandboxes{opts.Config, sandboxSettings(opts.Config), &sandbox.Machine{Environ: os.Environ(), Self: self, Hidden: hidden}}
}

func sandboxSettings(c *config.Config) sandbox.Settings {
	mode, forced := c.Sandbox()
	return sandbox.Settings{Mode: plan.SandboxMode(mode), Forced: forced, Image: c.Text("sandbox_image")}
}

// ApplySandbox returns the plan with each task's field Sandbox set to the sandbox that the task
// should have, as the plan and the user's settings decide. It does not change tasks that gaffer
// itself has added, for example to merge branches, because these need no sandbox.
func ApplySandbox(c *config.Config, p plan.Plan) plan.Plan {
	return sandboxSettings(c).ApplyPlan(p, isOwnAgent)
}

// isOwnAgent reports whether name is an agent for tasks that gaffer itself adds to plans.
func isOwnAgent(name string) bool {
	return slices.Contains([]string{workspace.MergeAgent, plan.PickAgent, teamrun.MergeAgent}, name)
}

// want returns the sandbox that a task should have. If the task names a sandbox mode, want returns
// the task's sandbox unchanged, because submit has already applied the user's settings. Otherwise,
// for example if the task was added later, want applies them. unattended means that no user has
// started the run, so possibly no user is there to answer requests for permission. Then want
// chooses the mode auto if the settings contain no mode.
func (s *sandboxes) want(t plan.Task, unattended bool) plan.Sandbox {
	if t.Sandbox.Mode != "" {
		return t.Sandbox
	}
	return s.settings.Apply(t.Sandbox, unattended || sandbox.Unattended(t))
}

// specFor returns the sandbox that a task gets on this machine. unattended means that no user has
// started the run, see [sandboxes.want].
func (s *sandboxes) specFor(t plan.Task, unattended bool) (sandbox.Spec, error) {
	return s.spec(t, s.want(t, unattended))
}

// specAtLeast is like [sandboxes.specFor], for a task that this machine executes as a worker of a
// server. The sandbox is never weaker than the setting of this machine's user, even if the plan
// names a weaker one.
func (s *sandboxes) specAtLeast(t plan.Task) (sandbox.Spec, error) {
	return s.spec(t, s.settings.Apply(t.Sandbox, sandbox.Unattended(t)))
}

func (s *sandboxes) spec(t plan.Task, want plan.Sandbox) (sandbox.Spec, error) {
	c, p, err := s.choose(t, want)
	spec := sandbox.SpecOf(c, want, p.Kind)
	spec.Nested = c.Mode == plan.SandboxBubblewrap && s.machine.Facts(false).Nested
	return spec, err
}

func (s *sandboxes) choose(t plan.Task, want plan.Sandbox) (sandbox.Choice, sandbox.Program, error) {
	p, err := s.program(engine.AgentOf(t))
	if err != nil {
		return sandbox.Choice{}, p, err
	}
	p.Restricted = t.Questions == plan.Rules || len(t.Permissions.Deny)+len(t.Permissions.Ask) > 0
	if p.Gaffer || want.Mode == "" || want.Mode == plan.SandboxNone { // no sandbox is needed, so skip the slow check of what this machine has
		return sandbox.Choice{Mode: plan.SandboxNone}, p, nil
	}
	c, err := s.machine.Facts(want.Image != "" || want.Mode == plan.SandboxContainer).Choose(want, p)
	return c, p, err
}

func (s *sandboxes) program(name string) (sandbox.Program, error) {
	custom, err := customAgents(s.config, name)
	if err != nil {
		return sandbox.Program{}, err
	}
	return sandbox.Program{Kind: agent.Kind(name, custom), Custom: len(custom[name].Argv) > 0, Gaffer: isOwnAgent(name)}, nil
}

// SandboxReport says which sandboxes the tasks of a plan get on this machine.
type SandboxReport struct {
	Modes    map[string]plan.SandboxMode // the sandbox of each task, by the task's id
	Summary  string                      // one line that names the sandboxes; empty if no task has a sandbox
	Warnings []string                    // why tasks that should have a sandbox have none
	Problems []preflight.Problem         // why tasks cannot have the sandbox that they need
}

// Sandboxes finds out which sandboxes the tasks of a plan get on this machine.
func Sandboxes(_ context.Context, opts Options, p plan.Plan) (SandboxReport, error) {
	s, err := newSandboxes(opts)
	if err != nil {
		return SandboxReport{}, err
	}
	r := SandboxReport{Modes: map[string]plan.SandboxMode{}}
	unsafe, failed, counts, agents := map[string][]string{}, map[string]bool{}, map[plan.SandboxMode]int{}, 0
	for _, t := range ApplySandbox(opts.Config, p).Tasks {
		if isOwnAgent(t.Agent) {
			continue
		}
		agents++
		c, _, err := s.choose(t, s.want(t, false))
		switch {
		case err != nil && !failed[err.Error()]:
			failed[err.Error()] = true
			problem := preflight.ProblemOf(err)
			problem.Text = fmt.Sprintf("task %s: %s", t.ID, problem.Text)
			r.Problems = append(r.Problems, problem)
		case err != nil:
		case c.Mode == plan.SandboxNone && c.Why != "" && engine.AgentOf(t) != plan.CommandAgent && engine.AgentOf(t) != plan.FakeAgent:
			unsafe[c.Why] = append(unsafe[c.Why], t.ID)
		}
		r.Modes[t.ID] = c.Mode
		counts[c.Mode]++
	}
	var parts []string
	for _, mode := range []plan.SandboxMode{plan.SandboxContainer, plan.SandboxBubblewrap, plan.SandboxProgram} {
		switch n := counts[mode]; {
		case n == agents && n > 0:
			parts = append(parts, string(mode))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%s for %d of %d tasks", mode, n, agents))
		}
	}
	if len(parts) > 0 {
		r.Summary = "sandbox: " + strings.Join(parts, ", ")
	}
	for why, tasks := range unsafe {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no sandbox for %s: %s", taskNames(tasks), why))
	}
	slices.Sort(r.Warnings)
	return r, nil
}

// announce prints which sandboxes the tasks get, and the warnings.
func (r SandboxReport) announce(notice func(text string)) {
	if r.Summary != "" {
		notice(r.Summary)
	}
	for _, w := range r.Warnings {
		notice("warning: " + w)
	}
}

// taskNames returns a phrase with up to three of the task ids, and says how many more there are.
func taskNames(ids []string) string {
	const few = 3
	word := "task"
	if len(ids) > 1 {
		word = "tasks"
	}
	names := strings.Join(ids[:min(few, len(ids))], ", ")
	if more := len(ids) - few; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return cmp.Or(word+" "+names, word)
}
