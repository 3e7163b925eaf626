package ledger

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

const opList host.Op = "list records"

// file is one file of records that is to be read.
type file struct {
	kind Kind
	dir  string
	fileName
}

func (f file) path() string { return filepath.Join(f.dir, f.file) }

// task is every file of one bead: its runs, then its results. Folders are
// listed whole, but of what is in the files only the tasks under way are in
// memory.
type task []file

// list returns the files of records in a folder by task. An absent folder has
// none.
func list(h host.Host, kind Kind, dir string) ([]file, error) {
	entries, err := h.ReadDir(opList, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := make([]file, 0, len(entries))
	for _, e := range entries {
		if name, ok := parseName(e.Name()); ok {
			files = append(files, file{kind, dir, name})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return compareNames(a.fileName, b.fileName) })
	return files, nil
}

// tasks joins lists of files by bead.
func tasks(runs, results []file) []task {
	files := append(runs, results...)
	slices.SortStableFunc(files, func(a, b file) int { return cmp.Compare(a.bead, b.bead) })
	var joined []task
	for from := 0; from < len(files); {
		to := from + 1
		for to < len(files) && files[to].bead == files[from].bead {
			to++
		}
		joined = append(joined, task(files[from:to:to]))
		from = to
	}
	return joined
}

// reading is what was found in one file: a value, or the reason why not.
type reading struct {
	file
	value   jsontree.Value
	name    string // of the finding if there is no value
	problem string
}

// read reads one file. It never fails: what cannot be read is part of the answer.
func read(h host.Host, f file) reading {
	r := reading{file: f}
	data, err := statefile.ReadBytes(h, f.path())
	if err != nil {
		r.name, r.problem = unreadableName(err), unreadableText(err)
		return r
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		r.name, r.problem = notJSON, err.Error()
		return r
	}
	r.value = doc.Value()
	if f.isForeign(r.value) {
		r.name, r.problem = notRecord, "is not a record; it is left alone"
	}
	return r
}

func unreadableName(err error) string {
	if form := (*statefile.FormError)(nil); errors.As(err, &form) {
		return notADocument
	}
	return unreadable
}

func unreadableText(err error) string {
	var form *statefile.FormError
	if errors.As(err, &form) {
		return form.Problem
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// isForeign tells a file that checks leave beside the records from a record
// whose bead happens to have such a name.
func (f file) isForeign(v jsontree.Value) bool {
	return strings.HasSuffix(f.bead, verifySuffix) && v.Get("bead").Text() != f.bead
}
