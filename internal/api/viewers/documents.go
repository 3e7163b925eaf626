package viewers

import (
	"context"
	"errors"
	"sync"
	"time"

	"gaffer/internal/api/docview"
	"gaffer/internal/flow/spec"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Ours reports which documents gaffer's own runs write. Other programs write all others.
type Ours interface {
	// Sessions returns the runs of those sessions that are gaffer's, by session id.
	Sessions(ctx context.Context, root string, ids []string) (runs map[string]string, err error)
	// Team returns the run of a team's session, or "".
	Team(ctx context.Context, root, session string) (run string, err error)
	// Build returns the run of the build that a workflow state describes, or "". working
	// reports whether a process works on it.
	Build(ctx context.Context, root string, state jsontree.Value) (run string, working bool, err error)
}

// asking is how long a query to Ours may take.
const asking = 5 * time.Second

// documents are the last read versions of a project's documents other than the
// workflow's.
type documents struct {
	place ProjectFolders
	shelf *docview.Shelf

	mu    sync.Mutex
	team  *docview.Team
	build *docview.Build

	owners owners
}

func newDocuments(h host.Host, place ProjectFolders) *documents {
	return &documents{place: place, shelf: docview.NewShelf(h, place.Sessions), team: docview.NewTeam(), build: &docview.Build{}}
}

// Team returns the state of a project's team.
func (v *Viewer) Team(ctx context.Context, ref string) (docview.TeamPicture, error) {
	l, err := v.of(ctx, ref)
	if err != nil {
		return docview.TeamPicture{}, err
	}
	t := docview.ReadTeam(v.host, l.documents.place.Team)
	return v.credit(ctx, l, t.Picture(), t.SessionID()), nil
}

// credit adds the project and the run that a team belongs to.
func (v *Viewer) credit(ctx context.Context, l *live, p docview.TeamPicture, session string) docview.TeamPicture {
	p.Project, p.Path = l.name, l.path
	if v.opts.Ours != nil && session != "" {
		p.Run = l.documents.owners.team(session, v.opts.Now(), func() (string, error) {
			ctx, cancel := context.WithTimeout(ctx, asking)
			defer cancel()
			run, err := v.opts.Ours.Team(ctx, l.path, session)
			v.doubt(err)
			return run, err
		})
		p.Ours = p.Run != ""
	}
	return p
}

// doubt logs that the owner of a document is unknown. The document is shown anyway.
// Queries happen several times per second, so it logs at most once per minute.
func (v *Viewer) doubt(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	now := v.opts.Now()
	v.mu.Lock()
	tell := !now.Before(v.doubtful)
	if tell {
		v.doubtful = now.Add(remember)
	}
	v.mu.Unlock()
	if tell {
		v.opts.Notice("viewer: whose documents they are: " + err.Error())
	}
}

// Sessions lists the newest sessions of a project, the latest first.
func (v *Viewer) Sessions(ctx context.Context, ref string) ([]docview.SessionEntry, error) {
	l, err := v.of(ctx, ref)
	if err != nil {
		return nil, err
	}
	return v.creditAll(ctx, l, l.documents.shelf.List()), nil
}

func (v *Viewer) creditAll(ctx context.Context, l *live, list []docview.SessionEntry) []docview.SessionEntry {
	if v.opts.Ours == nil || len(list) == 0 {
		return list
	}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	runs := l.documents.owners.sessions(ids, v.opts.Now(), func(ids []string) (map[string]string, error) {
		ctx, cancel := context.WithTimeout(ctx, asking)
		defer cancel()
		runs, err := v.opts.Ours.Sessions(ctx, l.path, ids)
		v.doubt(err)
		return runs, err
	})
	for i := range list {
		list[i].Run = runs[list[i].ID]
		list[i].Ours = list[i].Run != ""
	}
	return list
}

// Session returns one session of a project with its waves.
func (v *Viewer) Session(ctx context.Context, ref, id string) (docview.SessionPicture, error) {
	l, err := v.of(ctx, ref)
	if err != nil {
		return docview.SessionPicture{}, err
	}
	p, err := l.documents.shelf.Session(id)
	if err != nil {
		return p, refuse(missing, "not_found", "no session %.200q: GET /api/sessions lists them", id)
	}
	p.Session = v.creditAll(ctx, l, []docview.SessionEntry{p.Session})[0]
	return p, nil
}

// SessionLog returns the end of an agent's log.
func (v *Viewer) SessionLog(ctx context.Context, ref, id, agent string, tail int64) (docview.LogTail, error) {
	l, err := v.of(ctx, ref)
	if err != nil {
		return docview.LogTail{}, err
	}
	log, err := l.documents.shelf.Log(id, agent, tail)
	if says, ok := errors.AsType[interface {
		error
		NotFound() bool
	}](err); ok && says.NotFound() {
		return log, refuse(missing, "not_found", "session %.200q has no log of an agent %.200q", id, agent)
	}
	return log, err
}

// mission returns the view of a build for a state that was just read.
func (v *Viewer) mission(ctx context.Context, l *live, state jsontree.Value) docview.BuildPicture {
	var b docview.Build
	b.SawState(state.Raw(), nil)
	b.SawInbox(docview.Look(v.host, l.store.Inbox().Path()))
	return v.paint(ctx, l, &b)
}

// paint returns the view of a build with its run. If a process works on it, the view
// offers no resume.
func (v *Viewer) paint(ctx context.Context, l *live, b *docview.Build) docview.BuildPicture {
	text, err := spec.Read(l.folder)
	p := b.Picture(text, v.opts.Now())
	if err != nil {
		p.Problems = append(p.Problems, "spec: "+err.Error())
	}
	if v.opts.Ours == nil || !p.Found {
		return p
	}
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	p.Run, p.Working, err = v.opts.Ours.Build(ctx, l.path, b.State())
	v.doubt(err)
	if p.Ours = p.Run != ""; p.Working {
		p.Resume = nil
	}
	return p
}
