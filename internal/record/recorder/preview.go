package recorder

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
)

// Preview computes the session document of a run, the status file that a recorder would write for
// other programs. It writes no file. It remembers its position in the events, so repeated calls of
// Document are cheap. It is not safe for concurrent use.
type Preview struct{ recorder *Recorder }

// NewPreview returns the Preview of a run. It accesses no files. The parameter sessions is used
// only to compute the names of log files, which the session document contains.
func NewPreview(s store.Store, run, project string, sessions *session.Store) *Preview {
	return &Preview{New(Options{Store: s, Run: run, Project: project, Session: sessions, Notice: func(string) {}})}
}

// Document returns the current content of the run's session document.
func (s *Preview) Document(ctx context.Context) ([]byte, error) {
	r := s.recorder
	if r.state == nil {
		if err := r.openFrom(ctx, 0); err != nil {
			return nil, err
		}
	}
	if err := s.catchUp(ctx); err != nil {
		return nil, err
	}
	return r.opts.Session.Render(r.opts.Run, &r.state.status)
}

// errUpToDate makes [Recorder.follow] stop reading events after the end of the run. It does not
// mean a failure.
var errUpToDate = errors.New("up to date")

// catchUp applies new events like [Recorder.catchUp]. If the run has ended, it stops at the event
// that ended it.
func (s *Preview) catchUp(ctx context.Context) error {
	r := s.recorder
	run, err := runOf(ctx, r.opts.Store, r.opts.Run)
	if err != nil {
		return err
	}
	over := func() bool { return run.Status.Final() && r.state.status.CompletedAt.Equal(run.Ended) }
	if over() {
		return nil
	}
	err = r.follow(ctx, &r.seq, func(e store.Event) error {
		if err := r.apply(e); err != nil {
			return err
		}
		if over() {
			return errUpToDate
		}
		return nil
	})
	if errors.Is(err, errUpToDate) {
		return nil
	}
	return err
}

func runOf(ctx context.Context, s store.Store, id string) (run store.Run, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		if run, err = r.Run(id); err != nil {
			return fmt.Errorf("run %s: %w", id, err)
		}
		return nil
	})
	return run, err
}

// Records computes the ledger records of each attempt of a run and calls the function visit with
// them. It begins with the ended attempts, in the order in which they ended. The running attempts
// follow. Records accesses no files. The parameter l is used only to compute the names of records.
func Records(ctx context.Context, s store.Store, id, project string, l *ledger.Store, visit func(ledger.AttemptRecords) error) error {
	r := New(Options{Store: s, Run: id, Project: project, Ledger: l, Session: session.New("", session.Options{}), Notice: func(string) {}})
	if err := r.openFrom(ctx, 0); err != nil {
		return err
	}
	run, err := runOf(ctx, s, id)
	if err != nil {
		return err
	}
	under := startedAttempts{recorder: r, visit: visit, started: map[attemptKey]entry{}}
	err = r.follow(ctx, &r.seq, func(e store.Event) error {
		if err := r.apply(e); err != nil {
			return err
		}
		if err := under.emitEnded(ctx); err != nil {
			return err
		}
		if run.Status.Final() && r.state.status.CompletedAt.Equal(run.Ended) {
			return errUpToDate
		}
		return nil
	})
	if err != nil && !errors.Is(err, errUpToDate) {
		return err
	}
	return under.emitRunning(ctx)
}

// startedAttempts holds the attempts whose start event was read and whose end event was not read
// yet.
type startedAttempts struct {
	recorder *Recorder
	visit    func(ledger.AttemptRecords) error
	started  map[attemptKey]entry
	order    []attemptKey
}

// emitEnded processes the pending ledger entries of the recorder and clears them. If an entry is
// about the end of an attempt, emitEnded calls u.visit with the records of this attempt. If it is
// about the start, emitEnded adds the attempt to u.started.
func (u *startedAttempts) emitEnded(ctx context.Context) error {
	for _, e := range u.recorder.pending {
		name := attemptKey{e.task, e.number}
		if e.result == nil {
			u.started[name] = e
			u.order = append(u.order, name)
			continue
		}
		delete(u.started, name)
		if err := u.emit(ctx, e); err != nil {
			return err
		}
	}
	u.recorder.pending = u.recorder.pending[:0]
	return nil
}

// emitRunning calls u.visit with the ledger records of the attempts that are still running.
func (u *startedAttempts) emitRunning(ctx context.Context) error {
	for _, name := range u.order {
		if e, runs := u.started[name]; runs {
			if err := u.emit(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *startedAttempts) emit(ctx context.Context, e entry) error {
	runs, err := u.recorder.runRecords(ctx, []entry{e})
	if err != nil {
		return err
	}
	p := ledger.AttemptRecords{Run: runs[0]}
	if e.result != nil {
		result := u.recorder.withBeadName(e, *e.result)
		p.Result = &result
	}
	return u.visit(u.recorder.opts.Ledger.Completed(p))
}
