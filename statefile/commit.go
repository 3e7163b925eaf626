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

// maxRedo bounds how often an update is made again. Each time costs the other
// program a write of its own, so only a program that does nothing else gets there.
const maxRedo = 100

// commit makes the changes of all requests and writes them together to path,
// which is behind all links. Each request gets an error of its own. The lock is
// held.
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
	if len(batch) > 1 && !isStep(err) { // find out whose change it is
		for i := range batch {
			f.commit(path, batch[i:i+1])
		}
		return
	}
	for _, r := range batch {
		if r.err == nil { // its own error says more
			r.err = err
		}
	}
}

func isStep(err error) bool {
	var step *StepError
	return errors.As(err, &step)
}

// try makes the changes once. Its error is one that no single request is known
// to have caused.
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

// open reads the document that the changes start from.
func (f *File) open(path string) (found, *jsontree.Doc, error) {
	f.sweepTemps(path)
	doc, data, info, err := f.settle()
	old := found{path, data, info}
	if err == nil || f.opts.Empty == nil {
		return old, doc, err
	}
	var corrupt *CorruptError
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &corrupt) && f.opts.StartOver && path == f.path:
		if err := f.keepAside(path, data, corrupt); err != nil {
			return found{}, nil, err
		}
	default:
		return found{}, nil, err
	}
	doc, err = parse(f.path, f.opts.Empty)
	return old, doc, err
}

// write makes data the document, unless somebody else changed it since old. An
// update that changes nothing still makes durable what is there: its caller is
// about to rely on it.
func (f *File) write(old found, data []byte) error {
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

// sweepTemps removes what writers that died have left. Only the holder of the
// lock writes temps, so all that are there are leftovers. It is done once:
// later ones are found by the next process.
func (f *File) sweepTemps(path string) {
	if f.swept {
		return
	}
	f.swept = true
	for _, name := range f.leftovers(path, forUpdate) {
		_ = f.host.Remove(opSweepTemps, name) // a leftover harms nobody
	}
	if f.opts.Locking != Folder {
		return
	}
	for _, name := range f.leftovers(f.path, forLock) { // its owner may still use it
		if owner, signed := readOwner(f.host, name); signed && f.host.Alive(owner) == host.Dead {
			removeLock(f.host, name)
		}
	}
}

// leftovers lists the hidden files for a purpose beside path. That they cannot be
// listed is nothing to tell: the update itself will say what is wrong.
func (f *File) leftovers(path, purpose string) (names []string) {
	entries, _ := f.host.ReadDir(opSweepTemps, folderOf(path))
	for _, e := range entries {
		if name := sibling(path, e.Name()); strings.HasPrefix(name, hiddenPrefix(path, purpose)) {
			names = append(names, name)
		}
	}
	return names
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
