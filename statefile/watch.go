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
	opWatch  host.Op = "watch"
	watching         = 50 * time.Millisecond
	// A file's times are only so fine: a file that was this young when it was
	// read may have changed since without its time changing.
	coarse = time.Second
)

// Watch calls changed with the document's bytes, now and after each change by
// any program, until ctx ends. An absent document is nil bytes. What cannot be
// read is passed as the error, and watching goes on. Changes that follow each
// other within a moment may be seen as one.
//
// It looks at the file's time and identity a few times a second, which unlike
// the kernel's notifications also works across rename, removal of the folder,
// containers and network file systems.
func (f *File) Watch(ctx context.Context, changed func(data []byte, err error)) error {
	w := watcher{file: f, changed: changed}
	for {
		w.look()
		if err := f.host.Sleep(ctx, watching); err != nil {
			return err
		}
	}
}

type watcher struct {
	file    *File
	changed func([]byte, error)
	info    fs.FileInfo
	read    time.Time // when the last reading began
	told    bool
	data    []byte
	err     error
}

func (w *watcher) look() {
	info, err := w.file.host.Stat(opWatch, w.file.path)
	if err != nil {
		info = nil
	}
	if w.told && info != nil && sameInfo(info, w.info) && w.read.Sub(info.ModTime()) > coarse {
		return
	}
	w.info, w.read = info, w.file.host.Now()
	_, data, _, err := w.file.settle()
	if errors.Is(err, fs.ErrNotExist) {
		data, err = nil, nil
	}
	if w.told && (data == nil) == (w.data == nil) && bytes.Equal(data, w.data) && sameError(err, w.err) {
		return
	}
	w.told, w.data, w.err = true, data, err
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

// sameNode reports whether two looks saw the same file under a name.
func sameNode(a, b fs.FileInfo) bool {
	x, ok1 := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	return ok1 == ok2 && (!ok1 || x.Ino == y.Ino && x.Dev == y.Dev)
}
