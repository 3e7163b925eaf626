package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"syscall"

	"gaffer/statefile/host"
)

// Names of the steps that read and write a file.
const (
	opRead       host.Op = "read"
	opCreateTemp host.Op = "create temp"
	opWriteTemp  host.Op = "write temp"
	opChmodTemp  host.Op = "keep permissions"
	opChownTemp  host.Op = "keep owner"
	opSyncTemp   host.Op = "sync temp"
	opCloseTemp  host.Op = "close temp"
	opRemoveTemp host.Op = "remove temp"
	opRename     host.Op = "rename"
	opLink       host.Op = "link"
	opSyncFolder host.Op = "sync folder"
	opMakeFolder host.Op = "make folder"
	opResolve    host.Op = "follow link"
)

// ReadBytes reads the file at path. It is safe even if another program has replaced the file by
// something harmful, such as a pipe: it reads only regular files of at most MaxSize bytes, and never
// blocks. It returns a [*FormError] for anything else, and an error that wraps fs.ErrNotExist if the
// file does not exist.
func ReadBytes(h host.Host, path string) ([]byte, error) {
	data, _, err := read(h, path)
	return data, err
}

func read(h host.Host, path string) ([]byte, fs.FileInfo, error) {
	f, err := h.Open(opRead, path)
	if errors.Is(err, syscall.ENXIO) {
		return nil, nil, &FormError{path, "is a socket, not a document"}
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if err := checkForm(path, info); err != nil {
		return nil, nil, err
	}
	data, err := readAll(f, info.Size())
	if err == nil && len(data) > MaxSize {
		err = tooLarge(path, int64(len(data)))
	}
	return data, info, err
}

func checkForm(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return &FormError{path, "is a folder, not a document"}
	case mode&fs.ModeNamedPipe != 0:
		return &FormError{path, "is a named pipe, not a document"}
	case mode&fs.ModeSocket != 0:
		return &FormError{path, "is a socket, not a document"}
	case !mode.IsRegular():
		return &FormError{path, "is a device, not a document"}
	case info.Size() > MaxSize:
		return tooLarge(path, info.Size())
	}
	return nil
}

func tooLarge(path string, size int64) error {
	return &FormError{path, fmt.Sprintf("is %d bytes, more than the %d MiB a document may have", size, MaxSize>>20)}
}

// readAll reads r to its end, but at most MaxSize+1 bytes, even if the file grows while it is read.
// size is the file's expected size. If the result is longer than MaxSize, the file is too large.
func readAll(r io.Reader, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := b.ReadFrom(io.LimitReader(r, MaxSize+1))
	return b.Bytes(), err
}

// WriteNew writes a new file durably. The file appears with its complete content. If
// path exists, WriteNew returns an error that wraps fs.ErrExist and leaves path
// unchanged.
func WriteNew(h host.Host, path string, data []byte, perm fs.FileMode) error {
	temp, err := writeTemp(h, path, hiddenPath(h, path, forNew), data, perm, nil)
	if err != nil {
		return err
	}
	linkErr := h.Link(opLink, temp, path)
	if err := h.Remove(opRemoveTemp, temp); err != nil && linkErr == nil {
		return &StepError{Step: opRemoveTemp, Path: path, Replaced: true, Err: err}
	}
	if linkErr != nil {
		return &StepError{Step: opLink, Path: path, Err: linkErr}
	}
	return syncFolder(h, path)
}

// folderOf is like filepath.Dir but does not clean the path. If path contains a link followed by
// "..", cleaning would lead to another folder.
func folderOf(path string) string {
	dir, _ := filepath.Split(path)
	if dir == "" {
		return "."
	}
	return dir
}

// sibling returns the path of the file called name in the folder that contains path.
func sibling(path, name string) string {
	dir, _ := filepath.Split(path)
	return dir + name
}

// hiddenPrefix returns the start of the paths of the hidden files and folders beside path that are
// created for the given purpose, such as forUpdate.
func hiddenPrefix(path, purpose string) string {
	return sibling(path, "."+filepath.Base(path)+"."+purpose+"-")
}

