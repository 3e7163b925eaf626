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

// file is a file that may hold a record.
type file struct {
	kind Kind
	dir  string
	fileName
}

func (f file) path() string { return filepath.Join(f.dir, f.file) }

// task lists all files with records of one task: first the run records, then the result records.
// All have the same field bead, the task's id.
type task []file

// folder selects record files of one kind in the folder dir: all of them or, if only is set, one
// file.
type folder struct {
	host host.Host
	kind Kind
	dir  string
	only string // name of the only file; empty means all files
}

// folders returns the folder of the run records and the folder of the result records.
func (s *Store) folders() []folder {
	var folders []folder
	for _, kind := range Kinds() {
		folders = append(folders, folder{host: s.host, kind: kind, dir: s.Dir(kind)})
	}
	return folders
}

// window is how many file names [folder.files] sorts at a time. A ledger may have too many records
// to keep all file names in memory. So folder.files reads the whole folder again for each group of
// window names, and keeps only these names.
const window = 8192

// files yields the files of the folder that have the name of a record, sorted by task and attempt.
// If f.only is set, it yields only that file. If the folder does not exist, it yields no files.
// After an error, it yields the error and stops.
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

// after returns, in sorted order, the next names of record files after the name previous, at most
// window of them. If previous is nil, it returns the first names.
func (f folder) after(previous *fileName) ([]fileName, error) {
	var names []fileName
	full := false // whether names[:window] is sorted and has the smallest names that the loop has seen so far
	for name, err := range f.host.Names(opList, f.dir) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		parsed, ok := parseName(name)
		if !ok || previous != nil && compareNames(parsed, *previous) <= 0 {
			continue
		}
		if full && compareNames(parsed, names[window-1]) > 0 {
			continue
		}
		if names = append(names, parsed); len(names) == 2*window {
			names, full = firstNames(names), true
		}
	}
	return firstNames(names), nil
}

// firstNames sorts names and returns at most the first window of them.
func firstNames(names []fileName) []fileName {
	slices.SortFunc(names, compareNames)
	return names[:min(len(names), window)]
}

// nameOf is like parseName but accepts any file name, because a caller of FixPath or ValidatePath
// may pass the path of any file. If no record can have this name, the whole name counts as the
// bead.
func nameOf(name string) fileName {
	if parsed, ok := parseName(name); ok {
		return parsed
	}
	return fileName{file: name, bead: name}
}

// tasks yields, for each task that has files in the folders, the list of these files. The tasks are
// sorted by id. The files of a task are in the order of the parameter folders. After an error,
// tasks yields the error and stops.
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

// head iterates over the files of one folder. Its embedded file is the next file of the folder: the
// first one that the iterator [tasks] has not yielded yet.
type head struct {
	file
	err  error
	more bool // false if the folder has no more files
	pull func() (file, error, bool)
}

func (h *head) next() { h.file, h.err, h.more = h.pull() }

// nextBead returns the smallest bead (task id) among the next files of all folders. more is false
// if there are no files left.
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

// reading is the result of reading one file: its JSON value, or the reason why the file cannot be
// used as a record.
type reading struct {
	file
	value   jsontree.Value
	found   []statefile.Finding // content that JSON libraries treat differently, see statefile.CheckPortable
	name    string              // name of the problem, such as not-json, if the file cannot be used as a record; else empty
	problem string
}

// read reads one file. If the file cannot be used as a record, the returned reading says why.
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
	if f.isCheckResult(r.value) {
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

// isCheckResult reports whether the file holds the results of checks of an agent's work, and so is
// not a record. The name of such a file ends with verifySuffix. But the file of a record has such a
// name too, if the task's id ends with verifySuffix. In this case the record contains this id in
// the field bead, and isCheckResult returns false. v is the content of the file.
func (f file) isCheckResult(v jsontree.Value) bool {
	return strings.HasSuffix(f.bead, verifySuffix) && v.Get("bead").Text() != f.bead
}
