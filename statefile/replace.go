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

// ErrChanged means that another program changed a file between the moment when it was read and the
// moment when it was to be replaced. [Replace] then leaves the file unchanged and returns an error
// that wraps ErrChanged. [File.Update] instead reads the file again and repeats the update. Only
// after many failed attempts does Update return an error that wraps ErrChanged.
var ErrChanged = errors.New("changed by another program meanwhile")

// Replace replaces the content of the file at path by data, atomically and durably. It keeps the
// file's owner, group and permissions as far as this process may set them. old is the content that
// the caller has read. If the file no longer contains old, Replace returns an error that wraps
// [ErrChanged], and leaves the file unchanged.
// Replace takes no lock: use [File.Update] for a shared document.
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
	_, err = replace(h, readFile{target, old, info}, data)
	return err
}

// readFile is a file with the content that was read from it.
type readFile struct {
	path string // path of the file itself, not of a symbolic link to it
	data []byte
	info fs.FileInfo // nil if the file did not exist
}

// replace replaces the file that the parameter old describes by a new file with the content data.
// It returns the file information of the new file. It reads this information before it renames the
// new file to old.path: after the rename, another program may already have replaced the new file.
func replace(h host.Host, old readFile, data []byte) (fs.FileInfo, error) {
	perm := fs.FileMode(0o666)
	if old.info != nil {
		perm = old.info.Mode().Perm()
	}
	temp, err := writeTemp(h, old.path, hiddenPath(h, old.path, forUpdate), data, perm, old.info)
	if err != nil {
		return nil, err
	}
	info, step, err := old.replaceBy(h, temp)
	if err != nil {
		_ = h.Remove(opRemoveTemp, temp) // ignore a second error: the first one is more useful
		return nil, &StepError{Step: step, Path: old.path, Err: err}
	}
	return info, syncFolder(h, old.path)
}

// replaceBy renames the file at temp to old.path, and returns the file information of the renamed
// file. If the file at old.path has changed since it was read, replaceBy returns ErrChanged
// instead. If an operation fails, replaceBy returns the error and the name of that operation.
func (old readFile) replaceBy(h host.Host, temp string) (fs.FileInfo, host.Op, error) {
	info, err := h.Lstat(opLookTemp, temp)
	if err != nil {
		return nil, opLookTemp, err
	}
	if err := old.checkUnchanged(h); err != nil {
		return nil, opRecheck, err
	}
	return info, opRename, h.Rename(opRename, temp, old.path)
}

// checkUnchanged returns ErrChanged if the file has changed since it was read. It compares the
// content, because two quick writes may have the same modification time.
func (old readFile) checkUnchanged(h host.Host) error {
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
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if old.info == nil || info.Mode() != old.info.Mode() || info.Size() != int64(len(old.data)) {
		return ErrChanged
	}
	return compareContent(f, old.data)
}

// compareContent reads r to its end. It returns nil if the content equals data, and ErrChanged if
// not. It compares piece by piece, so that a large document is not in memory twice.
func compareContent(r io.Reader, data []byte) error {
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

// Sync makes the existing file at path and its directory entry durable. It is needed if the process
// that wrote the file may have died before its own sync.
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

// Sweep deletes the temporary files for path that [Replace], [WriteNew] and [File.Update] left
// because their process died. The caller must ensure that no process is calling one of these
// functions for path.
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
