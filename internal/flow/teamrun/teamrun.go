// Package teamrun executes the run of a team of agents. It applies the events of the run to a
// [teamstate.Session], which decides what the team does next. For each step that the session
// requests, it adds a task to the run. It also writes the documents that describe the state of the
// team.
//
// All state of a [Conductor] can be computed from the events and the git repository. If its process
// dies, another conductor reads all events of the run and continues.
package teamrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/team"
)

// Engine is the part of the engine that a conductor uses.
type Engine interface {
	Extend(context.Context, engine.Extension) error
	Conclude(ctx context.Context, run string, to store.Status, why string) error
}

// Roles turns a [teamstate.Brief], which describes a step of the team's work, into a task: it
// chooses the agent for the step and creates the prompt.
type Roles interface {
	Task(teamstate.Brief) (plan.Task, error)
}

// Options holds the run of a team and what a [Conductor] needs to execute it.
type Options struct {
	Run    store.Run
	Since  int64 // sequence number of the last event before the events of the run
	Store  store.Store
	Engine Engine
	Team   *team.Store
	Roles  Roles
	Trees  Trees
	Notice func(text string)
}

// Conductor executes the run of one team of agents. It is not safe for concurrent use.
type Conductor struct {
	opts        Options
	start       teamstate.Start
	session     *teamstate.Session
	seq         int64 // sequence number of the last applied event
	changes     teamstate.Changes
	stopReasons map[string]string // why a task was asked to stop, by task id
	// stale has the ids of the groups of tasks whose branch may have changed. The value is true if
	// the last ended step of the group was the work of a developer.
	stale map[string]bool
	ended []string // ids of ended steps that had a worktree of their own, which is no longer needed
}

// StartOf returns the parameters with which a run's team started, or nil if the run has no team.
func StartOf(run store.Run) (*teamstate.Start, error) {
	p, err := plan.DecodeHeader(run.Plan)
	var start *teamstate.Start
	if err == nil && len(p.Team) > 0 {
		err = json.Unmarshal(p.Team, &start)
	}
	if err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return start, nil
}

// New returns a conductor for the run of a team.
func New(o Options) (*Conductor, error) {
	start, err := StartOf(o.Run)
	if err != nil || start == nil {
		return nil, cmp.Or(err, fmt.Errorf("run %s is not the run of a team", o.Run.ID))
	}
	return &Conductor{
		opts: o, start: *start, session: teamstate.New(*start, o.Run.Created), seq: o.Since,
		changes: teamstate.Changes{}, stale: map[string]bool{}, stopReasons: map[string]string{},
	}, nil
}

// Run applies the run's events as they are stored, and starts the steps of the team that follow
// from them, until ctx ends. After an error it tries again.
func (c *Conductor) Run(ctx context.Context) {
	for reported := ""; ctx.Err() == nil; {
		err := c.turn(ctx)
		if err == nil {
			reported, err = "", c.opts.Store.Wait(ctx, c.seq)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if text := fmt.Sprintf("team: %v; gaffer tries again", err); text != reported {
			c.opts.Notice(text)
			reported = text
		}
		pause.For(ctx, time.Second)
	}
}

// turn applies new events and starts the steps of the team that follow from them. If the team's
// documents cannot be written, turn still starts the steps and then returns an error. That is safe,
// because the documents can always be computed again from the events and the git repository.
func (c *Conductor) turn(ctx context.Context) error {
	if err := c.update(ctx); err != nil {
		return err
	}
	recorded := c.record(ctx)
	c.removeTrees(ctx)
	return errors.Join(c.startNext(ctx), recorded)
}

// startNext adds a task to the run for each step that the team's session requests next. If it
// requests none and has ended, startNext sets the final status of the run.
func (c *Conductor) startNext(ctx context.Context) error {
	if steps := c.session.Next(); len(steps) > 0 {
		return c.extend(ctx, steps)
	}
	o, ended := c.session.Outcome()
	switch {
	case !ended:
		return nil
	case o.Completed:
		return ignoreConflict(c.opts.Engine.Conclude(ctx, c.opts.Run.ID, store.Complete, ""))
	}
	return ignoreConflict(c.opts.Engine.Conclude(ctx, c.opts.Run.ID, store.Failed, o.Problem))
}

// ignoreConflict returns nil if err is an [*engine.ConflictError], and err otherwise. The engine
// returns a ConflictError if, for example, the run was stopped in the meantime. The conductor
// ignores this error, because it learns of the stop from an event that it reads next.
func ignoreConflict(err error) error {
	if conflict := (*engine.ConflictError)(nil); errors.As(err, &conflict) {
		return nil
	}
	return err
}

// Flush applies new events and writes the team's documents. It starts no steps of the team.
func (c *Conductor) Flush(ctx context.Context) error {
	if err := c.update(ctx); err != nil {
		return err
	}
	return c.record(ctx)
}

// update applies new events from the store. Then it reads from git the changed files and the
// commits of each group of tasks whose branch may have changed.
func (c *Conductor) update(ctx context.Context) error {
	if err := c.catchUp(ctx); err != nil {
		return err
	}
	return c.readChanges(ctx)
}

func (c *Conductor) record(ctx context.Context) error {
	return c.opts.Team.Record(ctx, c.session.Contents(c.changes))
}

// Session returns the state of the team after the events that were applied so far.
func (c *Conductor) Session() *teamstate.Session { return c.session }
