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

// folder is the records of one kind in a folder, or one of them.
type folder struct {
	host host.Host
	kind Kind
	dir  string
	only string // the one file; empty for all
}

// folders returns those of the ledger: runs, then results.
func (s *Store) folders() []folder {
	var folders []folder
	for _, kind := range Kinds() {
		folders = append(folders, folder{host: s.host, kind: kind, dir: s.Dir(kind)})
	}
	return folders
}

// window is how many names of a folder are in memory. A ledger may have very
// many records: rather than hold all names to sort them, the folder is read
// once for every so many.
const window = 8192

// files yields the records in their order. An absent folder has none. An error
// is the last that it yields.
func (f folder) files() iter.Seq2[file, error] {
	return func(yield func(file, error) bool) {
		if f.only != "" {
			yield(file{f.kind, f.dir, nameOf(f.only)}, nil)
			return
		}
		names, err := f.after(nil)
		for ; len(names) > 0 && err == nil; names, err = f.after(&names[len(names)-1]) {
			for _, name := range names {
				if !yield(file{f.kind, f.dir, name}, nil) {
					return
				}
			}
			if len(names) < window {
				return
			}
		}
		if err != nil {
			yield(file{}, err)
		}
	}
}

// after returns the first names after last, or the very first ones, as many as
// a window holds.
func (f folder) after(last *fileName) ([]fileName, error) {
	var names []fileName
	full := false // names begins with a whole window, in order
	for name, err := range f.host.Names(opList, f.dir) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		parsed, ok := parseName(name)
		if !ok || last != nil && compareNames(parsed, *last) <= 0 {
			continue
		}
		if full && compareNames(parsed, names[window-1]) > 0 {
			continue
		}
		if names = append(names, parsed); len(names) == 2*window {
			names, full = first(names), true
		}
	}
	return first(names), nil
}

// first sorts the names and returns those that fit the window.
func first(names []fileName) []fileName {
	slices.SortFunc(names, compareNames)
	return names[:min(len(names), window)]
}

// nameOf is parseName for a file that a person named a record.
func nameOf(name string) fileName {
	if parsed, ok := parseName(name); ok {
		return parsed
	}
	return fileName{file: name, bead: name}
}

// tasks yields the files of the folders by bead. The folders are in the order
// in which a task has their files. An error is the last that it yields.
func tasks(folders ...folder) iter.Seq2[task, error] {
	return func(yield func(task, error) bool) {
		heads := make([]head, len(folders))
		for i, f := range folders {
			var stop func()
			heads[i].pull, stop = iter.Pull2(f.files())
			defer stop()
			heads[i].next()
		}
		for {
			bead, more, err := nextBead(heads)
			if err != nil {
				yield(nil, err)
			}
			if err != nil || !more {
				return
			}
			var t task
			for i := range heads {
				for h := &heads[i]; h.more && h.err == nil && h.bead == bead; h.next() {
					t = append(t, h.file)
				}
			}
			if !yield(t, nil) {
				return
			}
		}
	}
}

// head is the next file of a folder.
type head struct {
	file
	err  error
	more bool
	pull func() (file, error, bool)
}

func (h *head) next() { h.file, h.err, h.more = h.pull() }

// nextBead returns the least bead of those that come next.
func nextBead(heads []head) (bead string, more bool, err error) {
	for _, h := range heads {
		if h.err != nil {
			return "", false, h.err
		}
		if h.more && (!more || h.bead < bead) {
			bead, more = h.bead, true
		}
	}
	return bead, more, nil
}

// reading is what was found in one file: a value, or the reason why not.
type reading struct {
	file
	value   jsontree.Value
	found   []statefile.Finding // what JSON readers disagree about in it
	name    string              // of the finding if there is no value
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
	r.value, r.found = doc.Value(), statefile.CheckPortable(f.path(), doc)
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
