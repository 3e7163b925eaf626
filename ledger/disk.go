package ledger

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Names of the operations on the file of a record: look at it, give it a second name, and remove
// that name. Errors contain the name of the operation that failed.
const (
	opLook     host.Op = "look at record"
	opKeep     host.Op = "keep record"
	opSyncKeep host.Op = "sync folder of kept record"
	opDropCopy host.Op = "drop second name of record"
	opSyncDrop host.Op = "sync folder of dropped name"
)

// document is a record that was read from disk. The field data is the content of the file as it was
// read; it stays the same when doc is edited.
type document struct {
	path string
	data []byte
	doc  *jsontree.Doc
}

func (d *document) value() jsontree.Value { return d.doc.Value() }

// attempt returns the attempt number in the record. It returns an error if the record has no valid
// attempt number. Every record must have one, in the full and in the minimal form.
func (d *document) attempt() (int, error) {
	n, ok := intOf(d.value().Get("attempt"))
	if !ok || n < 1 {
		c := newCheck("", d.path, false)
		c.invalid("attempt", missingField, "is not a number from 1, so it is unclear which attempt this is")
		return 0, &RecordError{Path: d.path, Found: c.found}
	}
	return int(n), nil
}

// load reads the record at path. It returns nil and no error if the record does not exist.
func (s *Store) load(path string) (*document, error) {
	file := statefile.New(path, statefile.Options{Host: s.host})
	doc, err := file.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &document{path: path, data: doc.Bytes(), doc: doc}, nil
}

func (s *Store) syncFolder(op host.Op, path string) error {
	if err := s.host.SyncDir(op, filepath.Dir(path)); err != nil {
		return &statefile.StepError{Step: op, Path: path, Replaced: true, Err: err}
	}
	return nil
}

// keep gives the record at path the second name newPath (a hard link), and syncs the file and the
// folder, so that this name survives a crash. The caller passes the content of the record as data.
// If newPath already exists with this content, keep only syncs. If newPath exists with other
// content, keep returns an error that wraps fs.ErrExist.
func (s *Store) keep(path, newPath string, data []byte) error {
	if err := statefile.Sync(s.host, path); err != nil {
		return err
	}
	err := s.host.Link(opKeep, path, newPath)
	if errors.Is(err, fs.ErrExist) {
		var there []byte
		if there, err = statefile.ReadBytes(s.host, newPath); err == nil && !bytes.Equal(there, data) {
			return &statefile.StepError{Step: opKeep, Path: newPath, Err: fs.ErrExist}
		}
	}
	if err != nil {
		return &statefile.StepError{Step: opKeep, Path: path, Err: err}
	}
	return s.syncFolder(opSyncKeep, newPath)
}

// replace replaces the content of the record old with data. It returns an error if another program
// has changed the file since it was read, or if the file is a symbolic link. The caller must hold
// the folder's lock.
func (s *Store) replace(old *document, data []byte) error {
	if err := s.checkRegular(old.path); err != nil {
		return err
	}
	err := statefile.Replace(s.host, old.path, old.data, data)
	if errors.Is(err, statefile.ErrChanged) {
		return &ImmutableError{Path: old.path, Problem: "was changed by another program meanwhile"}
	}
	return err
}

// checkRegular returns an error unless the file at path is a regular file. In practice, any other
// file is a symbolic link that the user has created. Replacing it would delete the link.
func (s *Store) checkRegular(path string) error {
	info, err := s.host.Lstat(opLook, path)
	if err != nil {
		return &statefile.StepError{Step: opLook, Path: path, Err: err}
	}
	if !info.Mode().IsRegular() {
		return &statefile.FormError{Path: path, Problem: "is a link to a record, not a record; name the record itself"}
	}
	return nil
}

// sameBytes returns an error if the content of the file at path differs from read.data, the content
// of a document that was read earlier.
func (s *Store) sameBytes(path string, read *document) error {
	now, err := statefile.ReadBytes(s.host, path)
	switch {
	case err != nil:
		return &statefile.StepError{Step: opLook, Path: path, Err: err}
	case !bytes.Equal(now, read.data):
		return &ImmutableError{Path: read.path, Problem: "was changed by another program meanwhile"}
	}
	return nil
}
