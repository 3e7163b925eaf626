package app

import (
	"context"
	"errors"
	"fmt"

	"gaffer/internal/engine"
	"gaffer/internal/store"
	"gaffer/internal/teamrun"
	"gaffer/internal/teamwork"
)

// TeamFound is the run of a team's session.
type TeamFound struct {
	Run        string // of the engine; empty if there is none
	Status     store.Status
	Owner      int    // the pid of the gaffer that works on it, 0 if none does
	Branch     string // that what is approved is merged into
	Into       string // the branch that gets it all at the end; empty for none
	Tests      []string
	Developers int
}

// FindTeam looks for the run of a session in this project.
func (a *App) FindTeam(ctx context.Context, session string) (f TeamFound, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		run, start, err := a.teamOf(r, session)
		if err != nil || start == nil {
			return err
		}
		f = TeamFound{
			Run: run.ID, Status: run.Status, Branch: start.Branch, Into: start.Into, Tests: start.Tests, Developers: start.Developers,
		}
		if o := a.owner(run.ID); o.Alive {
			f.Owner = o.PID
		}
		return nil
	})
	return f, err
}

// teamOf finds the run of a session and what it began with, nil if there is
// none.
func (a *App) teamOf(r store.Reader, session string) (store.Run, *teamwork.Start, error) {
	runs, err := a.runs(r, true)
	for _, run := range runs {
		if !run.Conducted {
			continue
		}
		start, err := teamrun.StartOf(run)
		if err != nil {
			return run, nil, err
		}
		if start != nil && start.Session == session {
			return run, start, nil
		}
	}
	return store.Run{}, nil, err
}

// NoTeamError is that there is no session to go on with.
type NoTeamError struct{ Why string }

func (e *NoTeamError) Error() string { return "no session can be resumed: " + e.Why }

// Conflict marks the error as one about what is there.
func (e *NoTeamError) Conflict() bool { return true }

// Hint says what to do next.
func (e *NoTeamError) Hint() string {
	return "'gaffer team --new REQUIREMENTS' archives it and begins another"
}

// ResumeTeam returns the run that goes on with the session in the documents, with
// another budget if n has one. The rest of n is for a session that was begun and
// that nobody has run.
func (a *App) ResumeTeam(ctx context.Context, n NewTeam) (string, error) {
	snap, err := a.team().Resume(ctx)
	if err != nil {
		return "", err
	}
	f, err := a.FindTeam(ctx, snap.SessionID())
	switch {
	case err != nil:
		return "", err
	case f.Owner > 0:
		return "", &OwnedError{f.Run, f.Owner}
	case f.Run == "" && snap.Orchestrator.TotalSpawns == 0 && snap.PM.OriginalRequirements != "":
		n.Requirements = snap.PM.OriginalRequirements
		return a.submitTeam(ctx, n, snap.SessionID())
	case f.Run == "":
		return "", &NoTeamError{fmt.Sprintf("session %s is another program's", snap.SessionID())}
	case f.Status == store.Complete:
		return "", &NoTeamError{fmt.Sprintf("session %s is completed", snap.SessionID())}
	}
	return f.Run, a.engine.Reopen(ctx, engine.Reopening{Run: f.Run, Why: "a person resumed the session", Budget: engine.AmountOf(n.Budget)})
}

// FreeTeam ends the run of the session in the documents, so that they can be
// archived. One that a gaffer works on is an [*OwnedError].
func (a *App) FreeTeam(ctx context.Context) error {
	snap, err := a.team().Resume(ctx)
	if err != nil {
		return nil // there is none, or it cannot be read and is archived as it is
	}
	f, err := a.FindTeam(ctx, snap.SessionID())
	if err == nil && f.Owner > 0 {
		err = &OwnedError{f.Run, f.Owner}
	}
	if err != nil {
		return err
	}
	return a.abandonTeam(ctx)
}

// abandonTeam ends the run of the session in the documents, and has them say so.
func (a *App) abandonTeam(ctx context.Context) error {
	snap, err := a.team().Resume(ctx)
	if err != nil {
		return nil // there is none, or it cannot be read and is archived as it is
	}
	f, err := a.FindTeam(ctx, snap.SessionID())
	if err != nil || f.Run == "" || f.Status.Final() {
		return err
	}
	if err := a.endRun(ctx, f.Run, "another session begins"); err != nil {
		return err
	}
	release, err := a.own(ctx, f.Run)
	if owned := (*OwnedError)(nil); errors.As(err, &owned) {
		return nil // it writes the documents itself
	}
	if err != nil {
		return err
	}
	defer release()
	s, _, err := a.look(ctx, f.Run)
	if err != nil {
		return err
	}
	s.flush(ctx)
	return nil
}

// endRun cancels a run and waits until it has ended. What nobody looks after is
// ended here.
func (a *App) endRun(ctx context.Context, run, why string) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	err := a.Cancel(ctx, run, "", why)
	if late := (*engine.ConflictError)(nil); err != nil && !errors.As(err, &late) {
		return err
	}
	for {
		over, err := a.runOver(ctx, run)
		if over || err != nil {
			return err
		}
		err = a.collect(ctx, run, func(store.Task) bool { return true })
		if owned := (*OwnedError)(nil); err != nil && !errors.As(err, &owned) {
			return err
		}
		pause(ctx, watchEvery)
	}
}
