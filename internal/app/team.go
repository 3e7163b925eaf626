package app

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/roles"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
	"gaffer/statefile"
	"gaffer/team"
)

// NewTeam describes a team session to start.
type NewTeam struct {
	Requirements string
	Mode         team.Mode // [team.Unplanned] lets the project manager decide
	Developers   int
	Iterations   int
	Tests        []string      // shell commands that run after each merge
	TestsTimeout time.Duration // time limit of a merge with its tests; 0 for [teamstate.DefaultTestsTimeout]
	Into         string        // the branch to merge into at the end; empty for none
	Budget       plan.Budget
	Roles        string // a file that assigns agents to roles; empty for none
	Fresh        bool   // archive the existing session

	found *teamstate.Found // progress of another program; nil if the session starts here
}

// TeamStarted is the result of starting a team.
type TeamStarted struct {
	Run      string // the engine's run
	Session  string
	Archived string // folder of the previous session's documents; empty if there was none
}

// Team starts a team session and submits its run. Nothing runs before Work. An existing
// session is a conflict, unless n.Fresh is set.
func (a *App) Team(ctx context.Context, n NewTeam) (s TeamStarted, err error) {
	if _, err := a.roles(n.Roles); err != nil {
		return s, err
	}
	if err := a.canMerge(ctx, n.Into); err != nil {
		return s, err
	}
	if n.Fresh {
		if err := a.abandonTeam(ctx); err != nil {
			return s, err
		}
		s.Session, s.Archived, err = a.team().InitNew(ctx, n.Requirements)
	} else {
		s.Session, err = a.team().Init(ctx, n.Requirements)
	}
	if err != nil {
		return s, err
	}
	s.Run, err = a.submitTeam(ctx, n, s.Session)
	return s, err
}

func (a *App) submitTeam(ctx context.Context, n NewTeam, session string) (string, error) {
	set, err := a.roles(n.Roles)
	if err != nil {
		return "", err
	}
	p, err := teamrun.Plan(teamstate.Start{
		Session: session, Requirements: n.Requirements, Mode: n.Mode, Developers: n.Developers, Iterations: n.Iterations,
		Branch: fmt.Sprintf("gaffer/%s/team", session), Into: n.Into, Tests: n.Tests, TestsTimeout: n.TestsTimeout, Roles: n.Roles, Found: n.found,
	}, set, a.opts.Now())
	if err != nil {
		return "", err
	}
	p.Budget = n.Budget
	return a.Submit(ctx, p)
}

// canMerge returns an error if the repository or the target branch cannot be used, so
// that the user learns it before anything starts.
func (a *App) canMerge(ctx context.Context, into string) error {
	repo, err := worktree.Open(ctx, a.opts.Project.Root)
	if err != nil || into == "" {
		return err
	}
	base, err := repo.Base(ctx, into)
	if err == nil && base.Branch == "" {
		err = &runquery.NotFoundError{What: "branch", Name: into}
	}
	return err
}

// teamBase creates the branch that a team's work is merged into, and returns its start
// commit.
func (a *App) teamBase(ctx context.Context, p plan.Plan) (string, error) {
	var start teamstate.Start
	if err := json.Unmarshal(p.Team, &start); err != nil {
		return "", err
	}
	repo, err := worktree.Open(ctx, a.opts.Project.Root)
	if err != nil {
		return "", err
	}
	base, err := repo.Base(ctx, start.Into)
	if err != nil {
		return "", err
	}
	made, err := repo.Branch(ctx, start.Branch, base)
	return made.Commit, err
}

// roles returns the role assignments of gaffer.yaml, overridden by a file.
func (a *App) roles(file string) (roles.Set, error) { return rolesOf(a.opts, file) }

func rolesOf(opts Options, file string) (roles.Set, error) {
	c := opts.Config
	if file != "" {
		with, err := c.WithRoles(file)
		if err != nil {
			return roles.Set{}, err
		}
		c = with
	}
	return roles.Load(c, filepath.Join(opts.Project.Root, "templates"))
}

func (a *App) team() *team.Store {
	return team.Open(a.opts.Config.Path("paths.team"), team.Options{
		Now: a.opts.Now, LockTimeout: a.opts.Config.Duration("lock_timeout"),
		Notice: func(n statefile.Notice) { a.opts.Notice(n.Text) },
	})
}

// conductor returns the conductor of a team's run, or nil for other runs.
func (a *App) conductor(ctx context.Context, r store.Reader, run store.Run) (*teamrun.Conductor, error) {
	start, err := teamrun.StartOf(run)
	if err != nil || start == nil {
		return nil, err
	}
	tasks, err := r.Tasks(run.ID)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	set, err := a.roles(start.Roles)
	if err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, a.opts.Project.Root)
	if err != nil {
		return nil, err
	}
	return teamrun.New(teamrun.Options{
		Run: run, Since: tasks[0].Seq - 2, Store: a.store, Engine: a.engine, Team: a.team(), Roles: set,
		Trees: teamTrees{repo, run.ID, filepath.Join(a.state, "merges", run.ID)}, Notice: a.opts.Notice,
	})
}

// teamTrees gives access to the worktrees of a team's run.
type teamTrees struct {
	repo    *worktree.Repo
	run     string
	scratch string
}

func (t teamTrees) List(ctx context.Context) ([]worktree.Tree, error) { return t.repo.List(ctx, t.run) }

func (t teamTrees) Commit(ctx context.Context, tree worktree.Tree, message string) error {
	_, err := t.repo.Commit(ctx, tree, message)
	return err
}

func (t teamTrees) Changes(ctx context.Context, base, branch string) (files, commits []string, err error) {
	return t.repo.Changes(ctx, base, branch)
}

func (t teamTrees) Remove(ctx context.Context, tree worktree.Tree) error {
	_, err := t.repo.Remove(ctx, tree, false)
	return err
}

func (t teamTrees) Scratch() string { return t.scratch }
