package app

import (
	"context"
	"errors"
	"os"
	"slices"

	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/config"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/git"
	"gaffer/internal/plan"
	"gaffer/internal/project/trust"
)

// newAgent returns the adapter of the named agent. If the project's gaffer.yaml sets the agent's
// program or environment and the user does not trust this setting, the adapter refuses to start the
// agent. The adapter can still read the output of an agent that is already running.
func newAgent(getenv func(string) string, root string, c *config.Config, name string) (agent.Agent, error) {
	custom, err := customAgents(c, name)
	if err != nil {
		return nil, err
	}
	made, err := agent.New(name, custom)
	if err != nil {
		return nil, err
	}
	if err := trust.Check(getenv, root, programsOf(c, "agents."+name)); err != nil {
		return untrusted{made, err}, nil
	}
	return made, nil
}

// usableAccounts returns the user's accounts of agent programs that can be used on this machine,
// and prints a notice for each account that it leaves out. If none of an agent's accounts can be
// used, usableAccounts returns all of them, so that the agent's tasks fail with the reason. Without
// any account, these tasks would run with the login of the agent's program.
func usableAccounts(c *config.Config, root string, notice func(string)) (list []account.Account) {
	all := accountsOf(c)
	problems := map[string]string{} // problem of each account that cannot be used, by account name
	usable := map[string]bool{}     // agents with at least one account that can be used
	for _, a := range all {
		if found := preflight.CheckAccount(a, preflight.Options{Root: root, Environ: os.Environ()}); len(found) > 0 {
			problems[a.Name] = found[0].String()
		} else {
			usable[a.Agent] = true
		}
	}
	for _, a := range all {
		if problem := problems[a.Name]; problem != "" && usable[a.Agent] {
			notice(problem + "; it is not used")
			continue
		}
		list = append(list, a)
	}
	return list
}

// accountsOf returns the user's accounts of agent programs, in the order of the user's config file.
// It leaves out an account if this project does not know the account's agent.
func accountsOf(c *config.Config) (list []account.Account) {
	for _, a := range c.Accounts() {
		custom, err := customAgents(c, a.Agent)
		if err != nil {
			continue
		}
		if _, err := agent.New(a.Agent, custom); err != nil {
			continue
		}
		list = append(list, account.Account{
			Name: a.Name, Agent: a.Agent, Kind: agent.Kind(a.Agent, custom), Config: a.Config, Env: a.Env, Reserve: a.Reserve,
		})
	}
	return list
}

// untrusted is the adapter of an agent whose settings in gaffer.yaml the user does not trust. It
// starts nothing.
type untrusted struct {
	agent.Agent
	err error
}

// Launch implements [agent.Agent].
func (u untrusted) Launch(agent.Request) (agent.Launch, error) { return agent.Launch{}, u.err }

// programsOf returns the settings in the project's gaffer.yaml that need the user's trust, because
// they make gaffer run a program or answer questions of agents without asking the user. If names
// are given, programsOf returns only the settings with these names.
func programsOf(c *config.Config, names ...string) (list []trust.Program) {
	for _, p := range c.Programs() {
		if len(names) == 0 || slices.Contains(names, p.Setting) {
			list = append(list, trust.Program(p))
		}
	}
	return list
}

// ProjectPrograms lists the settings in the project's gaffer.yaml and git configuration that need
// the user's trust, for example because they make gaffer run a program.
func ProjectPrograms(ctx context.Context, opts Options) ([]trust.Program, error) {
	list := programsOf(opts.Config)
	repo, err := worktree.Open(ctx, opts.Project.Root)
	if none := (*git.OpenError)(nil); errors.As(err, &none) {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	return append(list, repo.Programs()...), nil
}

// customAgents returns the agents that gaffer.yaml defines, by name. If gaffer itself implements
// the named agent, the result also contains that agent. Examples are the fake agent and the agents
// that merge. If the program of the named agent is "gaffer", customAgents replaces it with the path
// of this executable, because gaffer may not be installed.
func customAgents(c *config.Config, name string) (map[string]agent.Custom, error) {
	custom := c.Agents()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if c := custom[name]; len(c.Argv) > 0 && c.Argv[0] == "gaffer" {
		c.Argv = append([]string{self}, c.Argv[1:]...)
		custom[name] = c
	}
	if _, said := custom[name]; name == plan.FakeAgent && !said {
		custom[name] = agent.Custom{Like: "claude", Argv: []string{self, "fake-agent", "--protocol", "claude"}}
	}
	if name == workspace.MergeAgent {
		custom[name] = agent.Custom{Like: plan.CommandAgent, Argv: []string{self, workspace.MergeCommand}}
	}
	if name == plan.PickAgent {
		custom[name] = agent.Custom{Like: plan.CommandAgent, Argv: []string{self, workspace.PickCommand}, Prompt: agent.File, Markers: agent.Markers{Waiting: workspace.PickQuestion}}
	}
	if name == teamrun.MergeAgent {
		custom[name] = agent.Custom{Like: plan.CommandAgent, Argv: []string{self, teamrun.MergeCommand}}
	}
	return custom, nil
}
