// Package preflight checks what would prevent a plan from running on this machine: missing
// programs, logins, models, repositories and branches. It reports all problems at once and creates
// nothing.
//
// It runs no program that a project, a plan or gaffer.yaml names: it only checks that these
// programs exist. The only programs that it runs are git and, with [Ask], agent programs that the
// user has installed.
package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/git"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// Problem is one reason why a plan cannot run on this machine.
type Problem struct {
	Text string `json:"problem"`
	Next string `json:"next,omitempty"` // what the user can do about the problem

	// err is the error that has caused the problem. It determines gaffer's exit code. It is nil if
	// something is missing, such as a program, a login or a file.
	err error
}

func (p Problem) Error() string { return p.Text }

// Hint returns what the user can do about the problem.
func (p Problem) Hint() string { return p.Next }

// NotFound reports whether the problem is something that is missing, such as a program or a login.
func (p Problem) NotFound() bool { return p.err == nil }

func (p Problem) Unwrap() error { return p.err }

// String returns the problem and what to do about it, on one line.
func (p Problem) String() string {
	if p.Next == "" {
		return p.Text
	}
	return p.Text + "; " + p.Next
}

// Options describe how the plan would run.
type Options struct {
	Root   string                  // the project's root
	Agents map[string]agent.Custom // the agents in gaffer.yaml, and those that gaffer defines itself
	// Accounts are the accounts of agent programs that the user has set up in gaffer. If an agent
	// has accounts, they are checked instead of the login of the agent's program.
	Accounts []account.Account
	// Environ is the environment of the agents, as NAME=value. If a name occurs twice, the last
	// value counts.
	Environ []string

	Programs []string // programs that the run needs in addition to the agents' programs
	Branches []string // branches of the project's repository that must exist
}

// Check returns all problems that prevent a plan from running.
func Check(ctx context.Context, p plan.Plan, o Options) []Problem {
	c := &checker{Options: o, plan: p}
	for _, program := range o.Programs {
		if _, err := supervisor.FindProgram(program, o.Environ); err != nil {
			c.addMissing("install it", "the program %s is not installed: it is not in PATH", program)
		}
	}
	for _, u := range agentUses(p) {
		c.checkAgent(ctx, u)
	}
	c.checkRepositories(ctx)
	return c.found
}

// CheckAgent checks one agent and returns all problems. It also returns the path of the agent's
// program, or "" if the program was not found.
func CheckAgent(ctx context.Context, name string, o Options) (path string, problems []Problem) {
	c := &checker{Options: o}
	path = c.checkAgent(ctx, &agentUse{agent: name})
	return path, c.found
}

type checker struct {
	Options
	plan  plan.Plan
	found []Problem

	models map[string]bool // language models that the program opencode lists; nil until gaffer has asked it
}

func (c *checker) addMissing(next, format string, args ...any) {
	c.found = append(c.found, Problem{Text: fmt.Sprintf(format, args...), Next: next})
}

// agentUse is a group of tasks that have the same agent, language model, program, worktree setting
// and environment variables. So they can be checked together.
type agentUse struct {
	agent string
	first plan.Task
	tasks []string
}

func agentUses(p plan.Plan) (uses []*agentUse) {
	byKey := map[string]*agentUse{}
	var tasks []plan.Task
	for _, t := range p.Tasks {
		tasks = append(tasks, t)
		for _, name := range t.Fallback {
			if len(t.Argv) == 0 && t.Pick == nil && t.Candidate == "" {
				other := t
				other.Agent, other.Model = plan.SplitAgent(name)
				tasks = append(tasks, other)
			}
		}
	}
	for _, t := range tasks {
		program := ""
		if len(t.Argv) > 0 {
			program = t.Argv[0]
		}
		env, _ := json.Marshal(t.Env) // cannot fail: the values consist of strings
		key := fmt.Sprintf("%q %q %q %v %s", engine.AgentOf(t), t.Model, program, t.Worktree, env)
		u := byKey[key]
		if u == nil {
			u = &agentUse{agent: engine.AgentOf(t), first: t}
			byKey[key], uses = u, append(uses, u)
		}
		if !slices.Contains(u.tasks, t.ID) {
			u.tasks = append(u.tasks, t.ID)
		}
	}
	return uses
}

