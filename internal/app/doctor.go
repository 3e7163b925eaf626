package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/app/doctor"
	"gaffer/internal/app/notifications"
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/preflight"
	"gaffer/internal/record/pending"
	"gaffer/session"
)

// Doctor examines this machine and the project with [doctor.Examine]. It does not create a
// database.
func Doctor(ctx context.Context, opts Options, repair bool) (doctor.Health, error) {
	database, state, err := databaseOf(opts)
	if err != nil {
		return doctor.Health{}, err
	}
	o := doctor.Options{
		Database: database, State: state, Project: opts.Project.Root, Session: session.New(opts.Config.Path("paths.session"), session.Options{Now: opts.Now}),
		Names:         slices.Sorted(maps.Keys(opts.Config.Agents())),
		Agents:        func(name string) (map[string]agent.Custom, error) { return customAgents(opts.Config, name) },
		Accounts:      CheckAccounts(opts),
		ChannelAdvice: func() []string { return notifications.ChannelAdvice(opts.notifications()) },
		Now:           opts.Now,
	}
	// Let the doctor open the database if the database exists, or if gaffer cannot find out whether
	// it exists. If the database cannot be opened, the error becomes a problem in the result.
	if exists, err := DatabaseExists(opts); exists || err != nil {
		o.Open = func(ctx context.Context) (doctor.Database, error) {
			a, err := Open(ctx, opts)
			if err != nil {
				return doctor.Database{}, err
			}
			return a.doctorDatabase(), nil
		}
	}
	return doctor.Examine(ctx, o, repair)
}

// CheckAccounts returns the user's accounts of agent programs, in the order of the user's config
// file. If an account cannot be used on this machine, its field Problem says why.
func CheckAccounts(opts Options) (list []doctor.Account) {
	known := map[string]account.Account{}
	for _, a := range accountsOf(opts.Config) {
		known[a.Name] = a
	}
	for _, c := range opts.Config.Accounts() {
		one := doctor.Account{Name: c.Name, Agent: c.Agent}
		if a, ok := known[c.Name]; !ok {
			one.Problem = fmt.Sprintf("account %s: this project has no agent %s; correct accounts.%s.agent, or add the agent to gaffer.yaml", c.Name, c.Agent, c.Name)
		} else if found := preflight.CheckAccount(a, preflight.Options{Root: opts.Project.Root, Environ: os.Environ()}); len(found) > 0 {
			one.Problem = found[0].String()
		}
		list = append(list, one)
	}
	return list
}

// doctorDatabase returns the functions that give the doctor access to this App's database and to
// the documents that are not written yet.
func (a *App) doctorDatabase() doctor.Database {
	return doctor.Database{
		Store: a.store, Close: a.Close,
		Runs: func(ctx context.Context) ([]fleet.Run, error) { return a.Fleet.Runs(ctx, true, false) },
		Pending: func(ctx context.Context, write bool) ([]pending.Documents, error) {
			if write {
				return a.Pending.Write(ctx, false)
			}
			return a.Pending.List(ctx, false)
		},
		NotifyAdvice: a.Notifications.Advice,
	}
}

// DeclareGone stores the user's statement that no process of an attempt is running any more. See
// [doctor.DeclareGone] for when that is allowed.
func DeclareGone(opts Options, attempt string) error {
	_, state, err := databaseOf(opts)
	if err != nil {
		return err
	}
	return doctor.DeclareGone(state, attempt, opts.Now())
}
