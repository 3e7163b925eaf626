package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/flow/teamstate"
	"gaffer/internal/pause"
	"gaffer/statefile"
	"gaffer/team"
)

// TeamFound describes the run of a team session.
type TeamFound struct {
	Run        string // the engine's run; empty if there is none
	Status     store.Status
	Owner      int    // pid of the gaffer that works on it, or 0
	Branch     string // the branch that approved work is merged into
	Into       string // the branch to merge into at the end; empty for none
	Tests      []string
	Developers int
}

// FindTeam returns the run of a session in this project.
func (a *App) FindTeam(ctx context.Context, session string) (f TeamFound, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		run, start, err := a.teamOf(r, session)
		if err != nil || start == nil {
			return err
		}
		f = TeamFound{
			Run: run.ID, Status: run.Status, Branch: start.Branch, Into: start.Into, Tests: start.Tests, Developers: start.Developers,
		}
		if o := a.locks.Owner(run.ID); o.Alive {
			f.Owner = o.PID
		}
		return nil
	})
	return f, err
}

// teamOf returns the run of a session and its start parameters, or nil if there is
// none.
func (a *App) teamOf(r store.Reader, session string) (store.Run, *teamstate.Start, error) {
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

// NoTeamError reports that there is no session to resume.
type NoTeamError struct{ Why string }

func (e *NoTeamError) Error() string { return "no session can be resumed: " + e.Why }

// Conflict marks the error as a conflict with the existing state.
func (e *NoTeamError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *NoTeamError) Hint() string {
	return "'gaffer team archive' puts it away, 'gaffer team --new REQUIREMENTS' archives it and begins another"
}

// ResumeTeam returns the run that continues the session in the documents. It sets a new
// budget if n has one. The other fields of n matter only for a session that gaffer has
// not run yet: one that was only initialised, or one of another program, which
// continues from the state in its documents. If the session cannot be continued it
// returns a [*NoTeamError] and leaves the documents unchanged.
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
		return "", &runlock.OwnedError{Run: f.Run, PID: f.Owner}
	case f.Run == "":
		return a.continueTeam(ctx, n, snap)
	case f.Status == store.Complete:
		return "", &NoTeamError{fmt.Sprintf("session %s is completed", snap.SessionID())}
	}
	return f.Run, a.engine.Reopen(ctx, engine.Reopening{Run: f.Run, Why: "a person resumed the session", Budget: engine.AmountOf(n.Budget)})
}

// continueTeam submits a run for a session that gaffer has not run yet.
func (a *App) continueTeam(ctx context.Context, n NewTeam, snap team.Snapshot) (string, error) {
	session := snap.SessionID()
	refuse := func(why string) error { return &NoTeamError{fmt.Sprintf("session %s: %s", session, why)} }
	if err := statefile.CheckName("session", session); err != nil {
		return "", &NoTeamError{"its documents have no usable session_id"}
	}
	found, err := teamstate.ReadFound(snap)
	if unusable := (*teamstate.FoundError)(nil); errors.As(err, &unusable) {
		return "", refuse(unusable.Problem)
	}
	if err != nil {
		return "", err
	}
	n.Requirements = snap.PM.OriginalRequirements
	if strings.TrimSpace(n.Requirements) == "" {
		return "", refuse("pm_state.json has no original_requirements")
	}
	if found == nil {
		return a.submitTeam(ctx, n, session)
	}
	unmerged, err := a.foundBranches(ctx, found, n.Into)
	if err != nil {
		return "", err
	}
	if unmerged != "" {
		return "", refuse(unmerged)
	}
	kept, err := a.team().Copy(ctx)
	if err != nil {
		return "", err
	}
	a.opts.Notice(fmt.Sprintf("session %s was begun by another program; its documents as they were are kept in %s", session, kept))
	n.found = found
	return a.submitTeam(ctx, n, session)
}

// foundBranches sets the base of each unfinished group to the group's branch, if the
// repository has it. It returns a message if the branch of a completed group is not
// merged, because new work would lack it.
func (a *App) foundBranches(ctx context.Context, found *teamstate.Found, into string) (unmerged string, err error) {
	repo, err := worktree.Open(ctx, a.opts.Project.Root)
	if err != nil {
		return "", err
	}
	base, err := repo.Base(ctx, into)
	if err != nil {
		return "", err
	}
	found.Bases = map[string]string{}
	for _, g := range found.Status {
		if g.BranchName == "" {
			continue
		}
		theirs, err := repo.Base(ctx, g.BranchName)
		if missing := (*worktree.MissingError)(nil); errors.As(err, &missing) || err == nil && theirs.Branch == "" {
			continue // its work is on another branch, or it has none
		}
		if err != nil {
			return "", err
		}
		if g.Status != team.Complete {
			found.Bases[g.ID] = g.BranchName
			continue
		}
		if base.Branch == "" {
			continue
		}
		merged, err := repo.Contains(ctx, base.Branch, theirs.Commit)
		if err != nil {
			return "", err
		}
		if !merged {
			return fmt.Sprintf("group %s is complete, but its branch %s is not merged into %s; merge it with 'git merge %[2]s' and resume then",
				g.ID, g.BranchName, base.Branch), nil
		}
	}
	return "", nil
}

// FreeTeam ends the run of the session in the documents, so that they can be archived.
// It returns an [*runlock.OwnedError] if a gaffer works on the run.
func (a *App) FreeTeam(ctx context.Context) error {
	snap, err := a.team().Resume(ctx)
	if err != nil {
		return nil // no session, or an unreadable one that is archived as it is
	}
	f, err := a.FindTeam(ctx, snap.SessionID())
	if err == nil && f.Owner > 0 {
		err = &runlock.OwnedError{Run: f.Run, PID: f.Owner}
	}
	if err != nil {
		return err
	}
	return a.abandonTeam(ctx)
}

// abandonTeam ends the run of the session in the documents, and records that in them.
func (a *App) abandonTeam(ctx context.Context) error {
	snap, err := a.team().Resume(ctx)
	if err != nil {
		return nil // no session, or an unreadable one that is archived as it is
	}
	f, err := a.FindTeam(ctx, snap.SessionID())
	if err != nil || f.Run == "" || f.Status.Final() {
		return err
	}
	if err := a.endRun(ctx, f.Run, "another session begins"); err != nil {
		return err
	}
	release, err := a.locks.Lock(ctx, f.Run)
	if owned := (*runlock.OwnedError)(nil); errors.As(err, &owned) {
		return nil // the owner writes the documents itself
	}
	if err != nil {
		return err
	}
	defer release()
	s, _, err := a.look(ctx, f.Run)
	if err != nil {
		return err
	}
	if err := a.owe(ctx, f.Run, ""); err != nil {
		return err
	}
	a.concluded(ctx, f.Run, s.flush(ctx))
	return nil
}

// endRun cancels a run and waits until it has ended. If no gaffer works on the run,
// endRun ends its attempts itself.
func (a *App) endRun(ctx context.Context, run, why string) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	err := a.Fleet.Cancel(ctx, run, "", why)
	if late := (*engine.ConflictError)(nil); err != nil && !errors.As(err, &late) {
		return err
	}
	for {
		over, err := a.hasEnded(ctx, run)
		if over || err != nil {
			return err
		}
		err = a.collect(ctx, run, func(store.Task) bool { return true })
		owned, owed := (*runlock.OwnedError)(nil), (*OwedError)(nil) // owed documents were reported and do not keep a run from ending
		if err != nil && !errors.As(err, &owned) && !errors.As(err, &owed) {
			return err
		}
		pause.For(ctx, watchEvery)
	}
}
