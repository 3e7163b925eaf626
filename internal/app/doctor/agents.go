package doctor

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/plan"
)

// FindAgents looks for the programs of all agents: the agents that gaffer supports and those that
// gaffer.yaml names. It does not execute a program that gaffer.yaml names, because a project may
// name any program there. It uses only the fields Names, Agents and Project of opts.
func FindAgents(ctx context.Context, opts Options) []Agent {
	names := agent.Names()
	for _, name := range opts.Names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == plan.CommandAgent }) // agent "command" has no fixed program
	list := make([]Agent, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { list[i] = findAgent(ctx, opts, name) })
	}
	all.Wait()
	return list
}

// findAgent looks for the program of one agent. It asks the program for its version, unless
// gaffer.yaml sets the program or its environment.
func findAgent(ctx context.Context, opts Options, name string) Agent {
	custom, err := opts.Agents(name)
	if err != nil {
		return Agent{Name: name, Program: name, Problem: err.Error()}
	}
	own := custom[name]
	a := Agent{Name: name, Program: agent.Kind(name, custom)}
	if len(own.Argv) > 0 {
		a.Program = own.Argv[0]
	}
	path, problems := preflight.CheckAgent(ctx, name, preflight.Options{Root: opts.Project, Agents: custom, Environ: os.Environ()})
	if a.Path = path; len(problems) > 0 {
		a.Problem = problems[0].String()
	}
	if a.Path != "" && len(own.Argv) == 0 && len(own.Env) == 0 {
		text, _ := preflight.Ask(ctx, a.Program, opts.Project, os.Environ(), "--version") // ignore the error: the version is only for display
		a.Version, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	}
	return a
}
