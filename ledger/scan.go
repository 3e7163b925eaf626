package ledger

import (
	"errors"
	"io/fs"
	"iter"
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

// task is every file of one bead: its runs, then its results.
type task []file

// folder is the records of one kind in a folder. A ledger may have very many,
// so only their names are in memory, and of what is in the files only the tasks
// under way.
type folder struct {
	kind  Kind
	dir   string
	names []string // in the order of compareNames
}

// list returns the records in a folder. An absent folder has none.
func list(h host.Host, kind Kind, dir string) (folder, error) {
	f := folder{kind: kind, dir: dir}
	entries, err := h.ReadDir(opList, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	for _, e := range entries {
		if _, ok := parseName(e.Name()); ok {
			f.names = append(f.names, e.Name())
		}
	}
	slices.SortFunc(f.names, func(a, b string) int { return compareNames(nameOf(a), nameOf(b)) })
	return f, nil
}

// nameOf is parseName for a file that a person named a record.
func nameOf(name string) fileName {
	if parsed, ok := parseName(name); ok {
		return parsed
	}
	return fileName{file: name, bead: name}
}

// files yields the records in their order.
func (f folder) files() iter.Seq[file] {
	return func(yield func(file) bool) {
		for _, name := range f.names {
			if !yield(file{f.kind, f.dir, nameOf(name)}) {
				return
			}
		}
	}
}

// tasks yields the files of both folders by bead.
func tasks(runs, results folder) iter.Seq[task] {
	return func(yield func(task) bool) {
		nextRun, stopRuns := iter.Pull(runs.files())
		defer stopRuns()
		nextResult, stopResults := iter.Pull(results.files())
		defer stopResults()
		run, moreRuns := nextRun()
		result, moreResults := nextResult()
		for moreRuns || moreResults {
			bead := run.bead
			if !moreRuns || moreResults && result.bead < bead {
				bead = result.bead
			}
			var t task
			for ; moreRuns && run.bead == bead; run, moreRuns = nextRun() {
				t = append(t, run)
			}
			for ; moreResults && result.bead == bead; result, moreResults = nextResult() {
				t = append(t, result)
			}
			if !yield(t) {
				return
			}
		}
	}
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
