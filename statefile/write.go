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

// The steps of reading and writing a file.
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

// ReadBytes reads the file at path as one that another program may have put
// there to trip us: only a regular file of at most MaxSize is read, and nothing
// is waited for. The error is fs.ErrNotExist or a [*FormError], or the machine's.
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
	defer func() { _ = f.Close() }() // nothing was written to it
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

// readAll reads up to a byte more than MaxSize: the file may grow meanwhile.
func readAll(r io.Reader, size int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := b.ReadFrom(io.LimitReader(r, MaxSize+1))
	return b.Bytes(), err
}

// WriteNew writes a new file durably: whoever sees the name sees all of it. An
// existing one is fs.ErrExist and stays as it is.
func WriteNew(h host.Host, path string, data []byte, perm fs.FileMode) error {
	temp, err := writeTemp(h, path, hidden(h, path, forNew), data, perm, nil)
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

// folderOf is filepath.Dir without tidying up: after a link, .. is not the
// folder that the text before it names.
func folderOf(path string) string {
	dir, _ := filepath.Split(path)
	if dir == "" {
		return "."
	}
	return dir
}

// sibling returns the path of another file in the same folder.
func sibling(path, name string) string {
	dir, _ := filepath.Split(path)
	return dir + name
}

// hiddenPrefix begins the names of hidden files for a purpose, beside path.
func hiddenPrefix(path, purpose string) string {
	return sibling(path, "."+filepath.Base(path)+"."+purpose+"-")
}

// hidden returns a name for a hidden file beside path that no other writer has.
func hidden(h host.Host, path, purpose string) string {
	return hiddenPrefix(path, purpose) + fmt.Sprintf("%d-%08x", h.Self().PID, rand.Uint32())
}

// The purposes of hidden files. What is left of the first two by a writer that
// died is removed by the next one; the others are made without the lock that
// tells it that nobody needs them.
const (
	forUpdate = "tmp"
	forLock   = "lock"
	forNew    = "new"
)

// writeTemp writes data durably to temp, beside path, with the permissions and
// the owner of what is there now, if anything is, and returns temp.
func writeTemp(h host.Host, path, temp string, data []byte, perm fs.FileMode, now fs.FileInfo) (string, error) {
	f, err := h.Create(opCreateTemp, temp, perm)
	if err != nil {
		return "", &StepError{Step: opCreateTemp, Path: path, Err: err}
	}
	step, err := fill(f, data, now)
	if closeErr := f.Close(); err == nil && closeErr != nil {
		step, err = opCloseTemp, closeErr
	}
	if err != nil {
		_ = h.Remove(opRemoveTemp, temp) // the first error is the one to tell
		return "", &StepError{Step: step, Path: path, Err: err}
	}
	return temp, nil
}

func fill(f host.File, data []byte, now fs.FileInfo) (host.Op, error) {
	if err := f.Write(opWriteTemp, data); err != nil {
		return opWriteTemp, err
	}
	if now != nil {
		if op, err := keepAttributes(f, now); err != nil {
			return op, err
		}
	}
	return opSyncTemp, f.Sync(opSyncTemp)
}

func keepAttributes(f host.File, now fs.FileInfo) (host.Op, error) {
	made, err := f.Stat()
	if err != nil {
		return opChmodTemp, err
	}
	was, ok1 := now.Sys().(*syscall.Stat_t)
	is, ok2 := made.Sys().(*syscall.Stat_t)
	perm := now.Mode().Perm()
	if ok1 && ok2 && (was.Uid != is.Uid || was.Gid != is.Gid) {
		grouped, err := keepOwner(f, int(was.Uid), int(was.Gid))
		if err != nil {
			return opChownTemp, err
		}
		if !grouped { // what one group may, another may only if all may
			perm = perm&^0o070 | perm&0o007<<3
		}
	}
	if made.Mode().Perm() == perm {
		return "", nil
	}
	return opChmodTemp, f.Chmod(opChmodTemp, perm)
}

// keepOwner keeps what it may, and tells whether that is the group at least. A file
// can be given away by root alone; in a folder that several people write to, the
// document then belongs to the last of them.
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

// MkdirAll makes the folder at path and what is missing above it, durably. One
// that is there already is made durable too: whoever made it may have died
// before that.
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

// ignoreName is the file that tells git what to ignore in a folder.
const ignoreName = ".gitignore"

// MkdirIgnored is MkdirAll for a folder whose documents belong to this machine and
// not into a commit. If the folder is not there, it is made with a .gitignore in it
// that ignores all of it. A crash leaves the folder with that file or no folder. Of
// a folder that is there, git ignores only our locks, see [Ignore]: a project may
// commit its documents.
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
	temp := hidden(h, path, forNew)
	if err := h.Mkdir(opMakeFolder, temp, 0o755); err != nil {
		return err
	}
	err := WriteNew(h, filepath.Join(temp, ignoreName), []byte("*\n"), 0o666)
	if err == nil {
		err = h.Rename(opMakeFolder, temp, path)
	}
	if err != nil {
		_ = h.Remove(opRemoveTemp, filepath.Join(temp, ignoreName))
		_ = h.Remove(opRemoveTemp, temp)
		if _, there := h.Stat(opMakeFolder, path); there != nil { // else another process has made it meanwhile
			return err
		}
	}
	return MkdirAll(h, path)
}

// Ignore lets git ignore our locks and the given names in a folder that has
// documents of others as well. A .gitignore that is there is left as it is. The
// new one ignores itself: it belongs to this machine, too.
func Ignore(h host.Host, folder string, names ...string) error {
	path := filepath.Join(folder, ignoreName)
	if _, err := h.Lstat(opMakeFolder, path); err == nil {
		return nil
	}
	text := ignoreName + "\n.*.flock\n*.json.lock/\n"
	for _, name := range names {
		text += name + "\n"
	}
	err := WriteNew(h, path, []byte(text), 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// syncParent passes over a folder that we may not open: it is not one that we
// made anything in.
func syncParent(h host.Host, parent string) error {
	err := h.SyncDir(opSyncFolder, parent)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// ReplaceLink makes the symbolic link at path point to target, atomically and
// durably, whether or not there was one before.
func ReplaceLink(h host.Host, target, path string) error {
	temp := hidden(h, path, forNew)
	if err := h.Symlink(opCreateTemp, target, temp); err != nil {
		return &StepError{Step: opCreateTemp, Path: path, Err: err}
	}
	if err := h.Rename(opRename, temp, path); err != nil {
		_ = h.Remove(opRemoveTemp, temp) // the first error is the one to tell
		return &StepError{Step: opRename, Path: path, Err: err}
	}
	return syncFolder(h, path)
}

// resolve follows the links at path, not those above it, to where the document
// really is or would be. What is there and cannot be a document is a
// [*FormError] of the path as it was given.
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
	return "", &FormError{given, "is a link that leads round in a circle"}
}
