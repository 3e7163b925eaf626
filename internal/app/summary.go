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

// Summary returns the counts of runs, tasks and open questions for the status line: those of this
// project, or of all projects if everywhere is set. It never creates a database file. It reads an
// existing file without changing it or waiting for other processes. A database on a server is
// opened as by [Open].
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

// addQuestionsByHand adds to g the questions that belong to no run. questions are those in the
// store. agents are the agents that the user has started by hand on this machine; they may also
// wait for an answer in their own terminals. It leaves out the questions of agents in folders for
// which inProject returns false.
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