// hiddenPath returns a new unique path for a hidden file or folder beside path. The parameter
// purpose is, for example, forUpdate.
func hiddenPath(h host.Host, path, purpose string) string {
	return hiddenPrefix(path, purpose) + fmt.Sprintf("%d-%08x", h.Self().PID, rand.Uint32())
}

// The purposes of hidden files and folders. After a crash, the first update through a new [File]
// deletes the files that were created for forUpdate, and the lock folders (forLock) whose owner is
// dead. An update must not delete files that were created for forNew: processes create them
// without holding the lock, so they may be in use.
const (
	forUpdate = "tmp"
	forLock   = "lock"
	forNew    = "new"
)

// writeTemp writes data durably to temp, a new file beside path, and returns temp. existing is nil
// or the file information of path. If it is not nil, the new file gets the owner, group and
// permissions of path as far as this process may set them. If writing fails, writeTemp deletes
// temp.
func writeTemp(h host.Host, path, temp string, data []byte, perm fs.FileMode, existing fs.FileInfo) (string, error) {
	f, err := h.Create(opCreateTemp, temp, perm)
	if err != nil {
		return "", &StepError{Step: opCreateTemp, Path: path, Err: err}
	}
	step, err := fill(f, data, existing)
	if closeErr := f.Close(); err == nil && closeErr != nil {
		step, err = opCloseTemp, closeErr
	}
	if err != nil {
		_ = h.Remove(opRemoveTemp, temp) // ignore a second error: the first one is more useful
		return "", &StepError{Step: step, Path: path, Err: err}
	}
	return temp, nil
}

func fill(f host.File, data []byte, existing fs.FileInfo) (host.Op, error) {
	if err := f.Write(opWriteTemp, data); err != nil {
		return opWriteTemp, err
	}
	if existing != nil {
		if op, err := keepAttributes(f, existing); err != nil {
			return op, err
		}
	}
	return opSyncTemp, f.Sync(opSyncTemp)
}

func keepAttributes(f host.File, existing fs.FileInfo) (host.Op, error) {
	made, err := f.Stat()
	if err != nil {
		return opChmodTemp, err
	}
	was, ok1 := existing.Sys().(*syscall.Stat_t)
	is, ok2 := made.Sys().(*syscall.Stat_t)
	perm := existing.Mode().Perm()
	if ok1 && ok2 && (was.Uid != is.Uid || was.Gid != is.Gid) {
		grouped, err := keepOwner(f, int(was.Uid), int(was.Gid))
		if err != nil {
			return opChownTemp, err
		}
		// The new file could not get the group of the old file. Give its actual group only the
		// permissions that the old file gave to all other users.
		if !grouped {
			perm = perm&^0o070 | perm&0o007<<3
		}
	}
	if made.Mode().Perm() == perm {
		return "", nil
	}
	return opChmodTemp, f.Chmod(opChmodTemp, perm)
}

// keepOwner sets the owner and the group of a file. Only root may set another owner; without this
// permission, keepOwner sets only the group, if that is permitted. So if several users other than
// root write a document, it belongs to the user who wrote it last. grouped reports whether the
// group was set.
func keepOwner(f host.File, uid, gid int) (grouped bool, err error) {
	err = f.Chown(opChownTemp, uid, gid)
	if errors.Is(err, syscall.EPERM) {
		err = f.Chown(opChownTemp, -1, gid)
	}
	if errors.Is(err, syscall.EPERM) {
		return false, nil
	}
	return err == nil, err
}

func syncFolder(h host.Host, path string) error {
	if err := h.SyncDir(opSyncFolder, folderOf(path)); err != nil {
		return &StepError{Step: opSyncFolder, Path: path, Replaced: true, Err: err}
	}
	return nil
}

