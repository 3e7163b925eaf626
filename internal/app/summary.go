package app

import (
	"context"
	"errors"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/byhand/discover"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
)

// Summary returns the counts of runs, tasks and agents' open questions for the status line. It
// counts those of this project, or of all projects if everywhere is set. If the database is a file,
// Summary reads it without changing it and without waiting for other processes. It never creates
// the file. If the database is on a database server, Summary opens it with [Open].
func Summary(ctx context.Context, opts Options, everywhere bool) (g fleet.Summary, err error) {
	database, state, err := databaseOf(opts)
	if err != nil {
		return g, err
	}
	project := opts.Project.Root
	if everywhere {
		project = ""
	}
	var others []fleet.Question
	look := func(r store.Reader) error {
		g, others, err = runquery.ProjectSummary(r, project, opts.Now())
		return err
	}
	there, err := DatabaseExists(opts)
	switch {
	case err != nil:
		return g, err
	case there && strings.Contains(database, "://"):
		a, err := Open(ctx, opts)
		if err != nil {
			return g, err
		}
		if err := errors.Join(a.store.Read(ctx, look), a.Close()); err != nil {
			return g, err
		}
	case there:
		if err := sqlite.QuickRead(ctx, database, look); err != nil {
			return g, err
		}
	}
	byHand := newFinder(state, opts.Getenv, opts.Now).FindQuickly(ctx)
	addQuestionsByHand(&g, others, byHand, func(dir string) bool { return everywhere || opts.Project.Contains(dir) })
	return g, nil
}

// addQuestionsByHand adds to g the agents' questions that belong to no run. The parameter questions
// contains those that are in the store. The parameter agents contains the agents that the user has
// started without gaffer on this machine. If such an agent waits for an answer in its own terminal
// and has no question in the store, that counts as a question too. Questions of agents in folders
// for which inProject returns false are left out.
func addQuestionsByHand(g *fleet.Summary, questions []fleet.Question, agents []discover.Agent, inProject func(dir string) bool) {
	outside, asked := map[string]bool{}, map[string]bool{}
	for _, s := range agents {
		outside[s.Name] = s.Dir != "" && !inProject(s.Dir)
	}
	for _, q := range questions {
		if asked[q.Name] = true; !outside[q.Name] {
			g.AddQuestion(q.Name, q.Asked)
		}
	}
	for _, s := range agents {
		if s.Status == hookevents.Waiting && !asked[s.Name] && !outside[s.Name] {
			g.AddQuestion(s.Name, s.Since)
		}
	}
}
