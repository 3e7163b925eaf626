// Package teamsession starts, finds and continues the team session of a project. In a team session,
// agents with different roles work together on the user's requirements.
package teamsession

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/config"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/roles"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/plan"
	"gaffer/statefile"
	"gaffer/team"
)

// Project describes the project of a team session.
type Project struct {
	Root   string // path of the project's root
	Config *config.Config
	Merges string // folder for testing merges; it has a subfolder for each run
	Now    func() time.Time
	Notice func(text string) // prints a message to the user
}

// Options are the dependencies of Sessions.
type Options struct {
	Project Project
	Store   store.Store
	Engine  *engine.Engine // engine that works on Store
	// Runs returns all runs of the project, newest first.
	Runs  func(r store.Reader) ([]store.Run, error)
	Locks runlock.Locks
	// Submit stores a plan as a run of the project and returns the run's id.
	Submit func(ctx context.Context, p plan.Plan) (run string, err error)
	// EndRun cancels a run and waits until it has ended.
	EndRun func(ctx context.Context, run, why string) error
	// WriteDocuments writes the team's documents for a run that has ended. It does nothing if
	// another gaffer process executes the run, because that process writes them.
	WriteDocuments func(ctx context.Context, run string) error
}

// Sessions starts and continues the team session of a project. A project has one session at a time.
type Sessions struct {
	opts    Options
	project Project
}

// New returns a Sessions for a project.
func New(opts Options) *Sessions { return &Sessions{opts, opts.Project} }

// Request describes a team session to start.
type Request struct {
	Requirements string
	Mode         team.Mode // [team.Simple] or [team.Parallel]; [team.Unplanned] means that the project manager chooses the mode
	Developers   int
	Iterations   int
	Tests        []string      // shell commands that test the result of merging the branch of a group of tasks
	TestsTimeout time.Duration // time limit of such a merge with its tests; 0 means [teamstate.DefaultTestsTimeout]
	Into         string        // the user's branch, into which all work is merged at the end; empty means no such merge
	Budget       plan.Budget
	Roles        string // path of a file that assigns agents to the team's roles; empty means no such file
	// Questions says how the questions and permission requests of all agents are answered. If it is
	// empty, the settings of each role decide.
	Questions plan.QuestionPolicy
	Fresh     bool // archive an existing session and start a new one

	found *teamstate.Found // state of the session to continue if another program has started it; nil for a new session
}

// Started is the result of starting a session.
type Started struct {
	Run      string // id of the run that executes the session
	Session  string
	Archived string // folder with the documents of the previous session; empty if there was none
}

// Start creates a team session and submits its run. The agents start later, when a gaffer process
// executes the run. If a session exists and n.Fresh is not set, Start returns a
// [*team.SessionExistsError].
func (s *Sessions) Start(ctx context.Context, n Request) (started Started, err error) {
	if _, err := s.project.Roles(n.Roles); err != nil {
		return started, err
	}
	// Check the repository and the target branch before anything starts, so that the user learns of
	// problems early.
	repo, err := worktree.Open(ctx, s.project.Root)
	if err != nil {
		return started, err
	}
	if n.Into != "" {
		base, err := repo.Base(ctx, n.Into)
		if err == nil && base.Branch == "" {
			err = &runquery.NotFoundError{What: "branch", Name: n.Into}
		}
		if err != nil {
			return started, err
		}
	}
	if n.Fresh {
		if err := s.abandon(ctx); err != nil {
			return started, err
		}
		started.Session, started.Archived, err = s.project.open().InitNew(ctx, n.Requirements)
	} else {
		started.Session, err = s.project.open().Init(ctx, n.Requirements)
	}
	if err != nil {
		return started, err
	}
	started.Run, err = s.submit(ctx, n, started.Session)
	return started, err
}

func (s *Sessions) submit(ctx context.Context, n Request, session string) (string, error) {
	set, err := s.project.Roles(n.Roles)
	if err != nil {
		return "", err
	}
	sandbox := ""
	// Store the sandbox mode with the session if it comes from a command-line flag, because another
	// process without this flag may continue the run.
	if mode, byFlag := s.project.Config.Sandbox(); byFlag {
		sandbox = mode
	}
	p, err := teamrun.Plan(teamstate.Start{
		Sandbox: sandbox, Session: session, Requirements: n.Requirements, Mode: n.Mode, Developers: n.Developers, Iterations: n.Iterations,
		Branch: fmt.Sprintf("gaffer/%s/team", session), Into: n.Into, Tests: n.Tests, TestsTimeout: n.TestsTimeout, Roles: n.Roles, Questions: string(n.Questions), Found: n.found,
	}, set, s.project.Now())
	if err != nil {
		return "", err
	}
	p.Budget = n.Budget
	return s.opts.Submit(ctx, p)
}

// CreateBase creates the session's branch, into which approved work of a team is merged. The new
// branch starts at the user's branch [teamstate.Start.Into], or at the current branch if Into is
// empty. p is the plan of the team's run, and root is the path of the repository. CreateBase
// returns the commit at which the new branch starts.
func CreateBase(ctx context.Context, root string, p plan.Plan) (string, error) {
	var start teamstate.Start
	if err := json.Unmarshal(p.Team, &start); err != nil {
		return "", err
	}
	repo, err := worktree.Open(ctx, root)
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

// Roles returns the settings and the templates of the team's roles. file is the path of a file with
// settings of roles, which have precedence over those of the project. If file is empty, only the
// project's settings are used.
func (p Project) Roles(file string) (roles.Set, error) {
	c := p.Config
	if file != "" {
		with, err := c.WithRoles(file)
		if err != nil {
			return roles.Set{}, err
		}
		c = with
	}
	return roles.Load(c, filepath.Join(p.Root, "templates"))
}

func (p Project) open() *team.Store {
	return team.Open(p.Config.Path("paths.team"), team.Options{
		Now: p.Now, LockTimeout: p.Config.Duration("lock_timeout"),
		Notice: func(n statefile.Notice) { p.Notice(n.Text) },
	})
}

// NewConductor returns a [teamrun.Conductor], which executes the run of a team. It returns nil if
// the run has no team or no tasks.
func NewConductor(ctx context.Context, p Project, e *engine.Engine, events store.Store, r store.Reader, run store.Run) (*teamrun.Conductor, error) {
	start, err := teamrun.StartOf(run)
	if err != nil || start == nil {
		return nil, err
	}
	tasks, err := r.Tasks(run.ID)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	set, err := p.Roles(start.Roles)
	if err != nil {
		return nil, err
	}
	repo, err := worktree.Open(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	return teamrun.New(teamrun.Options{
		Run: run, Since: tasks[0].Seq - 2, Store: events, Engine: e, Team: p.open(), Roles: set,
		Trees: teamTrees{repo, run.ID, filepath.Join(p.Merges, run.ID)}, Notice: p.Notice,
	})
}

// teamTrees manages the worktrees of a team's run. It implements [teamrun.Trees].
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
