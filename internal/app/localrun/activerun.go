package localrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/sweep"
	"gaffer/internal/pause"
	"gaffer/internal/record/recorder"
)

// flush brings the run's documents up to date with the latest event. It returns an error if
// documents could not be written; a later call can write them. The documents include a record of
// each attempt, and some records can never be written, for example because another program's file
// has the record's name. For these flush returns no error, because the recorder has already
// reported them to the user.
func (s *activeRun) flush(ctx context.Context) error {
	var errs []error
	if err := s.recorder.Flush(ctx); err != nil && !errors.As(err, new(*recorder.RefusedError)) {
		errs = append(errs, err)
	}
	if s.build != nil {
		if err := s.build.Flush(ctx); err != nil {
			errs = append(errs, fmt.Errorf("the state of the build: %w", err))
		}
	}
	if s.team != nil {
		if err := s.team.Flush(ctx); err != nil {
			errs = append(errs, fmt.Errorf("the documents of the team: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (s *activeRun) workUntilEnd(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	// Ignore the errors of both calls of Run: Run fails only because its context has ended. Errors
	// of writing documents are returned by Flush.
	all.Go(func() { _ = s.worker.Run(working) })
	all.Go(func() { _ = s.recorder.Run(working) })
	all.Go(func() { sweep.Local(working, s.opts.Engine, s.opts.Notice) })
	if s.build != nil {
		all.Go(func() { s.build.Run(working) })
	}
	if s.team != nil {
		all.Go(func() { s.team.Run(working) })
	}
	if s.reportsItems() {
		all.Go(func() {
			for pause.For(working, reportEvery); working.Err() == nil; pause.For(working, reportEvery) {
				s.opts.Report(working, s.run.ID, false)
			}
		})
	}
	if s.terminals {
		all.Go(func() {
			s.opts.Terminals.Watch(working, func(ctx context.Context) ([]fleet.Task, error) {
				run, err := s.opts.Query.Run(ctx, s.run.ID)
				return run.Tasks, err
			})
		})
	}
	return s.watch(ctx)
}

// reportEvery is how often a process reports ended tasks to the sources that they come from, such
// as an issue tracker.
const reportEvery = 5 * time.Second

// reportsItems reports whether this process must tell sources of the run's tasks how the tasks have
// ended.
func (s *activeRun) reportsItems() bool {
	return s.opts.Report != nil && bytes.Contains(s.run.Plan, []byte(`"Report":`)) // JSON name of plan.SourceItem.Report
}

// watchEvery is the minimum time between two reads of events.
const watchEvery = 10 * time.Millisecond

// watchPatience is how long reading events may fail before this process stops its work on the run.
// The agents continue, and the run can be resumed.
const watchPatience = time.Minute

// watch reads new events from the store and tells the worker about them. It returns nil when the
// run has ended. It returns an error if ctx ends, or if events could not be read for longer than
// watchPatience.
func (s *activeRun) watch(ctx context.Context) error {
	var failing time.Time // time of the first failure to read events; zero if the last read succeeded
	for last := s.from; ; {
		events, err := s.nextEvents(ctx, last)
		switch now := s.opts.Now(); {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && failing.IsZero():
			s.opts.Notice(fmt.Sprintf("what happens in run %s cannot be read: %v; trying again", s.run.ID, err))
			failing = now
		case err != nil && now.Sub(failing) > watchPatience:
			return err
		case err == nil:
			failing = time.Time{}
		}
		if err != nil {
			pause.For(ctx, sweep.Every)
			continue
		}
		for _, e := range events {
			last = e.Seq
			if s.handleEvent(e) {
				return nil
			}
		}
		pause.For(ctx, watchEvery)
	}
}

// nextEvents waits for events with sequence numbers above cursor, and returns up to 1000 of them.
// They are events of all runs in the store, not only of this run.
func (s *activeRun) nextEvents(ctx context.Context, cursor int64) (events []store.Event, err error) {
	if err := s.opts.Store.Wait(ctx, cursor); err != nil {
		return nil, err
	}
	err = s.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		events, err = r.Events(cursor, 1000)
		return err
	})
	return events, err
}

// handleEvent tells the worker about an event if the event may mean new tasks to claim, or new
// orders for running attempts. It returns true if the event is the end of the run.
func (s *activeRun) handleEvent(e store.Event) (ended bool) {
	switch {
	case e.Run == s.run.ID && strings.HasPrefix(e.Kind, "run.") && store.Status(e.To).Final():
		return true
	case e.Run == s.run.ID && (e.Kind == "attempt.stopping" || e.Kind == "attempt.waiting" || e.Kind == "message.sent" || e.Kind == "message.withdrawn" || strings.HasPrefix(e.Kind, "question.")):
		s.worker.CheckOrders()
	case e.Run == s.run.ID && e.Kind == "task.ready", e.Kind == "lane.open":
		s.worker.Wake()
	}
	return false
}
