// Package viewers answers the requests of a workflow viewer, a page that shows the workflow files
// of projects. It returns the list of projects, the status of a build and the contents of an inbox,
// and sends changes to clients that follow a project. It does not depend on HTTP.
//
// Other programs write these files too. The viewer shows what is in the files, whichever program
// wrote them.
package viewers

import (
	"io"
	"path/filepath"
	"time"

	"gaffer/statefile/host"
)

// Options configures a Viewer.
type Options struct {
	// Home is the root of the server's own project. This project is listed even if it is not
	// registered.
	Home     string
	Registry Registry // stores the list of registered projects
	// Locate returns the name of a project and the folders of its documents. If Locate is nil, the
	// documents are in the default folders in the project's root, such as .fctry.
	Locate func(root string) (ProjectFolders, error)
	// RunFinder finds the runs that wrote documents. If it is nil, the viewer does not show to
	// which run a document belongs.
	RunFinder RunFinder
	Now       func() time.Time // nil means the machine's clock
	Rand      io.Reader        // source of random ids; nil means the machine's random source
	Notice    func(text string)
}

// ProjectFolders has the name of a project and the paths of its document folders.
type ProjectFolders struct {
	Name     string
	Folder   string // folder of the workflow documents
	Team     string
	Sessions string
}

// Viewer answers requests about the projects of one machine. Each embedded type answers the
// requests about one subject. The method Close stops the watching of files.
type Viewer struct {
	*projectList
	*workflowService
	*specReader
	*documentReader
	*watches
}

// New returns a Viewer. It does not access files.
func New(opts Options) *Viewer {
	h := host.OS()
	if opts.Locate == nil {
		opts.Locate = locate
	}
	if opts.Notice == nil {
		opts.Notice = func(string) {}
	}
	if opts.Now == nil {
		opts.Now = h.Now
	}
	projects := &projectList{
		home: opts.Home, registry: opts.Registry, locate: opts.Locate, now: opts.Now, rand: opts.Rand, notice: opts.Notice, host: h,
		liveProjects: map[string]*liveProject{}, listed: make(chan struct{}),
	}
	owners := &runOwners{finder: opts.RunFinder, now: opts.Now, notice: opts.Notice}
	specs := &specReader{projects, h}
	return &Viewer{
		projectList:     projects,
		workflowService: &workflowService{projects: projects, specs: specs, owners: owners, now: opts.Now, host: h},
		specReader:      specs,
		documentReader:  &documentReader{projects, owners, h},
		watches:         &watches{projects: projects, owners: owners, host: h, notice: opts.Notice},
	}
}

func locate(root string) (ProjectFolders, error) {
	return ProjectFolders{
		Name: filepath.Base(root), Folder: filepath.Join(root, folder),
		Team: filepath.Join(root, "coordination"), Sessions: filepath.Join(root, ".founder-mode", "status"),
	}, nil
}
