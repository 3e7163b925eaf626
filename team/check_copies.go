package team

import (
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile"
)

// Limits of the search for misplaced copies of the team's JSON documents.
const (
	copyDepth   = 3    // how many levels of folders below the project folder are searched
	copyFolders = 1000 // maximum number of folders that are searched in each level
)

// checkCopies searches the project for misplaced copies of the team's state files, and adds a
// finding for each copy that differs from the original. Such a copy appears if an agent writes to a
// relative path while its working directory is wrong: the team's folder, or another folder of the
// project.
func (f *folder) checkCopies() {
	name := filepath.Base(f.store.root)
	f.compareCopy(filepath.Join(f.store.root, name))
	places := []string{filepath.Dir(f.store.root)}
	for range copyDepth {
		var below []string
		for _, place := range places {
			below = append(below, f.subfolders(place, copyFolders-len(below))...)
		}
		for _, place := range below {
			f.compareCopy(filepath.Join(place, name))
		}
		places = below
	}
}

// subfolders returns the paths of the folders that are directly inside the folder with the path
// place. It returns at most limit paths. It leaves out hidden folders, and folders with the same
// name as the team's folder. It returns nil if the folder cannot be read.
func (f *folder) subfolders(place string, limit int) []string {
	entries, err := f.store.opts.Host.ReadDir(opLook, place)
	if err != nil {
		return nil
	}
	var folders []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && !strings.HasPrefix(name, ".") && name != filepath.Base(f.store.root) && len(folders) < limit {
			folders = append(folders, filepath.Join(place, name))
		}
	}
	return folders
}

func (f *folder) compareCopy(root string) {
	for _, d := range []Document{PMStateDoc, GroupStatusDoc, OrchestratorDoc} {
		copied, err := statefile.ReadBytes(f.store.opts.Host, filepath.Join(root, d.Path()))
		if err != nil {
			continue
		}
		own, err := statefile.ReadBytes(f.store.opts.Host, f.store.path(d))
		if err == nil && slices.Equal(own, copied) {
			continue
		}
		f.add(d, statefile.Irregular, "", "divergent-copy", "%s is another one, and differs", f.fromProject(filepath.Join(root, d.Path())))
	}
}

// fromProject converts path to a path that is relative to the project's folder, for the text of a
// finding.
func (f *folder) fromProject(path string) string {
	if rel, err := filepath.Rel(filepath.Dir(f.store.root), path); err == nil {
		return rel
	}
	return path
}