// MkdirAll creates the folder at path and its missing parents, durably. If the folder exists,
// MkdirAll still syncs its directory entry: the process that created the folder may have died
// before its own sync.
func MkdirAll(h host.Host, path string) error {
	parent := filepath.Dir(path)
	info, err := h.Stat(opMakeFolder, path)
	switch {
	case err == nil && !info.IsDir():
		return &FormError{path, "is a file where a folder should be"}
	case err == nil:
		return syncParent(h, parent)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := MkdirAll(h, parent); err != nil {
		return err
	}
	if err := h.Mkdir(opMakeFolder, path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return h.SyncDir(opSyncFolder, parent)
}

const ignoreName = ".gitignore"

// MkdirIgnored is like MkdirAll, but also creates a .gitignore in the folder. In a new folder, this
// file makes git ignore everything, and a crash never leaves the folder without the file. In an
// existing folder that has no .gitignore, the file excludes only gaffer's locks (see [Ignore]),
// because the user may want to commit the documents in that folder.
func MkdirIgnored(h host.Host, path string) error {
	if _, err := h.Stat(opMakeFolder, path); !errors.Is(err, fs.ErrNotExist) {
		if err := MkdirAll(h, path); err != nil {
			return err
		}
		return Ignore(h, path)
	}
	if err := MkdirAll(h, filepath.Dir(path)); err != nil {
		return err
	}
	temp := hiddenPath(h, path, forNew)
	if err := h.Mkdir(opMakeFolder, temp, 0o755); err != nil {
		return err
	}
	ignore := filepath.Join(temp, ignoreName)
	err := writeIgnore(h, ignore, "*\n")
	if err == nil {
		err = h.Rename(opMakeFolder, temp, path)
	}
	if err != nil {
		_ = h.Remove(opRemoveTemp, ignore)
		_ = h.Remove(opRemoveTemp, temp)
		// Ignore the error if another process has created the folder in the meantime.
		if _, there := h.Stat(opMakeFolder, path); there != nil {
			return err
		}
	}
	return MkdirAll(h, path)
}

// Ignore writes a .gitignore that excludes gaffer's locks and the given names. It is for a folder
// that also contains files of the user or of other programs. It does not change an existing
// .gitignore. The new .gitignore also ignores itself, because it is only for this machine.
func Ignore(h host.Host, folder string, names ...string) error {
	path := filepath.Join(folder, ignoreName)
	if _, err := h.Lstat(opMakeFolder, path); err == nil {
		return nil
	}
	text := ignoreName + "\n.*.flock\n*.json.lock/\n"
	for _, name := range names {
		text += name + "\n"
	}
	err := writeIgnore(h, path, text)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// writeIgnore creates a .gitignore that appears at once with its content, without a temporary file.
// An agent may run "git add" at the same moment, and could otherwise add an empty .gitignore or the
// temporary file. If the machine cannot create a file in this way, writeIgnore uses [WriteNew], which
// needs a temporary file.
func writeIgnore(h host.Host, path, text string) error {
	err := h.CreateComplete(opMakeFolder, path, []byte(text), 0o666)
	if errors.Is(err, errors.ErrUnsupported) {
		return WriteNew(h, path, []byte(text), 0o666)
	}
	if err != nil {
		return &StepError{Step: opMakeFolder, Path: path, Err: err}
	}
	return syncFolder(h, path)
}

// syncParent syncs the folder parent. It ignores permission errors, because a process can use a
// folder even if it may not open the parent folder.
func syncParent(h host.Host, parent string) error {
	err := h.SyncDir(opSyncFolder, parent)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// ReplaceLink makes the symbolic link at path point to target, atomically and durably. It creates
// the link if it is missing.
func ReplaceLink(h host.Host, target, path string) error {
	temp := hiddenPath(h, path, forNew)
	if err := h.Symlink(opCreateTemp, target, temp); err != nil {
		return &StepError{Step: opCreateTemp, Path: path, Err: err}
	}
	if err := h.Rename(opRename, temp, path); err != nil {
		_ = h.Remove(opRemoveTemp, temp) // ignore a second error: the first one is more useful
		return &StepError{Step: opRename, Path: path, Err: err}
	}
	return syncFolder(h, path)
}

// resolve returns the path of the document that path leads to. While the path is a symbolic link, it
// follows the link. It does not resolve links in parent folders. The document need not exist. If the
// file cannot be a document, resolve returns a [*FormError] with the given path.
func resolve(h host.Host, path string) (string, error) {
	given := path
	for range 40 {
		info, err := h.Lstat(opResolve, path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return path, checkForm(given, info)
		}
		target, err := h.Readlink(opResolve, path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(target) {
			target = sibling(path, target)
		}
		path = target
	}
	return "", &FormError{given, "is part of a cycle of links"}
}
