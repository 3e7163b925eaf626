package statefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// The steps of an update beside those of writing a file.
const (
	opRecheck    host.Op = "check unchanged"
	opSweepTemps host.Op = "sweep temps"
	opSyncAgain  host.Op = "sync unchanged"
)

// errChanged is a document that a program without our lock changed between our
// reading it and our replacing it.
var errChanged = errors.New("changed by a program that takes no lock")

// maxRedo bounds how often an update is made again. Each time costs the other
// program a write of its own, so only a program that does nothing else gets there.
const maxRedo = 100

// commit makes the changes of all requests and writes them together. Each
// request gets an error of its own. The lock is held.
func (f *File) commit(batch []*request) {
	var err error
	for range maxRedo {
		if err = f.try(batch); !errors.Is(err, errChanged) {
			break
		}
	}
	if err == nil {
		return
	}
	if errors.Is(err, errChanged) {
		err = &StepError{Step: opRecheck, Path: f.path, Err: err}
	}
	if len(batch) > 1 && !isStep(err) { // find out whose change it is
		for i := range batch {
			f.commit(batch[i : i+1])
		}
		return
	}
	for _, r := range batch {
		r.err = err
	}
}

func isStep(err error) bool {
	var step *StepError
	return errors.As(err, &step)
}

// found is a document as it was before the changes.
type found struct {
	path string // behind all links
	data []byte
	info fs.FileInfo // nil if there was none
}

// try makes the changes once. Its error is one that no single request is known
// to have caused.
func (f *File) try(batch []*request) error {
	old, doc, err := f.open()
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
		return nil
	}
	if f.opts.Finish != nil {
		if err := errors.Join(f.opts.Finish(doc), doc.Err()); err != nil {
			return err
		}
	}
	return f.replace(old, doc.Bytes())
}

// open reads the document that the changes start from.
func (f *File) open() (found, *jsontree.Doc, error) {
	path, err := resolve(f.host, f.path)
	if err != nil {
		return found{}, nil, &StepError{Step: opResolve, Path: f.path, Err: err}
	}
	f.sweepTemps(path)
	doc, data, info, err := f.settle()
	old := found{path, data, info}
	if err == nil || f.opts.Empty == nil {
		return old, doc, err
	}
	var corrupt *CorruptError
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &corrupt) && f.opts.StartOver:
		if err := f.keepAside(path, data, corrupt); err != nil {
			return found{}, nil, err
		}
	default:
		return found{}, nil, err
	}
	doc, err = parse(f.path, f.opts.Empty)
	return old, doc, err
}

// replace makes data the document, unless somebody else changed it since old.
func (f *File) replace(old found, data []byte) error {
	if len(data) > MaxSize {
		return tooLarge(f.path, int64(len(data)))
	}
	if old.info != nil && bytes.Equal(old.data, data) {
		return f.syncAgain(old.path)
	}
	perm := fs.FileMode(0o666)
	if old.info != nil {
		perm = 0o600 // until it has those of the document
	}
	temp, err := writeTemp(f.host, old.path, data, perm, old.info)
	if err != nil {
		return err
	}
	if err := f.recheck(old); err != nil {
		_ = f.host.Remove(opRemoveTemp, temp) // the first error is the one to tell
		return err
	}
	if err := f.host.Rename(opRename, temp, old.path); err != nil {
		_ = f.host.Remove(opRemoveTemp, temp) // the first error is the one to tell
		return &StepError{Step: opRename, Path: old.path, Err: err}
	}
	return syncFolder(f.host, old.path)
}

// recheck compares content, not times: a file's times are coarser than two
// writes can be apart.
func (f *File) recheck(old found) error {
	now, info, err := read(f.host, old.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && old.info == nil:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return &StepError{Step: opRecheck, Path: old.path, Err: err}
	case err != nil || old.info == nil || info.Mode() != old.info.Mode() || !bytes.Equal(now, old.data):
		return errChanged
	}
	return nil
}

// syncAgain makes durable what is there: whoever wrote it may have died before
// that, and our caller is about to rely on it.
func (f *File) syncAgain(path string) error {
	file, err := f.host.Open(opSyncAgain, path)
	if err != nil {
		return &StepError{Step: opSyncAgain, Path: path, Err: err}
	}
	err = file.Sync(opSyncAgain)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return &StepError{Step: opSyncAgain, Path: path, Err: err}
	}
	return syncFolder(f.host, path)
}

// sweepTemps removes what writers that died have left. Only the holder of the
// lock writes temps, so all that are there are leftovers. It is done once:
// later ones are found by the next process.
func (f *File) sweepTemps(path string) {
	if f.swept {
		return
	}
	f.swept = true
	entries, err := f.host.ReadDir(opSweepTemps, filepath.Dir(path))
	if err != nil {
		return // the update itself will say what is wrong
	}
	prefix := tempPrefix(path)
	for _, e := range entries {
		if name := filepath.Join(filepath.Dir(path), e.Name()); strings.HasPrefix(name, prefix) {
			_ = f.host.Remove(opSweepTemps, name) // a leftover harms nobody
		}
	}
}

// keepAside saves the bytes of a file that is not JSON before it is replaced.
func (f *File) keepAside(path string, data []byte, corrupt *CorruptError) error {
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
			break // kept by an update that did not get further
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

// Programs that write in place leave a file half written for a moment. A file
// that is not JSON and was changed within settleAge gets settleTries looks.
const (
	settleAge   = time.Second
	settleTries = 50
	settlePause = 5 * time.Millisecond
)

// settle reads the document. Its bytes are returned also if they are not JSON,
// with a [*CorruptError].
func (f *File) settle() (*jsontree.Doc, []byte, fs.FileInfo, error) {
	for try := 1; ; try++ {
		data, info, err := read(f.host, f.path)
		if err != nil {
			return nil, nil, nil, err
		}
		doc, err := parse(f.path, data)
		if err == nil || try == settleTries || f.host.Now().Sub(info.ModTime()) > settleAge {
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
