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

// RunFinder finds the runs of gaffer that documents belong to. Documents without a run
// belong to other programs.
type RunFinder interface {
	// Sessions returns the runs of those sessions that belong to gaffer, by session id.
	Sessions(ctx context.Context, root string, ids []string) (runs map[string]string, err error)
	// Team returns the run of a team's session, or "".
	Team(ctx context.Context, root, session string) (run string, err error)
	// Build returns the run of the build that a workflow state describes, or "". working
	// reports whether a process works on it.
	Build(ctx context.Context, root string, state jsontree.Value) (run string, working bool, err error)
}

// findTimeout limits how long a call of a [RunFinder] may take.
const findTimeout = 5 * time.Second

// runOwners adds to the views of documents the run of gaffer that they belong to.
type runOwners struct {
	finder RunFinder // nil if no document belongs to gaffer
	now    func() time.Time
	notice func(text string)

	mu         sync.Mutex
	quietUntil time.Time // no further error is logged until then
}

// withTeamRun adds to a team's view its project and its run.
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

// logError logs that the owner of a document could not be determined. The document is
// shown anyway. It logs at most once per minute, because there are several queries per
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

// withBuildRun returns the view of a build with its run. While a process works on the
// run, the view does not offer to resume it.
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

// owners caches which run each document belongs to, because documents change much more
// often than their runs.
type owners struct {
	mu    sync.Mutex
	runs  map[string]string // run by session; "" if the session belongs to another program
	until time.Time

	session   string // of the team
	run       string
	teamUntil time.Time
}

const (
	cacheTime = time.Minute
	// cacheTimeUnknown is the cache time of the answer that a document belongs to no run.
	// It is short, because a team's documents are written shortly before its run is
	// stored.
	cacheTimeUnknown = 2 * time.Second
)

// sessions returns the runs of sessions. It calls ask for those that are not cached.
func (o *owners) sessions(ids []string, now time.Time, ask func(ids []string) (map[string]string, error)) map[string]string {
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
		asked, err := ask(news)
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

// team returns the run of a team's session.
func (o *owners) team(session string, now time.Time, ask func() (string, error)) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if session == o.session && now.Before(o.teamUntil) {
		return o.run
	}
	run, err := ask()
	if err == nil {
		o.session, o.run, o.teamUntil = session, run, now.Add(cacheTimeUnknown)
	}
	if run != "" {
		o.teamUntil = now.Add(cacheTime)
	}
	return run
}