// describe returns a text for messages that names the agent and the tasks that use it.
func (u *agentUse) describe() string {
	const few = 3
	if len(u.tasks) == 0 {
		return "agent " + u.agent
	}
	names := strings.Join(u.tasks[:min(few, len(u.tasks))], ", ")
	word := "task"
	switch more := len(u.tasks) - few; {
	case more > 0:
		word, names = "tasks", fmt.Sprintf("%s and %d more", names, more)
	case len(u.tasks) > 1:
		word = "tasks"
	}
	return fmt.Sprintf("agent %s (%s %s)", u.agent, word, names)
}

// checkAgent checks whether the tasks of u can use their agent: the agent's program, accounts and
// references to secrets. If gaffer.yaml does not name another program for the agent, checkAgent
// also checks the language model and, if the agent has no accounts, the login.
//
// It returns the path of the program. It returns "" if the agent is unknown, if the program was not
// found, or if an earlier task may create the program.
func (c *checker) checkAgent(ctx context.Context, u *agentUse) string {
	if _, err := agent.New(u.agent, c.Agents); err != nil {
		next := "name another agent"
		if hint, ok := err.(interface{ Hint() string }); ok {
			next = hint.Hint()
		}
		c.addMissing(next, "%s: %v", u.describe(), err)
		return ""
	}
	c.checkReferences(u)
	own, kind := c.Agents[u.agent], agent.Kind(u.agent, c.Agents)
	program, next := kind, installHints[kind]
	if len(own.Argv) > 0 {
		program, next = own.Argv[0], fmt.Sprintf("install it, or correct agents.%s.argv in gaffer.yaml", u.agent)
	}
	if kind == plan.CommandAgent && len(u.first.Argv) > 0 {
		if len(u.first.After) > 0 || u.first.Wave > 1 {
			return "" // skip the check: an earlier task may create the program
		}
		program, next = u.first.Argv[0], "install it, or correct the command of the task"
	}
	env := slices.Concat(c.Environ, variables(own.Env), variables(u.first.Env))
	path := c.find(program, env, u.first)
	if path == "" {
		where := "it is not in PATH"
		if strings.Contains(program, "/") {
			where = "no such program"
		}
		c.addMissing(next, "%s: the program %s is not installed: %s", u.describe(), program, where)
		return ""
	}
	accounts := slices.DeleteFunc(slices.Clone(c.Accounts), func(a account.Account) bool { return a.Agent != u.agent })
	if len(accounts) > 0 {
		c.checkAccounts(accounts, u)
	}
	// Check the login and the language model only if gaffer.yaml does not name another program for
	// the agent. Gaffer does not know the logins and models of other programs.
	if len(own.Argv) == 0 {
		if len(accounts) == 0 {
			c.checkLogin(kind, env, u)
		}
		c.checkModel(ctx, kind, u)
	}
	return path
}

// checkAccounts checks the accounts of an agent. If at least one of them can be used, it reports
// nothing. Otherwise it reports the problems of all of them.
func (c *checker) checkAccounts(accounts []account.Account, u *agentUse) {
	var found []Problem
	for _, a := range accounts {
		problems := CheckAccount(a, c.Options)
		if len(problems) == 0 {
			return
		}
		for _, p := range problems {
			p.Text = u.describe() + ": " + p.Text
			found = append(found, p)
		}
	}
	c.found = append(c.found, found...)
}

// CheckAccount returns the problems that prevent the use of an account on this machine, or nil if
// there are none. It uses only Root and Environ of the options. It runs no program.
func CheckAccount(a account.Account, o Options) (found []Problem) {
	if a.Config != "" {
		info, err := os.Stat(a.Config)
		switch {
		case err != nil:
			found = append(found, Problem{
				Text: fmt.Sprintf("account %s: its config folder %s is missing", a.Name, a.Config),
				Next: fmt.Sprintf("log in with '%s=%s %s'", account.ConfigVariable(a.Kind), a.Config, a.Kind),
			})
		case !info.IsDir():
			found = append(found, Problem{Text: fmt.Sprintf("account %s: its config folder %s is not a folder", a.Name, a.Config)})
		}
	}
	r := secret.Resolver{Environ: supervisor.WithoutSecrets(o.Environ), Dir: o.Root, Find: supervisor.FindProgram}
	for _, err := range r.Missing(a.Env) {
		found = append(found, Problem{Text: fmt.Sprintf("account %s: %v", a.Name, err), Next: err.Hint()})
	}
	return found
}

// installHints says how to install each program.
var installHints = map[string]string{
	"claude":   "install it with 'npm install -g @anthropic-ai/claude-code', or name another agent",
	"codex":    "install it with 'npm install -g @openai/codex', or name another agent",
	"gemini":   "install it with 'npm install -g @google/gemini-cli', or name another agent",
	"opencode": "install it with 'npm install -g opencode-ai', or name another agent",
}

