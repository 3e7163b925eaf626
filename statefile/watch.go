package statefile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"gaffer/statefile/host"
)

const (
	opWatch       host.Op = "watch"
	watchInterval         = 50 * time.Millisecond
	// mtimeResolution is the coarsest resolution of modification times that Watch allows for. If a
	// file is read within this time after it was modified, it may change again without getting a
	// new modification time.
	mtimeResolution = time.Second
)

// Watch calls the function changed with the document's bytes: once at the start, and after each
// change by any program, until ctx ends. The bytes are nil if the document does not exist. If the
// document cannot be read or is not JSON, Watch passes the error to changed and continues. Changes
// in quick succession may be reported as one. Watch returns the error of ctx.
//
// Watch polls the file's modification time and inode several times a second. Unlike notifications
// of the kernel, this also works across renames, deleted folders, containers and network file
// systems.
func (f *File) Watch(ctx context.Context, changed func(data []byte, err error)) error {
	w := watcher{file: f, changed: changed}
	for {
		w.look()
		if err := f.host.Sleep(ctx, watchInterval); err != nil {
			return err
		}
	}
}

type watcher struct {
	file     *File
	changed  func([]byte, error)
	info     fs.FileInfo
	read     time.Time // when the last read of the document began; changes after this time may be unseen
	reported bool
	data     []byte
	err      error
}

func (w *watcher) look() {
	info, err := w.file.host.Stat(opWatch, w.file.path)
	if err != nil {
		info = nil
	}
	if w.reported && info != nil && sameInfo(info, w.info) && w.read.Sub(info.ModTime()) > mtimeResolution {
		return
	}
	w.info, w.read = info, w.file.host.Now()
	_, data, _, err := w.file.readDocument()
	if errors.Is(err, fs.ErrNotExist) {
		data, err = nil, nil
	}
	if w.reported && (data == nil) == (w.data == nil) && bytes.Equal(data, w.data) && sameError(err, w.err) {
		return
	}
	w.reported, w.data, w.err = true, data, err
	w.changed(data, err)
}

func sameInfo(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode() && sameNode(a, b)
}

func sameError(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Error() == b.Error()
}

// sameNode reports whether a and b describe the same inode.
func sameNode(a, b fs.FileInfo) bool {
	x, ok1 := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok1 == ok2 && (!ok1 || x.Ino == y.Ino && x.Dev == y.Dev)
}
