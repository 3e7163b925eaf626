// Package teamrun conducts the run of a team. It lets a [teamstate.Session] follow
// the run's events, adds to the run what the session wants begun, and keeps the
// documents of the team.
//
// It holds no truth. A conductor that dies is followed by another, which reads
// the events from the first and goes on.
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

// Engine is what a conductor asks of the engine.
type Engine interface {
	Extend(context.Context, engine.Extension) error
	Conclude(ctx context.Context, run string, to store.Status, why string) error
}

// Roles say what an agent is told, and which one that is.
type Roles interface {
	Task(teamstate.Brief) (plan.Task, error)
}

// Options are what a conductor needs of the world.
type Options struct {
	Run    store.Run
	Since  int64 // the last event before the run's own
	Store  store.Store
	Engine Engine
	Team   *team.Store
	Roles  Roles
	Trees  Trees
	Notice func(text string)
}

// Conductor conducts one run. Its methods are for one goroutine at a time.
type Conductor struct {
	opts    Options
	start   teamstate.Start
	session *teamstate.Session
	seq     int64 // the last event that was taken in
	world   teamstate.World
	asked   map[string]string // why a task was asked to end
	stale   map[string]bool   // groups whose branch may have moved, and whether by a developer
	ended   []string          // steps whose worktree nobody needs any more
}

// StartOf returns what a run's team began with, or nil if the run is no team's.
func StartOf(run store.Run) (*teamstate.Start, error) {
	var p struct{ Team *teamstate.Start }
	if err := json.Unmarshal(run.Plan, &p); err != nil {
		return nil, fmt.Errorf("plan of run %s: %w", run.ID, err)
	}
	return p.Team, nil
}

// New returns a conductor of a run that is a team's.
func New(o Options) (*Conductor, error) {
	start, err := StartOf(o.Run)
	if err != nil || start == nil {
		return nil, cmp.Or(err, fmt.Errorf("run %s: is not a team's", o.Run.ID))
	}
	return &Conductor{
		opts: o, start: *start, session: teamstate.New(*start, o.Run.Created), seq: o.Since,
		world: teamstate.World{Changes: map[string]teamstate.Change{}}, stale: map[string]bool{}, asked: map[string]string{},
	}, nil
}

// Run conducts until ctx ends.
func (c *Conductor) Run(ctx context.Context) {
	for told := ""; ctx.Err() == nil; {
		err := c.turn(ctx)
		if err == nil {
			told, err = "", c.opts.Store.Wait(ctx, c.seq)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if text := fmt.Sprintf("team: %v; it is tried again", err); text != told {
			c.opts.Notice(text)
			told = text
		}
		pause.For(ctx, time.Second)
	}
}

// turn takes in what has happened and does what follows. That the documents
// cannot be written holds up nobody: they are not the truth.
func (c *Conductor) turn(ctx context.Context) error {
	if err := c.update(ctx); err != nil {
		return err
	}
	recorded := c.record(ctx)
	c.clear(ctx)
	return errors.Join(c.goOn(ctx), recorded)
}

// goOn begins the steps that are next, or ends the run.
func (c *Conductor) goOn(ctx context.Context) error {
	if steps := c.session.Next(); len(steps) > 0 {
		return c.extend(ctx, steps)
	}
	o, ended := c.session.Outcome()
	switch {
	case !ended:
		return nil
	case o.Completed:
		return late(c.opts.Engine.Conclude(ctx, c.opts.Run.ID, store.Complete, ""))
	}
	return late(c.opts.Engine.Conclude(ctx, c.opts.Run.ID, store.Failed, o.Problem))
}

// late passes over what comes too late since the run was stopped: an event of
// that is on its way.
func late(err error) error {
	if conflict := (*engine.ConflictError)(nil); errors.As(err, &conflict) {
		return nil
	}
	return err
}

// Flush has the documents say what has happened so far.
func (c *Conductor) Flush(ctx context.Context) error {
	if err := c.update(ctx); err != nil {
		return err
	}
	return c.record(ctx)
}

// update takes in what the store and git know.
func (c *Conductor) update(ctx context.Context) error {
	if err := c.catchUp(ctx); err != nil {
		return err
	}
	return c.look(ctx)
}

func (c *Conductor) record(ctx context.Context) error {
	return c.opts.Team.Record(ctx, c.session.Picture(c.world))
}

// Session is how the team stands after the last [Conductor.Flush].
func (c *Conductor) Session() *teamstate.Session { return c.session }
