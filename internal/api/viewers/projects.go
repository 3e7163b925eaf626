package viewers

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/project"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

const (
	// folder is the name of the folder with the workflow documents. Only a project that contains
	// this folder or gaffer's config file can be registered.
	folder      = ".fctry"
	maxProjects = 100
	maxPath     = 4096
)

// Entry is a registered project.
type Entry struct {
	Path   string    `json:"path"`         // absolute, with symbolic links resolved
	As     string    `json:"as,omitempty"` // the path that the user registered, if it differs from Path
	Used   time.Time `json:"used"`         // when the project was registered or last activated
	Active bool      `json:"active,omitempty"`
}

// Registry stores the list of registered projects of this machine.
type Registry interface {
	// Get returns all entries. If no project is registered, the list is empty.
	Get(ctx context.Context) ([]Entry, error)
	// Put replaces the stored entries with those that the function change returns for them. If
	// another process has changed the stored entries meanwhile, Put calls change again with the new
	// entries.
	Put(ctx context.Context, change func([]Entry) ([]Entry, error)) error
}

// Project is a project as clients see it.
type Project struct {
	Path         string    `json:"path"`
	Name         string    `json:"name"`
	LastActivity time.Time `json:"lastActivity,omitzero"`
	Active       bool      `json:"active"`

	as string
}

// projectList contains the projects that the viewer shows.
type projectList struct {
	home     string // the root of the server's own project
	registry Registry
	locate   func(root string) (ProjectFolders, error)
	now      func() time.Time
	rand     io.Reader
	notice   func(text string)
	host     host.Host

	mu           sync.Mutex
	liveProjects map[string]*liveProject // by the path of the project's root
	listed       chan struct{}           // closed and replaced when this viewer registers or activates a project
}

// live returns the liveProject of the project with this root, and creates it at the first call.
// There is only one liveProject per project, because it contains the store that writes the
// project's documents: a single store can write concurrent changes of a document in one batch.
func (v *projectList) live(root string) (*liveProject, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if l := v.liveProjects[root]; l != nil {
		return l, nil
	}
	place, err := v.locate(root)
	if err != nil {
		return nil, fmt.Errorf("project %s: %w", root, err)
	}
	l := newLiveProject(root, place, v.now())
	l.store = workflow.Open(place.Folder, workflow.Options{Now: v.now, Rand: v.rand, Notice: func(n statefile.Notice) { v.notice(n.Text) }})
	l.notice = v.notice
	l.documents = newDocuments(v.host, place)
	v.liveProjects[root] = l
	return l, nil
}

// find returns the project that a request names by path or name. An empty ref means the active
// project.
func (v *projectList) find(ctx context.Context, ref string) (*liveProject, error) {
	p, err := v.findProject(ctx, ref)
	if err != nil {
		return nil, err
	}
	return v.live(p.Path)
}

// Projects lists the projects whose folders exist, in the order of registration. If the server's
// own project is not registered, it comes first. The active project is the one that is marked as
// active in the registry. If the registry marks no project in the list, the first one is active.
func (v *projectList) Projects(ctx context.Context) ([]Project, error) {
	entries, err := v.registry.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("projects: %w", err)
	}
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Path == v.home }) {
		entries = slices.Insert(slices.Clone(entries), 0, Entry{Path: v.home})
	}
	var list []Project
	active := 0
	for _, e := range entries {
		if !exists(e.Path) {
			continue // the folder was removed, or its disk is not mounted
		}
		l, err := v.live(e.Path)
		if err != nil {
			v.notice(err.Error())
			continue
		}
		if e.Active {
			active = len(list)
		}
		list = append(list, Project{Path: e.Path, Name: l.name, LastActivity: e.Used, as: e.As})
	}
	if len(list) > 0 {
		list[active].Active = true
	}
	return list, nil
}

// findProject returns the project whose path or name is ref. It compares texts only and does not
// open ref as a path. An empty ref means the active project.
func (v *projectList) findProject(ctx context.Context, ref string) (Project, error) {
	list, err := v.Projects(ctx)
	if err != nil {
		return Project{}, err
	}
	var fits func(Project) bool
	switch clean := filepath.Clean(ref); {
	case ref == "":
		fits = func(p Project) bool { return p.Active }
	case filepath.IsAbs(ref):
		fits = func(p Project) bool { return p.Path == clean }
		// First look for a project whose current path is ref. If there is none, look for one that
		// was registered under the path ref.
		if !slices.ContainsFunc(list, fits) {
			fits = func(p Project) bool { return p.as == clean }
		}
	default:
		fits = func(p Project) bool { return p.Name == ref }
	}
	return uniqueProject(slices.DeleteFunc(list, func(p Project) bool { return !fits(p) }), ref)
}

func uniqueProject(found []Project, ref string) (Project, error) {
	switch {
	case len(found) == 0:
		return Project{}, refuse(missing, "project_not_found", "no project %.200q: GET /api/projects lists them", ref)
	case len(found) > 1 && found[0].Name == ref:
		return Project{}, refuse(conflict, "ambiguous_project", "%d projects are called %q: name one by its path, such as %s", len(found), ref, found[0].Path)
	}
	return found[0], nil
}

