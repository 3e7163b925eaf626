package teamsession

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
	"gaffer/internal/git"
	"gaffer/statefile"
	"gaffer/team"
)

// Found describes the newest run of a team session, and the branches of the session.
type Found struct {
	Run        string // id of the run that executes the session; empty if the session has no run
	Status     store.Status
	Owner      int    // pid of the gaffer process that executes the run; 0 if there is none
	Branch     string // the session's branch, into which approved work is merged
	Into       string // the user's branch, into which the session's branch is merged at the end; empty means no such merge
	Tests      []string
	Developers int
}

// Find describes the run of a session. If the session has no run, Found.Run is empty.
func (s *Sessions) Find(ctx context.Context, session string) (f Found, err error) {
	err = s.opts.Store.Read(ctx, func(r store.Reader) error {
		run, start, err := s.runOf(r, session)
		if err != nil || start == nil {
			return err
		}
		f = Found{
			Run: run.ID, Status: run.Status, Branch: start.Branch, Into: start.Into, Tests: start.Tests, Developers: start.Developers,
		}
		if o := s.opts.Locks.Owner(run.ID); o.Alive {
			f.Owner = o.PID
		}
		return nil
	})
	return f, err
}

// runOf returns the newest run of a session, and the parameters with which that run started the
// session. The parameters are nil if there is no run.
func (s *Sessions) runOf(r store.Reader, session string) (store.Run, *teamstate.Start, error) {
	runs, err := s.opts.Runs(r)
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

// NotResumableError reports that the session in the team's documents cannot be resumed.
type NotResumableError struct{ Why string }

func (e *NotResumableError) Error() string { return "no session can be resumed: " + e.Why }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *NotResumableError) Conflict() bool { return true }

// Hint returns what the user can do next.
func (e *NotResumableError) Hint() string {
	return "'gaffer team archive' archives it, 'gaffer team --new REQUIREMENTS' archives it and begins another"
}

// Resume continues the session that the team's documents describe, and returns the id of its run.
// If n has a budget, the run gets this budget. The session may have no run yet, because it was only
// initialised, or because another program has executed it. Then Resume submits a run with the
// settings in n. This run continues from the state in the documents.
//
// If a gaffer process already executes the run, Resume returns a [*runlock.OwnedError]. If the
// session cannot be continued, it returns a [*NotResumableError] and leaves the documents
// unchanged.
func (s *Sessions) Resume(ctx context.Context, n Request) (string, error) {
	snap, err := s.project.open().Resume(ctx)
	if err != nil {
		return "", err
	}
	f, err := s.Find(ctx, snap.SessionID())
	switch {
	case err != nil:
		return "", err
	case f.Owner > 0:
		return "", &runlock.OwnedError{Run: f.Run, PID: f.Owner}
	case f.Run == "":
		return s.submitFound(ctx, n, snap)
	case f.Status == store.Complete:
		return "", &NotResumableError{fmt.Sprintf("session %s is completed", snap.SessionID())}
	}
	return f.Run, s.opts.Engine.Reopen(ctx, engine.Reopening{Run: f.Run, Why: "the user resumed the session", Budget: engine.AmountOf(n.Budget)})
}

// submitFound submits a run for a session that gaffer has not run yet. snap has the documents of
// the session. If another program has begun to work on the session, submitFound first makes a
// backup copy of the documents.
func (s *Sessions) submitFound(ctx context.Context, n Request, snap team.Snapshot) (string, error) {
	session := snap.SessionID()
	refuse := func(why string) error { return &NotResumableError{fmt.Sprintf("session %s: %s", session, why)} }
	if err := statefile.CheckName("session", session); err != nil {
		return "", &NotResumableError{"its documents have no usable session_id"}
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
		return s.submit(ctx, n, session)
	}
	unmerged, err := s.setBases(ctx, found, n.Into)
	if err != nil {
		return "", err
	}
	if unmerged != "" {
		return "", refuse(unmerged)
	}
	kept, err := s.project.open().Copy(ctx)
	if err != nil {
		return "", err
	}
	s.project.Notice(fmt.Sprintf("session %s was started by another program; a copy of its documents is kept in %s", session, kept))
	n.found = found
	return s.submit(ctx, n, session)
}

// setBases prepares the continuation of a session that another program has started. For each
// unfinished group of tasks that has a branch in the repository, setBases stores this branch in
// found.Bases, so that the group continues from there. All other groups start from the session's
// branch.
//
// The session's branch is created from the branch that the parameter into names, or from the current
// branch if into is empty. That branch must contain the commits of all completed groups, because
// later work builds on them. If it lacks the commits of a completed group, setBases returns a
// message that says so.
func (s *Sessions) setBases(ctx context.Context, found *teamstate.Found, into string) (unmerged string, err error) {
	repo, err := worktree.Open(ctx, s.project.Root)
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
		if missing := (*git.MissingError)(nil); errors.As(err, &missing) || err == nil && theirs.Branch == "" {
			continue // the repository has no branch of this name
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

// End ends the run of the session in the team's documents, so that the documents can be archived.
// If a gaffer process executes the run, End returns a [*runlock.OwnedError].
func (s *Sessions) End(ctx context.Context) error {
	snap, err := s.project.open().Resume(ctx)
	if err != nil {
		// There is no session to end, or its documents are unreadable. The caller archives
		// unreadable documents as they are.
		return nil
	}
	f, err := s.Find(ctx, snap.SessionID())
	if err == nil && f.Owner > 0 {
		err = &runlock.OwnedError{Run: f.Run, PID: f.Owner}
	}
	if err != nil {
		return err
	}
	return s.abandon(ctx)
}

// abandon ends the run of the session in the team's documents, and records the end of the run in
// the documents. It does nothing if there is no run or the run has ended.
func (s *Sessions) abandon(ctx context.Context) error {
	snap, err := s.project.open().Resume(ctx)
	if err != nil {
		// There is no session to end, or its documents are unreadable. The caller archives
		// unreadable documents as they are.
		return nil
	}
	f, err := s.Find(ctx, snap.SessionID())
	if err != nil || f.Run == "" || f.Status.Final() {
		return err
	}
	if err := s.opts.EndRun(ctx, f.Run, "another session begins"); err != nil {
		return err
	}
	return s.opts.WriteDocuments(ctx, f.Run)
}
