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

// Names of the steps that take and release a lock. Errors and tests use them to refer to a step.
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
	// The shortest and the longest pause between two attempts to take the lock folder. The first
	// pauses are short, because other programs hold the lock only while they write. Later pauses
	// are longer, to use little CPU time if the holder is dead. All of them are shorter than the
	// pauses of other programs that wait for the lock, which are 50 ms.
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
)

// heldLock is an acquired lock. It consists of two locks. The first is an advisory lock between
// gaffer's processes, which the kernel releases when its holder dies. The second is a folder, which
// programs in other languages respect. This folder exists only if Options.Locking is Folder. A
// gaffer process takes the first lock before it tries to take the second.
type heldLock struct {
	file   *File
	path   string // path of the document, with all links resolved
	kernel host.Lock
	folder string // path of the lock folder; empty if that lock is not held
}

// lock takes the document's lock. It waits until ctx ends, or until Options.LockTimeout has passed
// since the time in the parameter start.
func (f *File) lock(ctx context.Context, start time.Time) (*heldLock, error) {
	left := f.opts.LockTimeout - f.host.Now().Sub(start)
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

// release releases both locks. If the lock folder cannot be removed, the next process that wants
// the lock finds it stale and breaks it.
func (h *heldLock) release() {
	if h.folder != "" {
		h.releaseFolder()
	}
	_ = h.kernel.Unlock()
}

// releaseFolder releases the lock folder. At the File's first release, it deletes the folder. At
// later releases it only hides the folder by renaming it, so that the next update can reuse the
// folder and the owner file in it. If the folder cannot be renamed, releaseFolder deletes it.
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

// makeFolder tries once to take the lock by creating the lock folder. The owner file in this folder
// names the process that holds the lock. makeFolder renames a hidden folder that already contains
// the owner file, so even if the process dies, its lock always names its owner. If the machine
// cannot rename without replacing, makeFolder creates the lock folder directly and writes the owner
// file afterwards. It returns an error that wraps fs.ErrExist if another program holds the lock.
func (h *heldLock) makeFolder(folder string) error {
	f := h.file
	if f.kept == "" {
		// Like the lock folder, the hidden folder is beside f.path. If f.path is a link, the
		// document itself may be on another disk, and a folder cannot be renamed from one disk to
		// another.
		aside := hiddenPath(f.host, f.path, forLock)
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

// makeSigned creates a folder with a file that names this process as the owner. Another program
// cannot remove the lock by mistake: rmdir fails for a folder that contains a file.
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

// watchedLock watches the lock folder of another program until it disappears or is stale.
type watchedLock struct {
	made  time.Time // modification time of the folder
	since time.Time // when the folder was first seen with this modification time
}

// judge describes the holder of the lock and reports whether the lock is stale.
//
// A lock is stale if its owner is dead, or if it has not changed while w watched it for longer than
// staleLockAge. A folder without an owner file, which would name the owner, is also stale if it was
// modified more than staleLockAge ago. The modification time of a folder with an owner file does
// not count, because gaffer may create the folder long before it takes the lock.
//
// A lock that has not changed is stale even if its owner is alive. This process holds the advisory
// lock, which a gaffer process releases only after its lock folder. So the owner has already tried
// to release the folder, but could not.
func (w *watchedLock) judge(m host.Host, folder string) (holder string, stale bool) {
	// Do not use Stat, which fails if the path is a link whose target is missing: even such a link
	// blocks other programs, so it counts as a lock.
	info, err := m.Lstat(opLookAtLock, folder)
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

// StaleLock describes the holder of a lock folder and reports whether the lock is stale. It returns
// false if there is no folder. StaleLock looks at the folder only once. So if the folder has an
// owner file, it returns true only if the owner is dead, even if the lock has not changed for a
// long time.
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

// breakFolder removes a stale lock folder and reports whether the folder is gone. It first renames
// the folder: if several processes try this, only one succeeds. made is the modification time of
// the stale folder. If the renamed folder has another modification time, it is a new lock that a
// program has taken in the meantime, so breakFolder renames it back.
func (h *heldLock) breakFolder(folder, holder string, made time.Time) bool {
	m := h.file.host
	aside := hiddenPath(m, folder, "broken")
	if err := m.Rename(opBreakLock, folder, aside); err != nil {
		return errors.Is(err, fs.ErrNotExist) // if the folder does not exist, its owner has released the lock
	}
	info, err := m.Lstat(opBreakLock, aside)
	if err == nil && !info.ModTime().Equal(made) {
		_ = m.Rename(opBreakLock, aside, folder)
		return false
	}
	// If aside is a link, do not delete the owner file in the folder that the link points to.
	if err == nil && info.IsDir() {
		_ = m.Remove(opBreakLock, filepath.Join(aside, ownerFile))
	}
	_ = m.Remove(opBreakLock, aside)
	h.file.notice(LockBroken, folder, fmt.Sprintf("the lock held by %s was stale and has been broken", holder))
	return true
}