// findToChange returns the project that a request wants to change. If ref is empty and there are
// several projects, it returns an error: another user may have changed the active project.
func (v *projectList) findToChange(ctx context.Context, ref string) (*liveProject, error) {
	if ref == "" {
		if list, err := v.Projects(ctx); err != nil {
			return nil, err
		} else if len(list) > 1 {
			return nil, refuse(invalid, "project_needed", "there are %d projects: say which with ?project=", len(list))
		}
	}
	return v.find(ctx, ref)
}

// Register adds the project at a path and makes it the active one. The folder must contain .fctry
// or gaffer's config file.
func (v *projectList) Register(ctx context.Context, path string) (Project, error) {
	root, err := projectRoot(path)
	if err != nil {
		return Project{}, err
	}
	if _, err := v.live(root); err != nil {
		return Project{}, refuse(invalid, "invalid_request", "%s", err.Error())
	}
	return v.activate(ctx, root, filepath.Clean(path))
}

// Activate makes a project the active one. Requests that do not name a project are about the active
// project.
func (v *projectList) Activate(ctx context.Context, ref string) (Project, error) {
	if ref == "" {
		return Project{}, refuse(invalid, "invalid_request", "which project? name its path")
	}
	p, err := v.findProject(ctx, ref)
	if err != nil {
		return Project{}, err
	}
	return v.activate(ctx, p.Path, p.as)
}

func (v *projectList) activate(ctx context.Context, root, as string) (Project, error) {
	if as == root {
		as = ""
	}
	gone, err := v.missingFolders(ctx)
	if err != nil {
		return Project{}, err
	}
	entry := Entry{Path: root, As: as, Used: v.now().UTC(), Active: true}
	if err := v.registry.Put(ctx, func(all []Entry) ([]Entry, error) { return withActive(all, entry, gone) }); err != nil {
		return Project{}, err
	}
	v.mu.Lock()
	close(v.listed)
	v.listed = make(chan struct{})
	v.mu.Unlock()
	return v.findProject(ctx, root)
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// missingFolders returns which registered projects have no folder any more: the value for a
// project's path is true if the folder is missing. Do not call it inside the function that
// [Registry.Put] calls: a disk may be slow, and other writers of the registry would have to wait.
func (v *projectList) missingFolders(ctx context.Context) (map[string]bool, error) {
	entries, err := v.registry.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("projects: %w", err)
	}
	paths := map[string]bool{}
	for _, e := range entries {
		paths[e.Path] = !exists(e.Path)
	}
	return paths, nil
}

// Listed returns a channel that is closed when this viewer registers or activates a project.
func (v *projectList) Listed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.listed
}

// withActive returns a copy of the list all that contains e and in which e is the only active
// entry. If all has an entry with the same path, e replaces it. If not, e is appended. If the list
// is full before e is appended, withActive deletes the least recently used entry whose folder is
// missing, and returns an error if no folder is missing. gone[path] is true if the folder at path
// is missing. In other entries, withActive clears the field As if it is equal to e.Path or e.As.
func withActive(all []Entry, e Entry, gone map[string]bool) ([]Entry, error) {
	list := slices.Clone(all)
	for i := range list {
		list[i].Active = false
		if as := list[i].As; as == e.As || as == e.Path {
			list[i].As = ""
		}
	}
	if i := slices.IndexFunc(list, func(o Entry) bool { return o.Path == e.Path }); i >= 0 {
		list[i] = e
		return list, nil
	}
	for len(list) >= maxProjects {
		i := oldest(list, gone)
		if i < 0 {
			return nil, refuse(conflict, "too_many_projects", "%d projects are registered, and that is the limit", len(list))
		}
		list = slices.Delete(list, i, i+1)
	}
	return append(list, e), nil
}

// oldest returns the index of the least recently used entry e in list for which paths[e.Path] is
// true, or -1 if there is no such entry.
func oldest(list []Entry, paths map[string]bool) int {
	found := -1
	for i, e := range list {
		if paths[e.Path] && (found < 0 || e.Used.Before(list[found].Used)) {
			found = i
		}
	}
	return found
}

// projectRoot returns the root of the project at a path. All its errors are the same, so that
// clients cannot find out which files exist.
func projectRoot(path string) (string, error) {
	no := refuse(invalid, "no_project", "%.200q is no project: want the absolute path of a folder that holds %s or %s", path, folder, project.ConfigFile)
	if len(path) > maxPath || !filepath.IsAbs(path) || !printable(path) || slices.Contains(strings.Split(path, "/"), "..") {
		return "", no
	}
	found, err := project.At(path, "a request")
	if err != nil {
		return "", no
	}
	if info, err := os.Stat(filepath.Join(found.Root, folder)); err == nil && info.IsDir() {
		return found.Root, nil
	}
	if info, err := os.Stat(filepath.Join(found.Root, project.ConfigFile)); err == nil && info.Mode().IsRegular() {
		return found.Root, nil
	}
	return "", no
}

func printable(text string) bool {
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return utf8.ValidString(text)
}
