package statefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

const opSweepTemps host.Op = "sweep temps"

// maxRedo is the maximum number of times that an update is tried. A try fails if a program that
// ignores the lock has changed the document in the meantime. So the limit is reached only if
// another program writes without pause.
const maxRedo = 100

// commit applies the changes of all requests in batch and writes the document at path. It normally
// writes only once, for all of them. If a request fails, commit stores the error in that request.
// path is the document's path with all links resolved. The caller must hold the document's lock.
func (f *File) commit(path string, batch []*request) {
	var err error
	for range maxRedo {
		if err = f.try(path, batch); !errors.Is(err, ErrChanged) {
			break
		}
	}
	if err == nil {
		return
	}
	// The change of one request may have caused the error. Apply the requests one by one, so that
	// the others succeed.
	if len(batch) > 1 && !isStepError(err) {
		for i := range batch {
			f.commit(path, batch[i:i+1])
		}
		return
	}
	for _, r := range batch {
		// Keep the error of the request's own change, because it is more specific.
		if r.err == nil {
			r.err = err
		}
	}
}

func isStepError(err error) bool {
	var step *StepError
	return errors.As(err, &step)
}

// try applies the changes of all requests once and writes the document. If the change of a request
// fails, try undoes this change and stores the error in the request. It returns errors that concern
// the whole batch.
func (f *File) try(path string, batch []*request) error {
	old, doc, err := f.open(path)
	if err != nil {
		return err
	}
	changed := false
	for _, r := range batch {
		mark := doc.Mark()
		r.err = r.change(doc)
		if r.err == nil {
			r.err = doc.Err()
		}
		if r.err != nil {
			doc.Rollback(mark)
			continue
		}
		changed = true
	}
	if !changed {
		f.saw(old.info)
		return nil
	}
	if f.opts.Finish != nil {
		if err := errors.Join(f.opts.Finish(doc), doc.Err()); err != nil {
			return err
		}
	}
	return f.write(old, doc.Bytes())
}

// open reads the document that an update will change. If Options.Empty is not nil, it returns a new
// document with this content in two cases: the file is missing; or it is not JSON,
// Options.StartOver is true, and the document's path is not a link. In the second case, open first
// saves a copy of the file. If it cannot read the document for another reason, open returns an
// error.
func (f *File) open(path string) (readFile, *jsontree.Doc, error) {
	f.removeTemps(path)
	doc, data, info, err := f.readDocument()
	old := readFile{path, data, info}
	if err == nil || f.opts.Empty == nil {
		return old, doc, err
	}
	var corrupt *CorruptError
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &corrupt) && f.opts.StartOver && path == f.path:
		if err := f.saveCorrupt(path, data, corrupt); err != nil {
			return readFile{}, nil, err
		}
	default:
		return readFile{}, nil, err
	}
	doc, err = parse(f.path, f.opts.Empty)
	return old, doc, err
}

// write replaces the document by data. If another program has changed the document since old was
// read, write returns an error that wraps ErrChanged. If data equals the old content, write only
// syncs the existing file, because the document must be durable after an update.
func (f *File) write(old readFile, data []byte) error {
	if len(data) > MaxSize {
		return tooLarge(f.path, int64(len(data)))
	}
	if old.info != nil && bytes.Equal(old.data, data) {
		f.saw(old.info)
		return Sync(f.host, old.path)
	}
	info, err := replace(f.host, old, data)
	if err == nil {
		f.saw(info)
	}
	return err
}

func (f *File) saw(info fs.FileInfo) {
	if f.opts.Saw != nil {
		f.opts.Saw(info)
	}
}

// removeTemps deletes the temporary files and hidden lock folders of processes that died. Only the
// holder of the lock creates temporary files for an update, and this process holds the lock, so no
// other process still uses them. Only the first call for a File does this. If another process dies
// later, its files are deleted by the first update through a new File.
func (f *File) removeTemps(path string) {
	if f.swept {
		return
	}
	f.swept = true
	for _, name := range f.leftovers(path, forUpdate) {
		_ = f.host.Remove(opSweepTemps, name) // ignore the error: a file that stays does no harm
	}
	if f.opts.Locking != Folder {
		return
	}
	// Delete only the lock folders whose owner is dead. The others may be in use.
	for _, name := range f.leftovers(f.path, forLock) {
		if owner, signed := readOwner(f.host, name); signed && f.host.Alive(owner) == host.Dead {
			removeLock(f.host, name)
		}
	}
}

// leftovers lists the hidden files and folders beside path that were created for the given purpose,
// such as forUpdate. It ignores errors: if the folder cannot be read, the update itself fails with
// a better message.
func (f *File) leftovers(path, purpose string) (names []string) {
	entries, _ := f.host.ReadDir(opSweepTemps, folderOf(path))
	for _, e := range entries {
		if name := sibling(path, e.Name()); strings.HasPrefix(name, hiddenPrefix(path, purpose)) {
			names = append(names, name)
		}
	}
	return names
}

// saveCorrupt saves a copy of a file that is not JSON. The update replaces the file afterwards.
func (f *File) saveCorrupt(path string, data []byte, corrupt *CorruptError) error {
	base := path + ".corrupt-" + f.host.Now().UTC().Format("20060102T150405Z")
	name := base
	for n := 2; ; n++ {
		err := WriteNew(f.host, name, data, 0o600)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if kept, err := ReadBytes(f.host, name); err == nil && bytes.Equal(kept, data) {
			break // an earlier update, which was interrupted, has already saved this copy
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
	f.notice(CorruptKept, path, fmt.Sprintf("%v; its bytes are kept as %s and a new document was started", corrupt, name))
	return nil
}

func (f *File) notice(kind NoticeKind, path, text string) {
	if f.opts.Notice != nil {
		f.opts.Notice(Notice{Kind: kind, Path: path, Text: text})
	}
}

// If a file is not JSON, another program may be overwriting it in place, so that it is incomplete.
// So if the file was modified less than writingAge ago, readDocument waits for settlePause and
// reads it again. It reads the file at most readTries times.
const (
	writingAge  = time.Second
	readTries   = 50
	settlePause = 5 * time.Millisecond
)

// readDocument reads the document. If the file is not JSON, it returns the file's bytes and a
// [*CorruptError].
func (f *File) readDocument() (*jsontree.Doc, []byte, fs.FileInfo, error) {
	for try := 1; ; try++ {
		data, info, err := read(f.host, f.path)
		if err != nil {
			return nil, nil, nil, err
		}
		doc, err := parse(f.path, data)
		if err == nil || try == readTries || f.host.Now().Sub(info.ModTime()) > writingAge {
			return doc, data, info, err
		}
		if err := f.host.Sleep(context.Background(), settlePause); err != nil {
			return nil, nil, nil, err
		}
	}
}

func parse(path string, data []byte) (*jsontree.Doc, error) {
	doc, err := jsontree.Parse(data)
	var syntax *jsontree.SyntaxError
	if errors.As(err, &syntax) {
		return nil, &CorruptError{Path: path, Syntax: syntax}
	}
	return doc, err
}
