package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/flow/build"
	"gaffer/internal/pause"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// building writes the workflow documents of a build while its run is active.
type building struct {
	app      *App
	run      string
	store    *workflow.Store
	progress *build.Progress
	feed     []build.FeedEntry // every entry so far
	seq      int64             // the last event that was processed
	gone     error             // why writing has stopped, if it has
}

// building returns the document writer of a run that is a build, or nil for other runs.
func (a *App) building(r store.Reader, run store.Run) (*building, error) {
	b, err := buildOf(run)
	if err != nil || b == nil {
		return nil, err
	}
	tasks, err := r.Tasks(run.ID)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	before := tasks[0].Seq - 2 // a task's Seq is that of its first event; the first task's event follows the run's
	return &building{app: a, run: run.ID, store: a.workflow(), progress: build.NewProgress(*b), seq: before}, nil
}

// Run writes new events to the documents until ctx ends.
func (b *building) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := b.Flush(ctx); err != nil && ctx.Err() == nil {
			b.app.opts.Notice(fmt.Sprintf("the state of the build is behind: %v; it is tried again", err))
			pause.For(ctx, time.Second)
			continue
		}
		wait, cancel := context.WithTimeout(ctx, buildCheck)
		err := b.app.store.Wait(wait, b.seq)
		if err != nil && wait.Err() == nil {
			pause.For(ctx, time.Second)
		}
		cancel()
		pause.For(ctx, buildPace)
	}
}

// buildPace is the time to collect events before the state is written.
const buildPace = 50 * time.Millisecond

// buildCheck is the interval between checks of the state without an event. Other
// programs empty the state, even in the middle of a build.
const buildCheck = 2 * time.Second

// Flush writes all events so far.
func (b *building) Flush(ctx context.Context) error {
	if b.gone != nil {
		return nil
	}
	if err := b.catchUp(ctx); err != nil {
		return err
	}
	s := b.app.spec()
	info := build.SpecInfo{Version: s.Version, Number: func(alias string) string {
		section, _ := s.Section(alias)
		return section.Number
	}}
	err := b.store.Record(ctx, func(root *jsontree.Node) ([]jsontree.Value, error) {
		return b.progress.Write(root, b.run, b.feed, b.seq, info)
	})
	if replaced := (*build.ReplacedError)(nil); errors.As(err, &replaced) {
		b.gone = err
		b.app.opts.Notice(err.Error())
		return nil
	}
	b.progress.Written = b.progress.Written || err == nil
	return err
}

func (b *building) catchUp(ctx context.Context) error {
	for {
		var events []store.Event
		err := b.app.store.Read(ctx, func(r store.Reader) (err error) {
			events, err = r.Events(b.seq, 1000)
			return err
		})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			b.seq = e.Seq
			if e.Run != b.run {
				continue
			}
			entries, err := b.progress.Apply(e, b.app.outcomes(b.progress.Build.Checks))
			if err != nil {
				return err
			}
			b.feed = append(b.feed, entries...)
		}
	}
}

// BuildFeed returns all feed entries of a build, computed from the store. The feed on
// disk should contain the same entries.
func (a *App) BuildFeed(ctx context.Context, id string) ([]workflow.Event, error) {
	s, _, err := a.look(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.build == nil {
		return nil, &NothingError{fmt.Sprintf("run %s is none", id)}
	}
	if err := s.build.catchUp(ctx); err != nil {
		return nil, err
	}
	var feed []jsontree.Value
	for _, t := range s.build.feed {
		event, err := t.Draft.Event(t.At)
		if err != nil {
			return nil, err
		}
		feed = append(feed, event)
	}
	return workflow.Events(feed), nil
}