// find returns the path of a program. It looks the program up in the same way as the supervisor
// process that will start it. It returns "" if the program is missing. If the task will run in a
// worktree that does not exist yet, find cannot check a path that is relative to that worktree, and
// returns it unchanged.
func (c *checker) find(program string, env []string, t plan.Task) string {
	if !strings.Contains(program, "/") {
		path, err := supervisor.FindProgram(program, env)
		if err != nil {
			return ""
		}
		return path
	}
	if !filepath.IsAbs(program) {
		if t.Worktree || t.Branch != "" || c.plan.Workflow != nil {
			return program
		}
		root := c.Root
		if t.Dispatch != nil && t.Dispatch.Repo != "" {
			root = t.Dispatch.Repo
		}
		program = filepath.Join(root, program)
	}
	info, err := os.Stat(program)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ""
	}
	return program
}

// variables returns the environment variables as NAME=value. It leaves out the variables whose
// value is a reference to a secret.
func variables(env map[string]secret.Value) (list []string) {
	for name, value := range env {
		if !value.IsReference() {
			list = append(list, name+"="+value.Text)
		}
	}
	return list
}

// checkReferences reports each reference to a secret that cannot be resolved on this machine. It
// checks the environment variables of an agent and of the tasks that use the agent.
func (c *checker) checkReferences(u *agentUse) {
	refs := maps.Clone(c.Agents[u.agent].Env)
	maps.DeleteFunc(refs, func(name string, _ secret.Value) bool { _, replaced := u.first.Env[name]; return replaced })
	r := secret.Resolver{Environ: supervisor.WithoutSecrets(c.Environ), Dir: c.Root, Find: supervisor.FindProgram}
	for _, err := range slices.Concat(r.Missing(refs), r.Missing(u.first.Env)) {
		c.addMissing(err.Hint(), "%s: %v", u.describe(), err)
	}
}

// checkRepositories checks the repositories in which worktrees will be created, and the branches of
// the project's repository that must exist. If the workflow makes a pull request, it also checks
// that the program gh is installed.
func (c *checker) checkRepositories(ctx context.Context) {
	var roots []string
	if c.plan.Workflow != nil || len(c.Branches) > 0 {
		roots = append(roots, c.Root)
	}
	for _, t := range c.plan.Tasks {
		root := c.Root
		if t.Dispatch != nil && t.Dispatch.Repo != "" {
			root = t.Dispatch.Repo
		}
		if (t.Worktree || t.Branch != "") && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	branches := slices.Clone(c.Branches)
	if flow := c.plan.Workflow; flow != nil && flow.OnComplete.MergeTo != "" {
		branches = append(branches, flow.OnComplete.MergeTo)
	}
	for _, root := range roots {
		repo, err := worktree.Open(ctx, root)
		if err == nil {
			_, err = repo.Base(ctx, "")
		}
		if err == nil {
			err = repo.MayWrite()
		}
		if err != nil {
			c.addError("worktrees cannot be made", err)
			continue
		}
		if root != c.Root {
			continue
		}
		if flow := c.plan.Workflow; flow != nil {
			if _, err := repo.Base(ctx, flow.Base); err != nil {
				c.addError(fmt.Sprintf("workflow %s: base", flow.ID), err)
			}
		}
		for _, name := range branches {
			base, err := repo.Base(ctx, name)
			if err == nil && base.Branch == "" {
				err = &git.MissingError{What: "branch", Name: name, Advice: "make it with 'git branch', or name another"}
			}
			if err != nil {
				c.addError("merge", err)
			}
		}
	}
	if flow := c.plan.Workflow; flow != nil && flow.OnComplete.CreatePR {
		if _, err := supervisor.FindProgram("gh", c.Environ); err != nil {
			c.addMissing("install it (https://cli.github.com), or take create_pr out of the workflow",
				"workflow %s: its pull request needs the program gh, which is not in PATH", flow.ID)
		}
	}
}

// addError adds a problem for an error. The problem keeps the error's hint and exit code.
func (c *checker) addError(what string, err error) {
	p := ProblemOf(err)
	p.Text = what + ": " + p.Text
	c.found = append(c.found, p)
}

// ProblemOf converts an error to a Problem that keeps the error's exit code and hint.
func ProblemOf(err error) Problem {
	p := Problem{Text: err.Error(), err: err}
	if hint, ok := err.(interface{ Hint() string }); ok {
		p.Next = hint.Hint()
	}
	return p
}
