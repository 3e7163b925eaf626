package statefile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"

	"gaffer/statefile/host"
)

const (
	opLookTemp  host.Op = "look at temp"
	opRecheck   host.Op = "check unchanged"
	opSyncAgain host.Op = "sync unchanged"
)

// ErrChanged is a file that another program changed between our reading it and
// our replacing it.
var ErrChanged = errors.New("changed by another program meanwhile")

// Replace puts data in the place of old at path, atomically and durably, with
// the permissions and the owner of what is there. A file whose content is no
// longer old is [ErrChanged] and stays as it is. It takes no lock: for a shared
// document use [File.Update].
func Replace(h host.Host, path string, old, data []byte) error {
	target, err := resolve(h, path)
	if err != nil {
		return &StepError{Step: opResolve, Path: path, Err: err}
	}
	now, info, err := read(h, target)
	if err != nil {
		return &StepError{Step: opRead, Path: path, Err: err}
	}
	if !bytes.Equal(now, old) {
		return &StepError{Step: opRecheck, Path: path, Err: ErrChanged}
	}
	_, err = replace(h, found{target, old, info}, data)
	return err
}

// found is a file as it was read.
type found struct {
	path string // behind all links
	data []byte
	info fs.FileInfo // nil if there was none
}

// replace returns how the file looks that is there now, as it was before anybody
// else could write to it.
func replace(h host.Host, old found, data []byte) (fs.FileInfo, error) {
	perm := fs.FileMode(0o666)
	if old.info != nil {
		perm = old.info.Mode().Perm()
	}
	temp, err := writeTemp(h, old.path, hidden(h, old.path, forUpdate), data, perm, old.info)
	if err != nil {
		return nil, err
	}
	info, step, err := old.giveWay(h, temp)
	if err != nil {
		_ = h.Remove(opRemoveTemp, temp) // the first error is the one to tell
		return nil, &StepError{Step: step, Path: old.path, Err: err}
	}
	return info, syncFolder(h, old.path)
}

// giveWay puts temp in the place of a file that is still as it was read. With an
// error comes the step that failed.
func (old found) giveWay(h host.Host, temp string) (fs.FileInfo, host.Op, error) {
	info, err := h.Lstat(opLookTemp, temp)
	if err != nil {
		return nil, opLookTemp, err
	}
	if err := old.recheck(h); err != nil {
		return nil, opRecheck, err
	}
	return info, opRename, h.Rename(opRename, temp, old.path)
}

// recheck compares content, not times: a file's times are coarser than two
// writes can be apart.
func (old found) recheck(h host.Host) error {
	f, err := h.Open(opRead, old.path)
	if errors.Is(err, fs.ErrNotExist) {
		if old.info == nil {
			return nil
		}
		return ErrChanged
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written to it
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if old.info == nil || info.Mode() != old.info.Mode() || info.Size() != int64(len(old.data)) {
		return ErrChanged
	}
	return holds(f, old.data)
}

// holds compares what is left of a file with data, piece by piece: the document
// may be large, and it is in memory once already.
func holds(r io.Reader, data []byte) error {
	piece := make([]byte, min(len(data)+1, 32<<10))
	for {
		n, err := r.Read(piece)
		if n > len(data) || !bytes.Equal(piece[:n], data[:n]) {
			return ErrChanged
		}
		data = data[n:]
		switch {
		case err == io.EOF && len(data) > 0:
			return ErrChanged
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// Sync makes the file at path durable, and its name. Whoever wrote it may have
// died before that.
func Sync(h host.Host, path string) error {
	file, err := h.Open(opSyncAgain, path)
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
	return syncFolder(h, path)
}

// Sweep removes what calls of [Replace] and [WriteNew] for path have left whose
// process died. The caller knows that none is under way.
func Sweep(h host.Host, path string) error {
	target, err := resolve(h, path)
	if err != nil {
		return &StepError{Step: opResolve, Path: path, Err: err}
	}
	entries, err := h.ReadDir(opSweepTemps, folderOf(target))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &StepError{Step: opSweepTemps, Path: path, Err: err}
	}
	for _, e := range entries {
		name := sibling(target, e.Name())
		if strings.HasPrefix(name, hiddenPrefix(target, forUpdate)) || strings.HasPrefix(name, hiddenPrefix(target, forNew)) {
			if err := h.Remove(opSweepTemps, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return &StepError{Step: opSweepTemps, Path: path, Err: err}
			}
		}
	}
	return nil
}
