package viewers

import (
	"context"
	"errors"
	"sync"

	"gaffer/internal/api/docview"
	"gaffer/statefile/host"
)

// documents holds the team, session and build documents of a project as they were last read.
type documents struct {
	folders  ProjectFolders
	sessions *docview.SessionReader

	mu    sync.Mutex
	team  *docview.Team
	build *docview.Build

	owners owners // cache of the ids of the runs that wrote the documents
}

func newDocuments(h host.Host, place ProjectFolders) *documents {
	return &documents{folders: place, sessions: docview.NewSessionReader(h, place.Sessions), team: docview.NewTeam(), build: &docview.Build{}}
}

// documentReader answers the requests about the documents of teams and sessions.
type documentReader struct {
	projects *projectList
	owners   *runOwners
	host     host.Host
}

// Team returns what the viewer shows about the team of agents that works on a project, with the id
// of the run that wrote the team's documents.
func (v *documentReader) Team(ctx context.Context, ref string) (docview.TeamPicture, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return docview.TeamPicture{}, err
	}
	t := docview.ReadTeam(v.host, l.documents.folders.Team)
	return v.owners.withTeamRun(ctx, l, t.Picture(), t.SessionID()), nil
}

// Sessions lists the newest sessions of a project, newest first.
func (v *documentReader) Sessions(ctx context.Context, ref string) ([]docview.SessionEntry, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return v.owners.withSessionRuns(ctx, l, l.documents.sessions.List()), nil
}

// Session returns one session of a project. The result contains the session's waves, which are
// groups of agents that run at the same time.
func (v *documentReader) Session(ctx context.Context, ref, id string) (docview.SessionPicture, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return docview.SessionPicture{}, err
	}
	p, err := l.documents.sessions.Session(id)
	if err != nil {
		return p, refuse(missing, "not_found", "no session %.200q: GET /api/sessions lists them", id)
	}
	p.Session = v.owners.withSessionRuns(ctx, l, []docview.SessionEntry{p.Session})[0]
	return p, nil
}

// SessionLog returns the end of the log of an agent in a session. The parameter tail is the maximum
// number of bytes.
func (v *documentReader) SessionLog(ctx context.Context, ref, id, agent string, tail int64) (docview.LogTail, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return docview.LogTail{}, err
	}
	log, err := l.documents.sessions.Log(id, agent, tail)
	if says, ok := errors.AsType[interface {
		error
		NotFound() bool
	}](err); ok && says.NotFound() {
		return log, refuse(missing, "not_found", "session %.200q has no log of an agent %.200q", id, agent)
	}
	return log, err
}
