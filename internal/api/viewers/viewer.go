// Package viewers implements the requests of a workflow viewer on the workflow files of
// projects: the list of projects, the status of a build, the contents of an inbox, and
// changes while a client follows them. It does not depend on HTTP.
//
// The files are the source of truth, and other programs write them too. Viewers only
// report what they have read from the files, so the reports are the same whichever
// program wrote them.
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

// Options configures a Viewer.
type Options struct {
	Home     string   // the root of the server's own project, which is always listed
	Registry Registry // stores the other projects
	// Locate returns the name of a project and the folders of its documents. If it is
	// nil, the default folders of the protocols are used.
	Locate func(root string) (ProjectFolders, error)
	Ours   Ours             // reports which documents are gaffer's; if nil, none are
	Now    func() time.Time // nil means the machine's clock
	Rand   io.Reader        // for ids; nil means the machine's random source
	Notice func(text string)
}

// ProjectFolders contains the name of a project and the folders of its documents.
type ProjectFolders struct {
	Name     string
	Folder   string // of the workflow
	Team     string
	Sessions string
}

// Viewer answers requests about the projects of one machine. Close ends its watches.
type Viewer struct {
	opts Options
	host host.Host

	mu       sync.Mutex
	lives    map[string]*live // by root
	listed   chan struct{}    // closed and replaced when the list of projects has changed
	doubtful time.Time        // no further doubt is logged until then
	closed   bool

	watches sync.WaitGroup
}

// New returns a Viewer. It accesses no files yet.
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

// Close ends all watches and waits for them. Later requests to follow a project return
// ErrClosed.
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

// live returns the state of the project at a root. There is only one per project, so that
// concurrent changes to a document are written together.
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
