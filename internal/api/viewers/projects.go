package viewers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/project"
)

const (
	folder      = ".fctry" // marks a project, as does gaffer's own file
	maxProjects = 100
	maxPath     = 4096
)

// Entry is a project that was registered.
type Entry struct {
	Path   string    `json:"path"`         // absolute, with links resolved
	As     string    `json:"as,omitempty"` // what it was called then, if that is another path
	Used   time.Time `json:"used"`         // when it was registered or made the active one
	Active bool      `json:"active,omitempty"`
}

// Registry keeps the projects of this machine.
type Registry interface {
	// Get returns all, or nothing.
	Get(ctx context.Context) ([]Entry, error)
	// Put replaces all by what change makes of them, so that of two that come
	// together neither is lost. change may run more than once.
	Put(ctx context.Context, change func([]Entry) ([]Entry, error)) error
}

// Project is a project as others see it.
type Project struct {
	Path         string    `json:"path"`
	Name         string    `json:"name"`
	LastActivity time.Time `json:"lastActivity,omitzero"`
	Active       bool      `json:"active"`

	as string
}

// Projects lists those that are there: the server's own first, then the others in
// the order in which they were registered.
func (v *Viewer) Projects(ctx context.Context) ([]Project, error) {
	entries, err := v.opts.Registry.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("projects: %w", err)
	}
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Path == v.opts.Home }) {
		entries = slices.Insert(slices.Clone(entries), 0, Entry{Path: v.opts.Home})
	}
	var list []Project
	active := 0
	for _, e := range entries {
		if !there(e.Path) {
			continue // removed, or on a disk that is away
		}
		l, err := v.live(e.Path)
		if err != nil {
			v.opts.Notice(err.Error())
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

// find returns the project that a path or a name means. What is given is only
// compared, never looked for on the disk. Nothing is the active project.
func (v *Viewer) find(ctx context.Context, ref string) (Project, error) {
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
		if !slices.ContainsFunc(list, fits) { // what is there now counts before what a path once led to
			fits = func(p Project) bool { return p.as == clean }
		}
	default:
		fits = func(p Project) bool { return p.Name == ref }
	}
	return only(slices.DeleteFunc(list, func(p Project) bool { return !fits(p) }), ref)
}

func only(found []Project, ref string) (Project, error) {
	switch {
	case len(found) == 0:
		return Project{}, refuse(missing, "project_not_found", "no project %.200q: GET /api/projects lists them", ref)
	case len(found) > 1 && found[0].Name == ref:
		return Project{}, refuse(conflict, "ambiguous_project", "%d projects are called %q: name one by its path, such as %s", len(found), ref, found[0].Path)
	}
	return found[0], nil
}

// toChange returns the project that a change is about. Which one is active is a
// matter of who looks, so with several projects a change must say which it means.
func (v *Viewer) toChange(ctx context.Context, ref string) (*live, error) {
	if ref == "" {
		if list, err := v.Projects(ctx); err != nil {
			return nil, err
		} else if len(list) > 1 {
			return nil, refuse(invalid, "project_needed", "there are %d projects: say which with ?project=", len(list))
		}
	}
	return v.of(ctx, ref)
}

// Register adds the project at a path and makes it the active one. It must be a
// folder that is marked as a project.
func (v *Viewer) Register(ctx context.Context, path string) (Project, error) {
	root, err := marked(path)
	if err != nil {
		return Project{}, err
	}
	if _, err := v.live(root); err != nil {
		return Project{}, refuse(invalid, "invalid_request", "%s", err.Error())
	}
	return v.activate(ctx, root, filepath.Clean(path))
}

// Activate makes a project the one that is meant where none is named.
func (v *Viewer) Activate(ctx context.Context, ref string) (Project, error) {
	if ref == "" {
		return Project{}, refuse(invalid, "invalid_request", "which project? name its path")
	}
	p, err := v.find(ctx, ref)
	if err != nil {
		return Project{}, err
	}
	return v.activate(ctx, p.Path, p.as)
}

func (v *Viewer) activate(ctx context.Context, root, as string) (Project, error) {
	if as == root {
		as = ""
	}
	gone, err := v.gone(ctx)
	if err != nil {
		return Project{}, err
	}
	entry := Entry{Path: root, As: as, Used: v.opts.Now().UTC(), Active: true}
	if err := v.opts.Registry.Put(ctx, func(all []Entry) ([]Entry, error) { return with(all, entry, gone) }); err != nil {
		return Project{}, err
	}
	v.mu.Lock()
	close(v.listed)
	v.listed = make(chan struct{})
	v.mu.Unlock()
	return v.find(ctx, root)
}

func there(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// gone are the projects whose folders are not there. It is asked before the list
// is changed: a disk may be slow, and others wait for the list.
func (v *Viewer) gone(ctx context.Context) (map[string]bool, error) {
	entries, err := v.opts.Registry.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("projects: %w", err)
	}
	paths := map[string]bool{}
	for _, e := range entries {
		paths[e.Path] = !there(e.Path)
	}
	return paths, nil
}

// Listed is closed when the list of projects has changed.
func (v *Viewer) Listed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.listed
}

// with returns the entries with one more, or that one changed, as the active one.
// A path by which it is known now is no longer another one's: it led there once.
// Where there is no room, of those that are gone the one goes that was used
// longest ago.
func with(all []Entry, e Entry, gone map[string]bool) ([]Entry, error) {
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

// oldest is where the one stands that was used longest ago of those in which, or
// -1.
func oldest(list []Entry, which map[string]bool) int {
	found := -1
	for i, e := range list {
		if which[e.Path] && (found < 0 || e.Used.Before(list[found].Used)) {
			found = i
		}
	}
	return found
}

// marked returns the root that a path leads to. Whatever is wrong with it the
// answer is the same, so that nobody can find out what else is on the disk.
func marked(path string) (string, error) {
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
