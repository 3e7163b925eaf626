// Package viewers says what the requests of a workflow's viewer mean on the
// workflow files of projects: which projects there are, how a build stands, what
// is in an inbox, and what changes while somebody looks. It knows no HTTP.
//
// The files are the truth and are written by others too. Nothing is told that
// was not seen in them, so that what is told is the same whoever wrote it.
package viewers

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// Options are what a Viewer needs.
type Options struct {
	Home     string   // the root of the server's own project, which is always known
	Registry Registry // where the others are kept
	// Locate says what a project is called and where its documents are. Without
	// it they are where their protocols have them.
	Locate func(root string) (ProjectFolders, error)
	Ours   Ours             // whose documents they are; all are others' if nil
	Now    func() time.Time // the machine's clock if nil
	Rand   io.Reader        // for ids; the machine's if nil
	Notice func(text string)
}

// ProjectFolders is where a project's documents are.
type ProjectFolders struct {
	Name     string
	Folder   string // of the workflow
	Team     string
	Sessions string
}

// Viewer answers for the projects of one machine. Close ends what it has begun.
type Viewer struct {
	opts Options
	host host.Host

	mu       sync.Mutex
	lives    map[string]*live // by root
	listed   chan struct{}    // closed, and replaced, when the list of projects has changed
	doubtful time.Time        // until then a doubt is not told again
	closed   bool

	watches sync.WaitGroup
}

// New returns a Viewer. It touches nothing.
func New(opts Options) *Viewer {
	if opts.Locate == nil {
		opts.Locate = locate
	}
	if opts.Notice == nil {
		opts.Notice = func(string) {}
	}
	v := &Viewer{opts: opts, host: host.OS(), lives: map[string]*live{}, listed: make(chan struct{})}
	if v.opts.Now == nil {
		v.opts.Now = v.host.Now
	}
	return v
}

func locate(root string) (ProjectFolders, error) {
	return ProjectFolders{
		Name: filepath.Base(root), Folder: filepath.Join(root, folder),
		Team: filepath.Join(root, "coordination"), Sessions: filepath.Join(root, ".founder-mode", "status"),
	}, nil
}

// Close ends all watching and waits for it. Requests that follow are refused
// where they would watch.
func (v *Viewer) Close() {
	v.mu.Lock()
	v.closed = true
	for _, l := range v.lives {
		l.mu.Lock()
		l.rest()
		l.restWide()
		l.mu.Unlock()
	}
	v.mu.Unlock()
	v.watches.Wait()
}

// live returns what is known of the project at a root. There is one for each, so
// that changes of one document that come together are written together.
func (v *Viewer) live(root string) (*live, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.lives[root]; l != nil {
		return l, nil
	}
	place, err := v.opts.Locate(root)
	if err != nil {
		return nil, fmt.Errorf("project %s: %w", root, err)
	}
	l := newLive(root, place, v.opts.Now())
	l.store = workflow.Open(place.Folder, workflow.Options{Now: v.opts.Now, Rand: v.opts.Rand, Notice: func(n statefile.Notice) { v.opts.Notice(n.Text) }})
	l.notice = v.opts.Notice
	l.documents = newDocuments(v.host, place)
	v.lives[root] = l
	return l, nil
}

// of returns the project that a request is about.
func (v *Viewer) of(ctx context.Context, ref string) (*live, error) {
	p, err := v.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return v.live(p.Path)
}
