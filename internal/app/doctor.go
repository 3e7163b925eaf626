package app

import (
	"context"
	"maps"
	"slices"

	"gaffer/fleet"
	"gaffer/internal/app/doctor"
	"gaffer/internal/app/notifications"
	"gaffer/internal/attempt/agent"
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
		ChannelAdvice: func() []string { return notifications.ChannelAdvice(opts.notifications()) },
		Now:           opts.Now,
	}
	// If it is unknown whether the database exists, try to open it. Then the error becomes a
	// problem in the result.
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

// doctorDatabase returns the functions with which the doctor reads this App's database.
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
