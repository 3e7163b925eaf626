package buildrun

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

// Writer writes the workflow documents of a build while its run is active.
type Writer struct {
	project  Project
	events   store.Store
	run      string
	state    *workflow.Store
	progress *build.Progress
	entries  []build.FeedEntry // entries of the activity feed for all events so far
	seq      int64             // sequence number of the last processed event
	// gone is nil, or a [*build.ReplacedError] after another program has replaced the build. Then
	// the writer writes nothing more.
	gone error
}

// NewWriter returns the writer for a run. It returns nil if the run is not a build or has no tasks.
func NewWriter(p Project, events store.Store, r store.Reader, run store.Run) (*Writer, error) {
	made, err := BuildOf(run)
	if err != nil || made == nil {
		return nil, err
	}
	tasks, err := r.Tasks(run.ID)
	if err != nil || len(tasks) == 0 {
		return nil, err
	}
	// tasks[0].Seq is the sequence number of the first event of the run's first task. The event
	// directly before it is the run's own first event. The writer starts with that event, so before
	// is the number of the event that precedes it.
	before := tasks[0].Seq - 2
	return &Writer{project: p, events: events, run: run.ID, state: p.open(), progress: build.NewProgress(*made), seq: before}, nil
}

// Run updates the workflow documents whenever there are new events, until ctx ends.
func (w *Writer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := w.Flush(ctx); err != nil && ctx.Err() == nil {
			w.project.Notice(fmt.Sprintf("the state of the build could not be updated: %v; gaffer tries again", err))
			pause.For(ctx, time.Second)
			continue
		}
		within, cancel := context.WithTimeout(ctx, checkInterval)
		err := w.events.Wait(within, w.seq)
		if err != nil && within.Err() == nil {
			pause.For(ctx, time.Second)
		}
		cancel()
		pause.For(ctx, writeDelay)
	}
}

// writeDelay is how long the writer collects events before it writes the workflow state.
const writeDelay = 50 * time.Millisecond

// checkInterval is how often the writer checks the workflow state if there are no events. This is
// necessary because other programs may empty the state during a build.
const checkInterval = 2 * time.Second

// Flush updates the workflow documents to match all events so far. It does nothing after another
// program has replaced the build.
func (w *Writer) Flush(ctx context.Context) error {
	if w.gone != nil {
		return nil
	}
	if err := w.catchUp(ctx); err != nil {
		return err
	}
	s := w.project.spec()
	info := build.SpecInfo{Version: s.Version, Number: func(alias string) string {
		section, _ := s.Section(alias)
		return section.Number
	}}
	err := w.state.Record(ctx, func(root *jsontree.Node) ([]jsontree.Value, error) {
		return w.progress.Write(root, w.run, w.entries, w.seq, info)
	})
	if replaced := (*build.ReplacedError)(nil); errors.As(err, &replaced) {
		w.gone = err
		w.project.Notice(err.Error())
		return nil
	}
	w.progress.Written = w.progress.Written || err == nil
	return err
}

func (w *Writer) catchUp(ctx context.Context) error {
	for {
		var events []store.Event
		err := w.events.Read(ctx, func(r store.Reader) (err error) {
			events, err = r.Events(w.seq, 1000)
			return err
		})
		if err != nil || len(events) == 0 {
			return err
		}
		for _, e := range events {
			w.seq = e.Seq
			if e.Run != w.run {
				continue
			}
			entries, err := w.progress.Apply(e, w.project.outcomes(w.progress.Build.Checks))
			if err != nil {
				return err
			}
			w.entries = append(w.entries, entries...)
		}
	}
}

// Feed returns all events of the activity feed for the build whose engine run has this id. It
// computes them from the events in the store. Tests compare them with the feed in the workflow
// state.
func (b *Builds) Feed(ctx context.Context, id string) ([]workflow.Event, error) {
	var w *Writer
	err := b.opts.Store.Read(ctx, func(r store.Reader) error {
		run, err := r.Run(id)
		if err == nil {
			w, err = NewWriter(b.project, b.opts.Store, r, run)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, &NothingError{fmt.Sprintf("run %s is not a build", id)}
	}
	if err := w.catchUp(ctx); err != nil {
		return nil, err
	}
	var feed []jsontree.Value
	for _, t := range w.entries {
		event, err := t.Draft.Event(t.At)
		if err != nil {
			return nil, err
		}
		feed = append(feed, event)
	}
	return workflow.Events(feed), nil
}
