package app

import (
	"context"
	"os"
	"slices"
	"strings"

	"gaffer/internal/attempt/preflight"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/flow/build"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/plan"
	"gaffer/internal/project/trust"
	"gaffer/team"
)

// Preflight returns what this machine lacks to run a plan, for example agent programs. It also
// looks for the programs that the parameter programs names. It creates nothing and needs no
// database.
func Preflight(ctx context.Context, opts Options, p plan.Plan, programs ...string) ([]preflight.Problem, error) {
	return runPreflight(ctx, opts, p, preflight.Options{Programs: programs})
}

// PreflightBuild is like [Preflight], but for the plan of a build. Such a plan lists chunks, each
// of which becomes a task for one agent.
func PreflightBuild(ctx context.Context, opts Options, p build.Plan) ([]preflight.Problem, error) {
	_, chunks, err := build.New(p, build.Start{VerifyCommand: func(build.Chunk) string { return "true" }})
	if err != nil {
		return nil, err
	}
	return runPreflight(ctx, opts, chunks, preflight.Options{})
}

// PreflightTeam is like [Preflight], but for a team, which is a group of agents with different
// roles. It checks the agent of each role, and the branch into which the team's work is merged.
func PreflightTeam(ctx context.Context, opts Options, n teamsession.Request) ([]preflight.Problem, error) {
	set, err := teamsession.Project{Root: opts.Project.Root, Config: opts.Config}.Roles(n.Roles)
	if err != nil {
		return nil, err
	}
	var p plan.Plan
	for _, name := range config.TeamRoles() {
		r := set.Role(team.Role(name))
		p.Tasks = append(p.Tasks, plan.Task{ID: name, Agent: r.Agent, Model: r.Model, QuestionRules: plan.QuestionRules{Questions: plan.QuestionPolicy(r.Questions)}, Isolation: plan.Isolation{Worktree: true}})
	}
	// The variable needs lists the settings in the project's gaffer.yaml that the user must trust:
	// the test command, if this team uses it, and the settings that allow all permission requests
	// of a role without asking the user.
	var needs []string
	for _, program := range opts.Config.Programs() {
		if program.Setting != "team.tests" || slices.Equal(n.Tests, opts.Config.List("team.tests")) {
			needs = append(needs, program.Setting)
		}
	}
	needs = slices.DeleteFunc(needs, func(name string) bool { return strings.HasPrefix(name, "agents.") })
	more := preflight.Options{}
	if n.Into != "" {
		more.Branches = []string{n.Into}
	}
	return runPreflight(ctx, opts, p, more, needs...)
}

// runPreflight runs the preflight checks. It also checks that the user trusts those settings in the
// project's gaffer.yaml that define agents of the plan or that the parameter needs names. If the
// other checks find no problem, it prints which sandboxes the tasks get.
func runPreflight(ctx context.Context, opts Options, p plan.Plan, o preflight.Options, needs ...string) ([]preflight.Problem, error) {
	o.Root, o.Environ, o.Agents, o.Accounts = opts.Project.Root, os.Environ(), opts.Config.Agents(), accountsOf(opts.Config)
	var names []string
	for _, t := range p.Tasks {
		names = append(names, engine.AgentOf(t))
		for _, text := range t.Fallback {
			name, _ := plan.SplitAgent(text)
			names = append(names, name)
		}
	}
	for _, name := range names {
		all, err := customAgents(opts.Config, name)
		if err != nil {
			return nil, err
		}
		if own, ok := all[name]; ok {
			o.Agents[name] = own
		}
		needs = append(needs, "agents."+name)
	}
	problems := preflight.Check(ctx, p, o)
	boxes, err := Sandboxes(ctx, opts, p)
	if err != nil {
		return nil, err
	}
	problems = append(problems, boxes.Problems...)
	if len(problems) == 0 {
		boxes.announce(opts.Notice)
	}
	if len(needs) == 0 {
		return problems, nil
	}
	if err := trust.Check(opts.Getenv, opts.Project.Root, programsOf(opts.Config, needs...)); err != nil {
		problems = append(problems, preflight.ProblemOf(err))
	}
	return problems, nil
}
