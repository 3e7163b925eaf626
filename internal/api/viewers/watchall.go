package viewers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"time"

	"gaffer/internal/api/docview"
	"gaffer/statefile"
	"gaffer/team"
	"gaffer/workflow"
)

// recomputeEvery is the interval at which the views of the team and of the build are computed again
// even if no file has changed.
const recomputeEvery = 5 * time.Second

// allDocumentsWatch watches the team, the sessions and the build of a project for the followers of
// all documents.
type allDocumentsWatch struct {
	followers int
	// count is the number of watches that were started so far. It is also the number of the newest
	// watch. Results of older watches are ignored.
	count    int
	stop     context.CancelFunc           // ends the watch; nil if no watch is running
	lastSent map[string][sha256.Size]byte // hash of the last view that was sent, by type of message
}

// beginAll starts to watch the team, the sessions and the build of a project, unless that watch is
// already running. The caller holds l.mu and v.mu.
func (v *watches) beginAll(l *liveProject) {
	if l.allDocuments.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	l.allDocuments.stop = stop
	l.allDocuments.count++
	if l.allDocuments.lastSent == nil {
		l.allDocuments.lastSent = map[string][sha256.Size]byte{}
	}
	w := &watcher{v, l, l.allDocuments.count}
	v.running.Go(func() { w.watchTeam(ctx) })
	v.running.Go(func() { w.watchSessions(ctx) })
	v.running.Go(func() { w.watchBuild(ctx) })
}

// stopAllWatch ends the watch of the team, the sessions and the build, if it is running. The caller
// holds l.mu.
func (l *liveProject) stopAllWatch() {
	if l.allDocuments.stop != nil {
		l.allDocuments.stop()
		l.allDocuments.stop = nil
	}
}

// watcher does the work of one allDocumentsWatch.
type watcher struct {
	*watches
	live  *liveProject
	watch int
}

// send adds a message of the type kind for the followers. Besides its type, the message has a
// member whose name is the argument name and whose value is the argument picture. send adds nothing
// if picture is the same as in the last message of this type, or if the watch was stopped.
func (w *watcher) send(kind, name string, picture any) {
	data, err := json.Marshal(picture)
	if err != nil {
		w.notice(kind + " of " + w.live.path + ": " + err.Error())
		return
	}
	l := w.live
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256(data)
	if w.watch != l.allDocuments.count || l.allDocuments.stop == nil || sum == l.allDocuments.lastSent[kind] {
		return
	}
	l.allDocuments.lastSent[kind] = sum
	l.addMessage(kind, member{name, data})
}

// watchTeam sends the view of the team, at once and after each change, until ctx ends.
func (w *watcher) watchTeam(ctx context.Context) {
	var each []watchedFile
	for _, doc := range team.Documents() {
		each = append(each, watchedFile{filepath.Join(w.live.documents.folders.Team, doc.Path()), w.live.documents.team.Setter(doc)})
	}
	w.watchFiles(ctx, each, w.sendTeam)
}

func (w *watcher) sendTeam(ctx context.Context) {
	d := w.live.documents
	d.mu.Lock()
	picture, session := d.team.Picture(), d.team.SessionID()
	d.mu.Unlock()
	w.send(TeamUpdate, "team", w.owners.withTeamRun(ctx, w.live, picture, session))
}

// watchBuild sends the view of the build, at once and after each change, until ctx ends.
func (w *watcher) watchBuild(ctx context.Context) {
	build := w.live.documents.build
	w.watchFiles(ctx, []watchedFile{
		{filepath.Join(w.live.folder, workflow.StateFile), build.SetState},
		{filepath.Join(w.live.folder, workflow.InboxFile), build.SetInbox},
	}, w.sendBuild)
}

func (w *watcher) sendBuild(ctx context.Context) {
	d := w.live.documents
	d.mu.Lock()
	build := *d.build
	d.mu.Unlock()
	w.send(BuildUpdate, "build", w.owners.withBuildRun(ctx, w.live, &build))
}

// watchedFile is a file to watch, and the function to call with its contents or with the error of
// reading it.
type watchedFile struct {
	path string
	set  func(data []byte, err error)
}

// watchFiles reads all files and calls the function send. Until ctx ends, it calls send again after
// each change of a file and whenever the interval recomputeEvery has passed. The calls without a
// change of a file are needed because other data in the view may change: which run a document
// belongs to, and whether a process works on this run.
func (w *watcher) watchFiles(ctx context.Context, files []watchedFile, send func(context.Context)) {
	changed := make(chan struct{}, 1)
	for _, f := range files {
		w.setUnlessEnded(ctx, f)(docview.ReadDocument(w.host, f.path))
	}
	send(ctx)
	for _, f := range files {
		w.running.Go(func() {
			_ = statefile.New(f.path, statefile.Options{Host: w.host}).Watch(ctx, func(data []byte, err error) { // ignore the error: Watch returns only when ctx ends
				w.setUnlessEnded(ctx, f)(data, err)
				select {
				case changed <- struct{}{}:
				default:
				}
			})
		})
	}
	again := time.NewTicker(recomputeEvery)
	defer again.Stop()
	for {
		select {
		case <-changed:
		case <-again.C:
		case <-ctx.Done():
			return
		}
		send(ctx)
	}
}

// setUnlessEnded returns a function that passes the contents of a file to f.set. The function does
// nothing after ctx has ended, because a newer watch may already have newer contents.
func (w *watcher) setUnlessEnded(ctx context.Context, f watchedFile) func(data []byte, err error) {
	return func(data []byte, err error) {
		d := w.live.documents
		d.mu.Lock()
		defer d.mu.Unlock()
		if ctx.Err() == nil {
			f.set(data, err)
		}
	}
}

// watchSessions sends the list of sessions, at once and after each change, until ctx ends.
func (w *watcher) watchSessions(ctx context.Context) {
	for ; ctx.Err() == nil; _ = w.host.Sleep(ctx, checkEvery) { // ignore the error: Sleep fails only when ctx ends
		w.send(SessionsUpdate, "sessions", w.owners.withSessionRuns(ctx, w.live, w.live.documents.sessions.List()))
	}
}
