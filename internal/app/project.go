package app

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"gaffer/internal/app/localrun"
	"gaffer/internal/app/notifications"
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/runner"
	"gaffer/internal/attempt/terminal"
	"gaffer/internal/config"
	"gaffer/internal/flow/buildrun"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/plan"
	"gaffer/internal/project"
	"gaffer/ledger"
	"gaffer/session"
)

// openProject opens the documents of the project in opts, and returns them together with the
// [localrun.Runs] that executes the project's runs. If quiet is true, this Runs does not print
// temporary problems with writing documents.
func (a *App) openProject(opts Options, quiet bool) (*localrun.Runs, *session.Store, *ledger.Store, *terminal.Terminals) {
	c := opts.Config
	sessions := session.New(c.Path("paths.session"), session.Options{
		Now: opts.Now, LogPrefix: opts.documentPath(c.Path("paths.session")), LockTimeout: min(c.Duration("lock_timeout"), lockTimeout),
	})
	records := ledger.Open(c.Path("paths.ledger"), ledger.Options{
		Now: opts.Now, Name: opts.documentPath(c.Path("paths.ledger")), LockTimeout: c.Duration("lock_timeout"),
	})
	terminals := terminal.New(terminal.Options{
		State: a.state, Project: opts.Project.Root, Ledger: c.Path("paths.ledger"), Database: a.database, FindTask: a.Fleet.FindTask,
		Kind: opts.agentKind, Now: opts.Now, Notice: opts.Notice,
	})
	boxes := sandboxesFor(opts, a.database, a.state)
	return localrun.New(localrun.Options{
		Sandbox: boxes.specFor, Machine: boxes.machine,
		Store: a.store, Engine: a.engine, Query: a.query, Locks: a.locks, State: a.state, Project: opts.Project.Root, Version: opts.Version,
		Build: opts.buildProject(), Team: opts.teamProject(a.state), Session: sessions, Ledger: records, Paths: opts.documentPaths(), Terminals: terminals,
		Agents:     func(name string) (agent.Agent, error) { return newAgent(opts.Getenv, opts.Project.Root, c, name) },
		Accounts:   func() []account.Account { return usableAccounts(c, opts.Project.Root, opts.Notice) },
		Supervisor: opts.Supervisor, Cancel: a.Fleet.Cancel, Notify: a.Notifications.StartRun, Served: a.served.Load, NewID: newID, Now: opts.Now, Notice: opts.Notice,
		Quiet: quiet, Land: a.landRun, Report: a.Sources.reportItems,
	}), sessions, records, terminals
}

// runsOf returns the [localrun.Runs] of the project at root, and a function that closes the
// project's documents. The parameter paths contains the folders of these documents, by the name of
// their setting.
func (a *App) runsOf(root string, paths map[string]string) (*localrun.Runs, func(), error) {
	opts := a.opts
	var flags []config.Setting
	for name, path := range paths {
		flags = append(flags, config.Setting{Name: name, Text: path, Flag: "the run"})
	}
	var err error
	if opts.Project, err = project.At(root, "the run"); err != nil {
		return nil, nil, err
	}
	if opts.Config, err = config.Load(config.Inputs{Root: root, Getenv: opts.Getenv, Flags: flags}); err != nil {
		return nil, nil, err
	}
	runs, sessions, _, _ := a.openProject(opts, true)
	return runs, sessions.Close, nil
}

// documentPaths returns the folders of the project's documents, by the name of their setting.
func (o Options) documentPaths() map[string]string {
	paths := map[string]string{}
	for _, v := range o.Config.Values() {
		if strings.HasPrefix(v.Key.Name, "paths.") {
			paths[v.Key.Name] = o.Config.Path(v.Key.Name)
		}
	}
	return paths
}

// flags returns the settings that come from flags of this command, each as NAME=TEXT.
func (o Options) flags() (list []string) {
	for _, v := range o.Config.Values() {
		if v.Origin.Flag != "" {
			list = append(list, v.Key.Name+"="+v.Text)
		}
	}
	return list
}

// documentPath converts a path to the form that is written into documents. If the path is below the
// project's root, the result is relative to the root. Otherwise the path does not change.
func (o Options) documentPath(path string) string {
	if rel, err := filepath.Rel(o.Project.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// buildProject returns what package buildrun needs to know about the project.
func (o Options) buildProject() buildrun.Project {
	return buildrun.Project{
		Root: o.Project.Root, Workflow: o.Config.Path("paths.workflow"), LockTimeout: o.Config.Duration("lock_timeout"), Now: o.Now, Notice: o.Notice,
	}
}

// teamProject returns what package teamsession needs to know about the project.
func (o Options) teamProject(state string) teamsession.Project {
	return teamsession.Project{Root: o.Project.Root, Config: o.Config, Merges: filepath.Join(state, "merges"), Now: o.Now, Notice: o.Notice}
}

// notifications returns the settings of the notification channels.
func (o Options) notifications() notifications.Settings {
	return notifications.Settings{Config: o.Config, Getenv: o.Getenv, Now: o.Now}
}

// TestNotify sends a test notification over the named channel, or over all configured channels if
// channel is empty. It needs no database.
func TestNotify(ctx context.Context, opts Options, channel string) ([]notifications.TestResult, error) {
	return notifications.Test(ctx, opts.notifications(), newID(), channel)
}

// agentKind returns the kind of the agent with this name. The kind is the name of the built-in
// agent, such as claude, whose protocol the agent uses.
func (o Options) agentKind(name string) string {
	custom, err := customAgents(o.Config, name)
	if err != nil {
		return plan.CommandAgent
	}
	return agent.Kind(name, custom)
}

// verifyCommand returns the shell command that verifies a task of a build. The command calls
// 'gaffer verify', which runs the checks that are listed in the given file.
func verifyCommand(file string) string {
	quoted := "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	return fmt.Sprintf(`"$%s" verify %s`, runner.SelfEnv, quoted)
}
