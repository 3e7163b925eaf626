package statefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"gaffer/statefile/host"
)

// Names of the file operations that take and release a lock.
const (
	opLock        host.Op = "lock"
	opMakeLock    host.Op = "make lock folder"
	opSignLock    host.Op = "sign lock folder"
	opLookAtLock  host.Op = "look at lock folder"
	opBreakLock   host.Op = "break lock folder"
	opUnsignLock  host.Op = "unsign lock folder"
	opReleaseLock host.Op = "release lock folder"
	opKeepLock    host.Op = "keep lock folder"
)

const (
	ownerFile    = "owner"
	staleLockAge = 10 * time.Second
	// Other programs hold their lock only while they write. The first pauses are short,
	// because programs that retry every 50 ms compete for the lock. Pauses grow, to use
	// little CPU time if the holder is dead.
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
)

// heldLock is an acquired lock. It consists of two locks. The first is an advisory lock
// between gaffer's own processes: the kernel grants it in order, and releases it when
// its holder dies. The second is a folder that programs in other languages respect;
// only the session protocol has it. Only the holder of the first lock tries to take the
// second.
type heldLock struct {
	file   *File
	path   string // path of the document, with all links resolved
	kernel host.Lock
	folder string
}

// lock waits for the document's lock until ctx ends, or until LockTimeout has passed
// since the given time.
func (f *File) lock(ctx context.Context, since time.Time) (*heldLock, error) {
	left := f.opts.LockTimeout - f.host.Now().Sub(since)
	ctx, cancel := context.WithTimeoutCause(ctx, max(left, time.Millisecond), errLockTimeout)
	defer cancel()
	path, err := resolve(f.host, f.path)
	if isForm(err) {
		return nil, err
	}
	if err != nil {
		return nil, &StepError{Step: opResolve, Path: f.path, Err: err}
	}
	name := sibling(path, "."+filepath.Base(path)+".flock")
	kernel, err := f.host.Lock(ctx, opLock, name)
	if err != nil {
		return nil, f.lockFailed(ctx, name, "another gaffer process", err)
	}
	h := &heldLock{file: f, path: path, kernel: kernel}
	if f.opts.Locking == Folder {
		if err := h.takeFolder(ctx, f.path+".lock"); err != nil {
			if f.locked == 0 {
				f.Close()
			}
			h.release()
			return nil, err
		}
	}
	return h, nil
}

func isForm(err error) bool {
	var form *FormError
	return errors.As(err, &form)
}

var errLockTimeout = errors.New("lock timeout")

