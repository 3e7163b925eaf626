package viewers

import (
	"context"
	"errors"
	"sync"
	"time"

	"gaffer/internal/api/docview"
	"gaffer/internal/flow/spec"
	"gaffer/statefile/jsontree"
)

// RunFinder finds the run of gaffer that wrote a document. It finds no run if another program wrote
// the document.
type RunFinder interface {
	// Sessions returns the ids of the runs that wrote the documents of sessions, by session id. It
	// leaves out sessions of other programs.
	Sessions(ctx context.Context, root string, ids []string) (runs map[string]string, err error)
	// Team returns the id of the run that the session of a team belongs to, or "" if there is none.
	Team(ctx context.Context, root, session string) (run string, err error)
	// Build returns the id of the run that works, or has worked, on the build in a workflow state.
	// The id is "" if there is no such run. working reports whether a process works on the run now.
	Build(ctx context.Context, root string, state jsontree.Value) (run string, working bool, err error)
}

// findTimeout limits the duration of one call of a [RunFinder].
const findTimeout = 5 * time.Second

// runOwners finds the run that wrote a document, and adds the run's id to the view of the document.
type runOwners struct {
	finder RunFinder // nil means: do not look for runs
	now    func() time.Time
	notice func(text string)

	mu         sync.Mutex
	quietUntil time.Time // until this time, errors are not logged
}

// withTeamRun returns p, the view of a team, after adding the project's name and path and the id of
// the run that the team works on. session is the id of the team's session. If it is empty, no run
// is added.
func (v *runOwners) withTeamRun(ctx context.Context, l *liveProject, p docview.TeamPicture, session string) docview.TeamPicture {
	p.Project, p.Path = l.name, l.path
	if v.finder != nil && session != "" {
		p.Run = l.documents.owners.team(session, v.now(), func() (string, error) {
			ctx, cancel := context.WithTimeout(ctx, findTimeout)
			defer cancel()
			run, err := v.finder.Team(ctx, l.path, session)
			v.logError(err)
			return run, err
		})
		p.Ours = p.Run != ""
	}
	return p
}

// logError logs that the search for a document's run has failed. The viewer then shows the document
// without the run. logError logs at most once per minute, because there may be several searches per
// second.
func (v *runOwners) logError(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	now := v.now()
	v.mu.Lock()
	due := !now.Before(v.quietUntil)
	if due {
		v.quietUntil = now.Add(cacheTime)
	}
	v.mu.Unlock()
	if due {
		v.notice("viewer: whose documents they are: " + err.Error())
	}
}

func (v *runOwners) withSessionRuns(ctx context.Context, l *liveProject, list []docview.SessionEntry) []docview.SessionEntry {
	if v.finder == nil || len(list) == 0 {
		return list
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	runs := l.documents.owners.sessions(ids, v.now(), func(ids []string) (map[string]string, error) {
		ctx, cancel := context.WithTimeout(ctx, findTimeout)
		defer cancel()
		runs, err := v.finder.Sessions(ctx, l.path, ids)
		v.logError(err)
		return runs, err
	})
	for i := range list {
		list[i].Run = runs[list[i].ID]
		list[i].Ours = list[i].Run != ""
	}
	return list
}

// withBuildRun returns the view of a build with the id of its run added. If a process works on the
// run, the view does not suggest to resume the run.
func (v *runOwners) withBuildRun(ctx context.Context, l *liveProject, b *docview.Build) docview.BuildPicture {
	text, err := spec.Read(l.folder)
	p := b.Picture(text, v.now())
	if err != nil {
		p.Problems = append(p.Problems, "spec: "+err.Error())
	}
	if v.finder == nil || !p.Found {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	p.Run, p.Working, err = v.finder.Build(ctx, l.path, b.State())
	v.logError(err)
	if p.Ours = p.Run != ""; p.Working {
		p.Resume = nil
	}
	return p
}

// owners caches the ids of the runs that documents belong to. A document changes often, but its run
// rarely changes.
type owners struct {
	mu    sync.Mutex
	runs  map[string]string // run id by session id; "" if no run wrote the session's document
	until time.Time

	session   string // id of the team's session
	run       string
	teamUntil time.Time
}

const (
	cacheTime = time.Minute
	// cacheTimeUnknown is how long owners caches that a team's documents belong to no run. It is
	// short, because gaffer stores the run shortly after it has written the documents.
	cacheTimeUnknown = 2 * time.Second
)

// sessions returns the ids of the runs that wrote the documents of sessions, by session id. It
// calls the function find for the sessions that are not cached.
func (o *owners) sessions(ids []string, now time.Time, find func(ids []string) (map[string]string, error)) map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.After(o.until) {
		o.runs, o.until = map[string]string{}, now.Add(cacheTime)
	}
	var news []string
	for _, id := range ids {
		if _, known := o.runs[id]; !known {
			news = append(news, id)
		}
	}
	found := map[string]string{}
	if len(news) > 0 {
		asked, err := find(news)
		for _, id := range news {
			if found[id] = asked[id]; err == nil {
				o.runs[id] = asked[id]
			}
		}
	}
	for _, id := range ids {
		if run := o.runs[id]; run != "" {
			found[id] = run
		}
	}
	return found
}

// team returns the id of the run that a team's session belongs to. It calls the function find if
// the id is not cached.
func (o *owners) team(session string, now time.Time, find func() (string, error)) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if session == o.session && now.Before(o.teamUntil) {
		return o.run
	}
	run, err := find()
	if err == nil {
		o.session, o.run, o.teamUntil = session, run, now.Add(cacheTimeUnknown)
	}
	if run != "" {
		o.teamUntil = now.Add(cacheTime)
	}
	return run
}