func (f *File) lockFailed(ctx context.Context, lock, holder string, err error) error {
	if errors.Is(context.Cause(ctx), errLockTimeout) {
		return &LockError{Path: lock, Waited: f.opts.LockTimeout, Holder: holder}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &StepError{Step: opLock, Path: f.path, Err: err}
}

// release releases both locks. If that fails, the next process detects that the lock is
// stale.
func (h *heldLock) release() {
	if h.folder != "" {
		h.releaseFolder()
	}
	_ = h.kernel.Unlock()
}

// releaseFolder deletes the lock folder. From the second release on it hides the folder
// instead, for reuse by the next update, because creating and deleting the folder and
// its file takes half as long as the whole durable write.
func (h *heldLock) releaseFolder() {
	f := h.file
	f.locked++
	if f.locked > 1 && f.kept == "" {
		aside := hiddenPath(f.host, f.path, forLock)
		if f.host.RenameNew(opKeepLock, h.folder, aside) == nil {
			f.kept = aside
			return
		}
	}
	removeLock(f.host, h.folder)
}

func removeLock(m host.Host, folder string) {
	_ = m.Remove(opUnsignLock, filepath.Join(folder, ownerFile))
	_ = m.Remove(opReleaseLock, folder)
}

// takeFolder creates the lock folder, and waits while another program holds it.
func (h *heldLock) takeFolder(ctx context.Context, folder string) error {
	m := h.file.host
	watched, pause := watchedLock{}, firstPause
	for {
		err := h.makeFolder(folder)
		if err == nil {
			h.folder = folder
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		holder, stale := watched.judge(m, folder)
		if stale && h.breakFolder(folder, holder, watched.made) {
			continue
		}
		if err := m.Sleep(ctx, pause); err != nil {
			return h.file.lockFailed(ctx, folder, holder, err)
		}
		pause = min(pause*5/4, lastPause)
	}
}

// makeFolder takes the lock by renaming a folder that already contains the owner file.
// The lock of a process that dies therefore always names its owner. If the machine
// cannot rename without replacing, makeFolder creates the folder in place and writes
// the owner file afterwards.
func (h *heldLock) makeFolder(folder string) error {
	f := h.file
	if f.kept == "" {
		aside := hiddenPath(f.host, f.path, forLock) // in the folder of the lock, because the document may be a link to another disk
		if err := h.makeSigned(aside); err != nil {
			return err
		}
		f.kept = aside
	}
	err := f.host.RenameNew(opMakeLock, f.kept, folder)
	switch {
	case err == nil:
		f.kept = ""
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	case errors.Is(err, errors.ErrUnsupported):
		f.Close()
		return h.makeSigned(folder)
	case errors.Is(err, fs.ErrNotExist): // another process has deleted the hidden folder
		f.kept = ""
		return h.makeFolder(folder)
	}
	return &StepError{Step: opMakeLock, Path: f.path, Err: err}
}

// makeSigned creates a folder with a file that names this process as the owner. Because
// of the file, an rmdir by another program fails.
func (h *heldLock) makeSigned(folder string) error {
	m := h.file.host
	if err := m.Mkdir(opMakeLock, folder, 0o755); err != nil {
		return &StepError{Step: opMakeLock, Path: h.file.path, Err: err}
	}
	if err := h.sign(folder); err != nil {
		removeLock(m, folder)
		return &StepError{Step: opSignLock, Path: h.file.path, Err: err}
	}
	return nil
}

func (h *heldLock) sign(folder string) error {
	m := h.file.host
	f, err := m.Create(opSignLock, filepath.Join(folder, ownerFile), 0o644)
	if err != nil {
		return err
	}
	text, err := json.Marshal(m.Self())
	if err == nil {
		err = f.Write(opSignLock, text)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// watchedLock observes another program's lock folder until the folder disappears or is
// stale.
type watchedLock struct {
	made  time.Time // modification time of the folder
	since time.Time // when the folder was first seen with this modification time
}

// judge describes the holder and reports whether the lock is stale.
//
// A lock is stale if its owner is dead, or if it has not changed while we watched it
// for staleLockAge. For a folder without an owner file, the age of the folder counts
// too. For a folder with an owner file it does not, because gaffer may create that
// folder long before using it.
//
// A lock that has not changed is stale even if its owner is alive: we hold the advisory
// lock, so the owner has released that one but could not delete the folder.
func (w *watchedLock) judge(m host.Host, folder string) (holder string, stale bool) {
	info, err := m.Lstat(opLookAtLock, folder) // a link also blocks other programs, wherever it points
	if err != nil {
		return "a program that has just released it", false
	}
	now := m.Now()
	if made := info.ModTime(); !made.Equal(w.made) || w.since.IsZero() {
		w.made, w.since = made, now
	}
	watched := now.Sub(w.since) > staleLockAge
	owner, signed := readOwner(m, folder)
	if !signed {
		return "an unknown program", watched || now.Sub(w.made) > staleLockAge
	}
	holder = fmt.Sprintf("process %d on %s", owner.PID, owner.Host)
	if m.Alive(owner) == host.Dead {
		return holder + ", which is dead", true
	}
	return holder, watched
}

// StaleLock describes the holder of a lock folder and reports whether the lock is
// stale. It uses only the current state of the folder.
func StaleLock(h host.Host, folder string) (holder string, stale bool) {
	return new(watchedLock).judge(h, folder)
}

func readOwner(m host.Host, folder string) (host.Process, bool) {
	var p host.Process
	text, err := ReadBytes(m, filepath.Join(folder, ownerFile))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return host.Process{}, false
	}
	return p, true
}

// breakFolder removes a stale lock folder and reports whether the folder is gone. It
// renames the folder first, which only one process can do. If the renamed folder turns
// out to be a new lock, created in the meantime, breakFolder renames it back.
func (h *heldLock) breakFolder(folder, holder string, made time.Time) bool {
	m := h.file.host
	aside := hiddenPath(m, folder, "broken")
	if err := m.Rename(opBreakLock, folder, aside); err != nil {
		return errors.Is(err, fs.ErrNotExist) // the owner has released the lock
	}
	info, err := m.Lstat(opBreakLock, aside)
	if err == nil && !info.ModTime().Equal(made) {
		_ = m.Rename(opBreakLock, aside, folder)
		return false
	}
	if err == nil && info.IsDir() { // do not delete files behind a link
		_ = m.Remove(opBreakLock, filepath.Join(aside, ownerFile))
	}
	_ = m.Remove(opBreakLock, aside)
	h.file.notice(LockBroken, folder, fmt.Sprintf("the lock held by %s was stale and has been broken", holder))
	return true
}
